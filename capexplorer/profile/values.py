"""Types of the values in a profile, with bounds and patterns, which `toml` names in its messages. Tables are in other modules."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
USERS_MOST = 1_000_000
WORKERS_MOST = 256
DAY_S = 86_400.0
TITLE_MOST = 1_000
"""Characters."""
PATH_PATTERN = r"(?#a path that starts with /, or a URL)^(?:/|https?://)[^\x00-\x1f\x7f]*\Z"

Param = str | int | float | bool
"""The value of a query parameter."""
WorkerCount = Annotated[int, Meta(ge=1, le=WORKERS_MOST)]
UserCount = Annotated[int, Meta(ge=0, le=USERS_MOST)]
Seconds = Annotated[float, Meta(ge=0, le=DAY_S)]
PerSecond = Annotated[float, Meta(ge=0.00001, le=1_000_000)]
"""A lower bound, because its reciprocal is a wait of at most about a day."""
AtLeast0 = Annotated[float, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Status = Annotated[int, Meta(ge=100, le=599)]
Method = Annotated[str, Meta(pattern=rf"(?#one of {', '.join(METHODS)})^(?i:{'|'.join(METHODS)})\Z")]
RequestPath = Annotated[str, Meta(pattern=PATH_PATTERN)]
ValueName = Annotated[str, Meta(pattern=r"(?#a name of letters, digits and _)^[A-Za-z_][A-Za-z0-9_]*\Z")]
HeaderName = Annotated[str, Meta(pattern=r"(?#a header name)^[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")]
HeaderValue = Annotated[str, Meta(pattern=r"(?#a header value in one line)^[^\x00\r\n]*\Z")]
Title = Annotated[str, Meta(max_length=TITLE_MOST)]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the tables of a profile."""
