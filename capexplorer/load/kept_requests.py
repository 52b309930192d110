"""Requests that are kept whole: which ones, by cheap checks before anything is copied, so that their number is bounded for any
traffic; the copy, and what is parsed of it.

`wants` runs in the load thread for each request: 0.2 us for one that is not kept (`python -m lab.bench kept_requests`).
`drain` runs in the pump's thread once a second: it parses a few of those that were taken and removes secrets from them.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

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
from ..model.stages import RequestStages
from .connections import connected_in_s
from .signature import body_if_read, full_text

if TYPE_CHECKING:
    from .lean.response import LeanResponse  # imports Locust, which patches the process

_METHOD_MOST = 32


class EndedRequest(msgspec.Struct, frozen=True, gc=False):
    """One request, as it is reported. It is made in half the time of a NamedTuple, and no collection looks at it."""

    method: str
    name: str
    response_ms: float
    length: int
    signature: FailureSignature | None
    example: str
    """The failure's full text, only for the first one of a signature."""
    retried: tuple[FailureSignature, ...]
    warm: bool
    stages: RequestStages | None = None
    """None: its reply was no stream."""
    by_user_code: bool = False
    """Whether user code fired it, so that it may be a metric."""


# -- the copy: references and short slices, without parsing or decoding, in the load thread. It has no reference to the reply,
# whose body may have megabytes, and nothing of a body that the client has not read.


class _Seen(NamedTuple):
    """What each client provides in its own way."""

    sent_head: object = None
    """The request's head as text or bytes, or its headers as a mapping."""
    sent_body: object = b""
    head: object = None
    """The reply's head as bytes, or its headers as a mapping; None: no reply."""
    connect_s: float | None = None
    """Seconds to connect; None: not known, or no connection was opened."""
    kept_connection: bool | None = None
    first_s: float | None = None
    """Seconds from the request's start to the reply's first byte, or to its whole head if `to_head`."""
    to_head: bool = False


class RawRequest(NamedTuple):
    """One request in the form in which its client has it."""

    brief: RequestBrief
    """Its `t_s` is `time.monotonic` at its start."""
    url: str
    seen: _Seen
    sent_body: tuple[str | bytes, int]
    """(beginning, whole length in bytes or characters)."""
    body: bytes
    """The beginning of the reply's body, one byte longer than is kept if the body is."""
    body_bytes: int
    stages: RequestStages | None = None


def taken(
    ended: EndedRequest, level: int | None, response: Any, start_s: float | None, url: str | None, error: str
) -> RawRequest:
    """The copy of a request. `start_s`: `time.time` at its start; None: it ended just now. `error`: its failure's full text."""
    age_s = ended.response_ms / 1000 if start_s is None else max(0.0, time.time() - start_s)
    seen = _of_lean(response) if hasattr(response, "head_bytes") else _of_others(response, start_s)
    body, status = body_if_read(response), getattr(response, "status_code", None)
    brief = RequestBrief(
        t_s=time.monotonic() - age_s,
        level=level,
        method=ended.method[:_METHOD_MOST],
        name=ended.name[:URL_MOST],
        status=status if isinstance(status, int) and status else None,
        response_ms=ended.response_ms,
        error=error[:ERROR_MOST],
        kind="" if ended.signature is None else ended.signature.kind[:ERROR_MOST],
    )
    asked = str(url or getattr(getattr(response, "request", None), "url", None) or "")
    size, seen_head = max(len(body), ended.length if body else 0), seen._replace(sent_body=None)
    return RawRequest(brief, asked, seen_head, _slice(seen.sent_body), body[: BODY_MOST_BYTES + 1], size, ended.stages)


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


# -- parsed: heads into headers, bodies into text, cut to bounds, in the pump's thread. Removes no secrets.


def whole(raw: RawRequest, why: Why) -> KeptRequest:
    """The kept request. Its `t_s` is `time.monotonic` at its start."""
    return KeptRequest(
        brief=msgspec.structs.replace(raw.brief, why=why),
        url=raw.url[:URL_MOST],
        sent_headers=_headers(raw.seen.sent_head),
        sent=_sent(*raw.sent_body),
        phases=_phases(raw.brief, raw.seen, raw.stages),
        headers=_headers(raw.seen.head),
        received=_body(raw.body, raw.body_bytes),
    )


def _phases(brief: RequestBrief, seen: _Seen, stages: RequestStages | None) -> Phases:
    connect_ms = None if seen.connect_s is None else seen.connect_s * 1000
    known = Phases(connect_ms=connect_ms, kept_connection=seen.kept_connection, to_head=seen.to_head)
    if seen.first_s is None:
        return known
    first_ms = min(seen.first_s * 1000, brief.response_ms)
    known = msgspec.structs.replace(known, first_byte_ms=max(0.0, first_ms - (connect_ms or 0.0)))
    if stages is not None:
        known = msgspec.structs.replace(known, tokens=stages.tokens, per_token_ms=stages.tpot_ms)
    if stages is not None and stages.ttft_ms is not None:
        event_ms = min(max(stages.ttft_ms, first_ms), brief.response_ms)
        return msgspec.structs.replace(known, first_event_ms=event_ms - first_ms, body_ms=brief.response_ms - event_ms)
    return msgspec.structs.replace(known, body_ms=None if brief.status is None else brief.response_ms - first_ms)


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


# -- which ones


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
        self, ended: EndedRequest, exception: BaseException | str | None, response: Any, start_s: float | None, url: str | None
    ) -> None:
        """Copy the request that `wants` counted last, if it has a place. `exception`: why it failed; `start_s`: `time.time` at
        its start.
        """
        endpoint = ended.method, ended.name
        is_even = self._seen >= self._next_even
        is_slowest = ended.warm and ended.response_ms > self._slowest.get(endpoint, -1.0) and self._counts_as_slowest(endpoint)
        failure = None if ended.signature is None else self._place_of(ended.signature)
        if failure is None and not is_even and not is_slowest:
            return
        raw = taken(ended, self._level, response, start_s, url, full_text(exception, response) if exception else "")
        if failure is not None:
            self._taken[failure] = raw
        if is_slowest:
            self._slowest[endpoint] = ended.response_ms
            self._taken["slowest", self._level, *endpoint] = raw
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

    def drain(self, *, all_that_wait: bool = False) -> tuple[PlacedRequest, ...]:
        """The requests taken so far that fit the bounds, those that have waited longest first. In the pump's thread."""
        most, most_bytes = (math.inf, math.inf) if all_that_wait else (self._a_drain_most, A_DRAIN_BYTES)
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
