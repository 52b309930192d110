"""Copies references and short slices of a request when it is reported, without parsing or decoding. In the load thread.

No reference to the reply is kept, since its body may have megabytes. A body that the client has not read is not copied.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.events import FailureSignature
from ..model.kept_request import (
    BODY_MOST_BYTES,
    ERROR_MOST,
    EVEN_MOST,
    FAILURES_MOST,
    HEAD_MOST,
    SLOWEST_MOST,
    URL_MOST,
    Body,
    Headers,
    KeptRequest,
    Phases,
    Place,
    PlacedRequest,
    RequestBrief,
    Why,
)
from ..model.sources import Clock
from .connections import connected_in_s
from .signature import body_if_read, full_text

if TYPE_CHECKING:
    from .lean.response import LeanResponse  # imports Locust, which patches the process


# -- raw request ---------------------------------------------------------------------------------------------------------------
# Copies references and short slices of a request when it is reported, without parsing or decoding. In the load thread.
#
# No reference to the reply is kept, since its body may have megabytes. A body that the client has not read is not copied.


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


# -- request sampling ----------------------------------------------------------------------------------------------------------
# Decides which requests are kept, by cheap checks before anything is copied. Their number is bounded for any traffic.
#
# `wants` runs in the load thread for each request: 0.2 us for one that is not kept (`python -m lab.bench kept_requests`).
# `drain` runs in the pump's thread once a second: it parses a few of those that were taken and removes secrets from them.


# -- whole request -------------------------------------------------------------------------------------------------------------
# Parses the copy of a request into a kept request: heads into headers, bodies into text, cut to bounds. Removes no secrets.


_METHOD_MOST = 32


def whole(raw: RawRequest, why: Why) -> KeptRequest:
    """The kept request. Its `t_s` is `time.monotonic` at its start."""
    brief = RequestBrief(
        why=why,
        t_s=raw.began_s,
        level=raw.level,
        method=raw.method[:_METHOD_MOST],
        name=raw.name[:URL_MOST],
        status=raw.status,
        response_ms=raw.response_ms,
        error=raw.error[:ERROR_MOST],
        kind=raw.kind[:ERROR_MOST],
    )
    return KeptRequest(
        brief=brief,
        url=raw.url[:URL_MOST],
        sent_headers=_headers(raw.sent_head),
        sent=_sent(*raw.sent_body),
        phases=_phases(raw),
        headers=_headers(raw.head),
        received=_body(raw.body, raw.body_bytes),
    )


def _phases(raw: RawRequest) -> Phases:
    connect_ms = None if raw.connect_s is None else raw.connect_s * 1000
    if raw.first_s is None:
        return Phases(connect_ms=connect_ms, kept_connection=raw.kept_connection, to_head=raw.to_head)
    before_ms = connect_ms or 0.0
    first_ms = min(raw.first_s * 1000, raw.response_ms)
    has_ended = raw.status is not None
    return Phases(
        connect_ms=connect_ms,
        first_byte_ms=max(0.0, first_ms - before_ms),
        body_ms=raw.response_ms - first_ms if has_ended else None,
        kept_connection=raw.kept_connection,
        to_head=raw.to_head,
    )


def _headers(head: object) -> Headers:
    """The headers of a head (bytes or text) or a mapping, as many as fit into HEAD_MOST characters."""
    found, left = [], HEAD_MOST
    for name, value in _fields(head):
        left -= len(name) + len(value)
        if left < 0:
            found.append(("…", "further headers are left out"))
            break
        found.append((name, value))
    return tuple(found)


def _fields(head: object) -> Iterator[tuple[str, str]]:
    if isinstance(head, bytes):
        head = head.decode("latin-1")
    if isinstance(head, str):
        for line in head.splitlines()[1:]:
            name, sign, value = line.partition(":")
            if not sign:
                return  # the empty line, or one that is no header
            yield name.strip(), value.strip()
    elif isinstance(head, Mapping):
        for name, value in head.items():
            yield _text(name), _text(value)


def _text(value: object) -> str:
    """A header as text; of a value that is neither text nor bytes, the name of its type."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else f"({type(value).__name__})"


def _sent(beginning: str | bytes, length: int) -> Body:
    data = beginning.encode("utf-8", "replace") if isinstance(beginning, str) else beginning
    return _body(data, max(len(data), length))


def _body(data: bytes, size_bytes: int) -> Body:
    if not data:
        return Body(size_bytes=size_bytes)
    is_cut = size_bytes > BODY_MOST_BYTES
    text = data[:BODY_MOST_BYTES].decode("utf-8", "replace")
    if "\0" in text or text.count("\N{REPLACEMENT CHARACTER}") > max(2, len(text) // 10):
        return Body(size_bytes=size_bytes, is_cut=is_cut, is_binary=True)
    return Body(text=text, size_bytes=size_bytes, is_cut=is_cut)


Clean = Callable[[KeptRequest], KeptRequest]
"""Removes secrets."""

A_DRAIN_MOST = 20
A_DRAIN_BYTES = 16_384
"""Most requests, and bytes of their bodies, that are parsed in one second: 4 KiB of JSON take 2.4 ms while load runs, most
of it to find secrets. The others wait, and may be replaced by newer ones."""

LAST_EVERY_S = 0.01
"""Least seconds between two failures of a signature that are taken as its latest one: taking one costs 8 us."""

_ENDPOINTS_MOST = 50
"""Most endpoints of a level whose slowest request is kept, counted by the name that user code gives them."""

_Where = tuple[Any, ...]
"""The key of a place: its kind, then a signature, a slot, or a level and an endpoint."""


class RequestSampling:
    """The requests of one process. `begin_level` may be called from any thread."""

    def __init__(
        self,
        clean: Clean,
        *,
        a_drain_most: int = A_DRAIN_MOST,
        draw: Callable[[], float] = random.random,
        monotonic: Clock = time.monotonic,
    ) -> None:
        """`draw`: returns a uniform random number from 0 up to but not including 1."""
        self._clean, self._a_drain_most, self._draw, self._monotonic = clean, a_drain_most, draw, monotonic
        self._level: int | None = None
        self._slowest: dict[tuple[str, str], float] = {}
        """Longest response time of each endpoint in this level, ms."""
        self._failures: dict[FailureSignature, float] = {}
        """`time.monotonic` from which the next failure of a signature is taken as its latest one."""
        self._seen = 0
        self._next_even = 1
        """Number of the next request of the uniform random sample."""
        self._weight = 1.0
        self._taken: dict[_Where, RawRequest] = {}
        """Requests that wait to be parsed; a newer one for the same place replaces an older one."""

    def begin_level(self, index: int) -> None:
        """Attribute requests from now on to this level. Of the slowest ones of earlier levels the latest go on waiting: with an
        id in each path every level adds _ENDPOINTS_MOST, and short levels more than are parsed meanwhile.
        """
        waiting = [where for where in tuple(self._taken) if where[0] == "slowest"]
        for where in waiting[: max(0, len(waiting) + _ENDPOINTS_MOST - SLOWEST_MOST)]:
            self._taken.pop(where, None)
        self._level, self._slowest = index, {}

    def wants(self, method: str, name: str, response_ms: float) -> bool:
        """Count a request that has ended. Returns whether to call `take` for it even if it succeeded; call it for every
        failure.
        """
        self._seen += 1
        return response_ms > self._slowest.get((method, name), -1.0) or self._seen >= self._next_even

    def take(
        self,
        method: str,
        name: str,
        response_ms: float,
        signature: FailureSignature | None,
        exception: BaseException | str | None,
        response: Any,
        start_s: float | None,
        url: str | None,
        warm: bool,
    ) -> None:
        """Copy the request that `wants` counted last, if it has a place. `exception`: why it failed; `start_s`: `time.time` at
        its start.
        """
        is_even = self._seen >= self._next_even
        is_slowest = warm and response_ms > self._slowest.get((method, name), -1.0) and self._counts_as_slowest((method, name))
        failure = None if signature is None else self._place_of(signature)
        if failure is None and not is_even and not is_slowest:
            return
        error = full_text(exception, response) if exception else ""
        kind = signature.kind if signature is not None else ""
        raw = taken(method, name, response_ms, self._level, response, start_s, url, error=error, kind=kind)
        if failure is not None:
            self._taken[failure] = raw
        if is_slowest:
            self._slowest[method, name] = response_ms
            self._taken["slowest", self._level, method, name] = raw
        if is_even:
            self._taken["even", self._even_slot()] = raw

    def _counts_as_slowest(self, endpoint: tuple[str, str]) -> bool:
        return endpoint in self._slowest or len(self._slowest) < _ENDPOINTS_MOST

    def _place_of(self, signature: FailureSignature) -> _Where | None:
        """The place of a failure; None if it is not to be kept."""
        due_s, now_s = self._failures.get(signature), self._monotonic()
        if due_s is None:
            if len(self._failures) >= FAILURES_MOST:
                return None
            self._failures[signature] = 0.0
            return "first", signature
        if now_s < due_s:
            return None
        self._failures[signature] = now_s + LAST_EVERY_S
        return "last", signature

    def _even_slot(self) -> int:
        """The slot of this request in the uniform sample; also draws which request is next (reservoir sampling with skips: Li
        1994, Algorithm L).
        """
        if self._seen < EVEN_MOST:
            self._next_even = self._seen + 1
            return self._seen - 1
        slot = self._seen - 1 if self._seen == EVEN_MOST else int(self._draw() * EVEN_MOST)
        self._weight *= (1.0 - self._draw()) ** (1.0 / EVEN_MOST)
        self._next_even = self._seen + 1 + int(math.log(1.0 - self._draw()) / math.log1p(-self._weight))
        return slot

    def drain(self) -> tuple[PlacedRequest, ...]:
        """The requests taken so far that fit the bounds, those that have waited longest first. In the pump's thread."""
        return self._read(self._a_drain_most, A_DRAIN_BYTES)

    def drain_all(self) -> tuple[PlacedRequest, ...]:
        """All requests that wait."""
        return self._read(math.inf, math.inf)

    def _read(self, most: float, most_bytes: float) -> tuple[PlacedRequest, ...]:
        found: list[PlacedRequest] = []
        for where in tuple(self._taken):
            if len(found) >= most or most_bytes <= 0:
                break
            raw, place = self._taken.pop(where, None), _place(where)
            if raw is None:
                continue  # a level that has just begun dropped it
            request = whole(raw, place.why)
            most_bytes -= len(request.sent.text) + len(request.received.text)
            found.append(PlacedRequest(place, self._clean(request)))
        return tuple(found)


def _place(where: _Where) -> Place:
    why: Why = where[0]
    if why in ("first", "last"):
        signature: FailureSignature = where[1]
        return Place(why, f"{signature.kind} {'/'.join(signature.types)} {signature.reused}")
    return Place(why, " ".join(map(str, where[1:])))
