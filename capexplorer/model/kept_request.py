"""Requests that a run keeps whole, a bounded sample of them: what was sent, how long each phase took, what came back.

All text was written by users' code or by the service, is without secrets, and must be escaped before display.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

Why = Literal["first", "last", "slowest", "even"]
"""The first or the last failure with its signature, the slowest of its level and endpoint, or one of an even sample of all."""

BODY_MOST_BYTES = 4_096
"""Of each body that is kept."""
HEAD_MOST = 4_096
"""Characters of headers that are kept, on either side."""
URL_MOST = 2_048
ERROR_MOST = 400
SHORT_MOST = 200
"""Characters of a name or an error in a list that is sent to another process."""
FAILURES_MOST, SLOWEST_MOST, EVEN_MOST = 60, 200, 80
"""Failure signatures, pairs of level and endpoint, and requests of the even sample that are kept. So a sample has at most 400
requests, and with the bounds above less than 8 million characters."""

Headers = tuple[tuple[str, str], ...]


class Place(msgspec.Struct, frozen=True, array_like=True):
    """What a request is kept for. One place has one request."""

    why: Why
    key: str
    """Of a failure: its signature in words; of the slowest: its level and endpoint; of the even sample: a number."""


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A body, at most its beginning."""

    text: str = ""
    size_bytes: int = 0
    """Of the whole body."""
    is_cut: bool = False
    is_binary: bool = False
    """It is no text; `text` is empty."""


class Phases(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long each part of a request took; None: not known for this client."""

    connect_ms: float | None = None
    """Name look-up, connection and TLS."""
    first_byte_ms: float | None = None
    """From there to the reply's first byte, or to its whole head where only that is known (`to_head`)."""
    body_ms: float | None = None
    """From there to the reply's end."""
    kept_connection: bool | None = None
    """It was sent over a connection that was open already."""
    to_head: bool = False


class RequestBrief(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kept request, as a list shows it."""

    number: int = 0
    """Names it among those of its session."""
    why: Why = "even"
    t_s: float = 0.0
    """When it began, in seconds of the session."""
    level: int | None = None
    """Index of the level in which it ended; None: not known."""
    method: str = ""
    name: str = ""
    """Of its endpoint."""
    status: int | None = None
    """None: no reply."""
    response_ms: float = 0.0
    error: str = ""
    """Empty: it succeeded."""
    kind: str = ""
    """Of its failure: what failures with the same signature have in common."""

    def shortened(self) -> RequestBrief:
        """With texts of at most SHORT_MOST characters."""
        return msgspec.structs.replace(
            self, name=self.name[:SHORT_MOST], error=self.error[:SHORT_MOST], kind=self.kind[:SHORT_MOST]
        )


class KeptRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One kept request whole."""

    brief: RequestBrief
    url: str = ""
    sent_headers: Headers = ()
    sent: Body = Body()
    phases: Phases = Phases()
    headers: Headers = ()
    received: Body = Body()
    worker: str = ""
    """That sent it; empty: the run's own process."""

    def moved(self, seconds: float) -> KeptRequest:
        """The same request with its time on another clock."""
        return msgspec.structs.replace(self, brief=msgspec.structs.replace(self.brief, t_s=self.brief.t_s + seconds))


class PlacedRequest(msgspec.Struct, frozen=True, array_like=True):
    """A request and what it is kept for, on its way to the sample."""

    place: Place
    request: KeptRequest
    """`t_s` is `time.monotonic` until it has arrived."""

    @property
    def endpoint(self) -> tuple[str, str]:
        """(method, name)."""
        return self.request.brief.method, self.request.brief.name

    def named(self, method: str, name: str) -> PlacedRequest:
        """The same under the name of the endpoint that counts it."""
        brief = msgspec.structs.replace(self.request.brief, method=method, name=name)
        return PlacedRequest(self.place, msgspec.structs.replace(self.request, brief=brief))


class KeptRequests(Protocol):
    """Access to the kept requests of a live run, a remote run or a log. Called from the screen's thread."""

    def briefs(self) -> Sequence[RequestBrief]:
        """All, in the order in which they began."""

    def request(self, number: int) -> KeptRequest | None:
        """One whole; None: it is not kept any more."""

    @property
    def why_none(self) -> str:
        """Why there are none, as a sentence; empty: there may be requests."""


class NoRequests:
    """Kept requests of a session that has none."""

    def __init__(self, why_none: str) -> None:
        self.why_none = why_none

    def briefs(self) -> Sequence[RequestBrief]:
        """None."""
        return ()

    def request(self, number: int) -> KeptRequest | None:
        """None."""
        return None
