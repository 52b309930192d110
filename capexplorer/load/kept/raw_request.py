"""Copies references and short slices of a request when it is reported, without parsing or decoding. In the load thread.

No reference to the reply is kept, since its body may have megabytes. A body that the client has not read is not copied.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ...model.kept_request import BODY_MOST_BYTES, HEAD_MOST
from ..connections import connected_in_s
from ..reply_line import body_if_read

if TYPE_CHECKING:
    from ..lean.response import LeanResponse  # imports Locust, which patches the process


class RawRequest(NamedTuple):
    """One request in the form in which its client has it."""

    method: str
    name: str
    url: str
    began_s: float
    """`time.monotonic` of its start."""
    response_ms: float
    level: int | None
    error: str
    """The failure's full text; empty if the request succeeded."""
    kind: str
    """The kind of its failure signature; empty if the request succeeded."""
    sent_head: object
    """The request's head as text or bytes, or its headers as a mapping."""
    sent_body: tuple[str | bytes, int]
    """(beginning, whole length in bytes or characters)."""
    status: int | None
    head: object
    """The reply's head as bytes, or its headers as a mapping; None: no reply."""
    body: bytes
    """The beginning of the reply's body, one byte longer than is kept if the body is."""
    body_bytes: int
    connect_s: float | None
    """Seconds to connect; None: not known, or no connection was opened."""
    kept_connection: bool | None
    first_s: float | None
    """Seconds from the request's start to the reply's first byte, or to its whole head if `to_head`."""
    to_head: bool


class _Seen(NamedTuple):
    """The fields of a RawRequest that each client provides in its own way."""

    sent_head: object = None
    sent_body: object = b""
    head: object = None
    connect_s: float | None = None
    kept_connection: bool | None = None
    first_s: float | None = None
    to_head: bool = False


def taken(
    method: str,
    name: str,
    response_ms: float,
    level: int | None,
    response: Any,
    start_s: float | None,
    url: str | None,
    *,
    error: str = "",
    kind: str = "",
) -> RawRequest:
    """The copy of a request. `start_s`: `time.time` at its start; None: it ended just now, after `response_ms`."""
    age_s = response_ms / 1000 if start_s is None else max(0.0, time.time() - start_s)
    seen = _of_lean(response) if hasattr(response, "head_bytes") else _of_others(response, start_s)
    body = body_if_read(response)
    status = getattr(response, "status_code", None)
    request = getattr(response, "request", None)
    return RawRequest(
        method=method,
        name=name,
        url=str(url or getattr(request, "url", None) or ""),
        began_s=time.monotonic() - age_s,
        response_ms=response_ms,
        level=level,
        error=error,
        kind=kind,
        sent_head=seen.sent_head,
        sent_body=_slice(seen.sent_body),
        status=status if isinstance(status, int) and status else None,
        head=seen.head,
        body=body[: BODY_MOST_BYTES + 1],
        body_bytes=len(body),
        connect_s=seen.connect_s,
        kept_connection=seen.kept_connection,
        first_s=seen.first_s,
        to_head=seen.to_head,
    )


def _of_lean(response: LeanResponse) -> _Seen:
    """The fields of the lean client. Heads have twice the kept length, of which only names and values count, so that one with too
    many headers is recognised.
    """
    request, timing = response.request, response.timing
    head_end = len(request.data) - len(request.payload)
    return _Seen(
        sent_head=request.data[: min(head_end, 2 * HEAD_MOST)],
        sent_body=request.payload,
        head=response.head_bytes(2 * HEAD_MOST),
        connect_s=timing.connect_s,
        kept_connection=timing.connect_s is None and timing.has_connection,
        first_s=timing.first_s,
    )


def _of_others(response: Any, start_s: float | None) -> _Seen:
    """The fields of FastHttpUser and HttpUser; those of other clients stay empty."""
    request = getattr(response, "request", None)
    head = getattr(response, "_sent_request", None)
    connect_s = None if start_s is None else connected_in_s(start_s)
    has_reply = bool(getattr(response, "status_code", None))
    return _Seen(
        sent_head=head if head is not None else getattr(request, "headers", None),
        sent_body=getattr(request, "body", b""),
        head=getattr(response, "headers", None) if has_reply else None,
        connect_s=connect_s,
        kept_connection=connect_s is None if has_reply and start_s is not None else None,
        first_s=_head_after_s(response),
        to_head=True,
    )


def _head_after_s(response: Any) -> float | None:
    """The time to the reply's head, which both clients measure; None after redirects, where it is that of the last request
    alone.
    """
    elapsed = getattr(response, "elapsed", None)
    if not isinstance(elapsed, timedelta) or not getattr(response, "status_code", None) or getattr(response, "history", None):
        return None
    return elapsed.total_seconds()


def _slice(body: object) -> tuple[str | bytes, int]:
    """(beginning, whole length); for a stream the name of its type, and 0."""
    if isinstance(body, str | bytes | bytearray | memoryview):
        return bytes(body[: BODY_MOST_BYTES + 1]) if not isinstance(body, str) else body[: BODY_MOST_BYTES + 1], len(body)
    return ("", 0) if body is None else (f"({type(body).__name__})", 0)
