"""Requests that a run keeps whole, as a bounded sample: what was sent, how long each phase took, what was received.

All text comes from users' code or from the service. Secrets are removed from it; it must be escaped before display.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

Why = Literal["first", "last", "slowest", "even"]
"""Why a request is kept: it is the first or the last failure with its signature, the slowest of its level and endpoint, or one of
an even sample of all."""

BODY_MOST_BYTES = 4_096
"""Greatest size of a kept body; of a longer one the beginning is kept."""
HEAD_MOST = 4_096
"""Greatest number of characters of the kept headers of a request, and of a reply."""
URL_MOST = 2_048
ERROR_MOST = 400
"""Greatest numbers of characters of a URL, and of the text of a failure."""
BRIEF_TEXT_MOST = 200
"""Greatest number of characters of a name or an error in a list that is sent to another process."""
FAILURES_MOST, SLOWEST_MOST, EVEN_MOST = 60, 200, 80
"""Greatest number of failure signatures, of pairs of level and endpoint, and of requests in the even sample. So a sample has at
most 400 requests, and with the bounds above less than 8 million characters."""

Headers = tuple[tuple[str, str], ...]
"""(name, value) of each header."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """A place in the sample, which one request has at a time."""

    why: Why
    key: str
    """What distinguishes places with the same `why`: the signature of a failure as text, a level and endpoint, or a number."""


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The beginning of a request's or a reply's body."""

    text: str = ""
    size_bytes: int = 0
    """Size of the whole body."""
    is_cut: bool = False
    """Whether `text` is not the whole body."""
    is_binary: bool = False
    """Whether the body is no text; then `text` is empty."""


class Phases(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long each phase of a request took; None: not known for this client."""

    connect_ms: float | None = None
    """Name look-up, connection and TLS."""
    first_byte_ms: float | None = None
    """From the connection to the reply's first byte, or with `to_head` to the end of its headers."""
    first_event_ms: float | None = None
    """Of a stream: from there to its first event; None: it had none, or the reply was no stream."""
    body_ms: float | None = None
    """From there to the end of the reply."""
    tokens: int = 0
    """Of a stream: its tokens, or its events."""
    per_token_ms: float | None = None
    """Time per further token."""
    kept_connection: bool | None = None
    """Whether it was sent over a connection that was open already."""
    to_head: bool = False
    """Whether `first_byte_ms` ends with the reply's headers, because the client does not report the first byte."""


class RequestBrief(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The summary of a kept request, for lists."""

    number: int = 0
    """Identifies it within its session."""
    why: Why = "even"
    t_s: float = 0.0
    """When it began, in seconds of the session."""
    level: int | None = None
    """Index of the level in which it ended; None: not known."""
    method: str = ""
    name: str = ""
    """Name of its endpoint."""
    status: int | None = None
    """HTTP status; None: no reply."""
    response_ms: float = 0.0
    """Its latency, as the client reports it to Locust."""
    error: str = ""
    """Text of its failure; empty if it succeeded."""
    kind: str = ""
    """The kind of its failure (`FailureSignature.kind`), which all failures with the same signature have."""

    def shortened(self) -> RequestBrief:
        """A copy with texts of at most BRIEF_TEXT_MOST characters."""
        return msgspec.structs.replace(
            self, name=self.name[:BRIEF_TEXT_MOST], error=self.error[:BRIEF_TEXT_MOST], kind=self.kind[:BRIEF_TEXT_MOST]
        )


class KeptRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request in full."""

    brief: RequestBrief
    url: str = ""
    sent_headers: Headers = ()
    sent: Body = Body()
    phases: Phases = Phases()
    headers: Headers = ()
    """Those of the reply."""
    received: Body = Body()
    worker: str = ""
    """Name of the worker that sent it; empty: the run's own process."""

    @property
    def trace_id(self) -> str | None:
        """The trace that it belongs to, by its header `traceparent`; None: none."""
        sent = next((value for name, value in self.sent_headers if name.lower() == "traceparent"), "")
        parts = sent.split("-")
        return parts[1] if len(parts) >= 4 else None

    def moved(self, seconds: float) -> KeptRequest:
        """A copy whose time is later by so many seconds, to convert it to another clock."""
        return msgspec.structs.replace(self, brief=msgspec.structs.replace(self.brief, t_s=self.brief.t_s + seconds))


class PlacedRequest(msgspec.Struct, frozen=True, array_like=True):
    """A request and its place, as sent to the process that has the sample."""

    place: Place
    request: KeptRequest
    """Its `t_s` is of `time.monotonic`, and is converted to seconds of the session on arrival."""

    @property
    def endpoint(self) -> tuple[str, str]:
        """(method, name)."""
        return self.request.brief.method, self.request.brief.name

    def named(self, method: str, name: str) -> PlacedRequest:
        """A copy with the method and name of another endpoint, which counts the request."""
        brief = msgspec.structs.replace(self.request.brief, method=method, name=name)
        return PlacedRequest(self.place, msgspec.structs.replace(self.request, brief=brief))


class KeptRequests(Protocol):
    """Access to the kept requests of a live run, a remote run or a log. Called from the screen's thread."""

    def briefs(self) -> Sequence[RequestBrief]:
        """Summaries of all kept requests, in the order in which they began."""

    def request(self, number: int) -> KeptRequest | None:
        """The request with this number; None: it is not kept any more."""

    @property
    def why_none(self) -> str:
        """Why there are no requests, as a sentence; empty if there may be some."""


class NoRequests:
    """The kept requests of a session that has none."""

    def __init__(self, why_none: str) -> None:
        self.why_none = why_none

    def briefs(self) -> Sequence[RequestBrief]:
        """None."""
        return ()

    def request(self, number: int) -> KeptRequest | None:
        """None."""
        return None
