"""A request as someone described it, before it is a task of a profile."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from ..errors import InputError
from ..profile import METHODS
from ..toml import nearest, shown

_HEADERS_OF_ONE_CLIENT = frozenset(
    "accept-encoding cache-control connection content-length dnt if-modified-since if-none-match pragma priority proxy-connection"
    " referer te transfer-encoding upgrade-insecure-requests".split()
)
"""Headers that describe one connection, or what a browser already has: with them a service may answer 304 without any work."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request."""

    method: str
    path: str
    """With its query."""
    origin: str | None = None
    """`http://127.0.0.1:8000`; None: the service's, whatever it is."""
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    weight: int = 1


def request(method: str, url: str, headers: dict[str, str], body: str | None, where: str) -> Request:
    """A request to a whole URL or a path. `where` names the file or option in messages. Raises InputError."""
    if method.upper() not in METHODS:
        raise InputError(f"{where}: method: {nearest(method.upper(), METHODS)}, got {shown(method)}")
    try:
        parts = urlsplit(url)
        has_host = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        has_host = False
    if not has_host and not url.startswith("/"):
        raise InputError(f"{where}: URL: expected a path that starts with /, or http://HOST[:PORT]/PATH, got {shown(url)}")
    if has_host and parts.username is not None:
        raise InputError(f"{where}: URL: expected no user or password in it; give them as curl's -u USER:PASSWORD")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = {name: value for name, value in headers.items() if _is_kept_header(name)}
    return Request(method.upper(), path, f"{parts.scheme}://{parts.netloc}" if has_host else None, kept, body)


def _is_kept_header(name: str) -> bool:
    return name.lower() not in _HEADERS_OF_ONE_CLIENT and not name.lower().startswith(("sec-", ":"))


def merged(requests: list[Request]) -> list[Request]:
    """Requests that differ at most in headers and weight as one, with the headers of the first and the sum of their weights."""
    found: dict[tuple[object, ...], Request] = {}
    for each in requests:
        key = (each.method, each.origin, each.path, each.body)
        known = found.get(key)
        found[key] = each if known is None else replace(known, weight=known.weight + each.weight)
    return list(found.values())
