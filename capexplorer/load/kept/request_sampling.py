"""Decides which requests are kept, by cheap checks before anything is copied. Their number is bounded for any traffic.

`wants` runs in the load thread for each request: 0.2 us for one that is not kept (`python -m benchmarks kept_requests`).
`drain` runs in the recorder's thread once a second: it reads and cleans at most a few of those that were taken.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import Any

from ...model.events import FailureSignature
from ...model.kept_request import EVEN_MOST, FAILURES_MOST, KeptRequest, Place, PlacedRequest, Why
from ...model.stream import Clock
from ..signature import example
from .raw_request import RawRequest, taken
from .whole_request import whole

Clean = Callable[[KeptRequest], KeptRequest]
"""Removes secrets."""

A_DRAIN_MOST = 20
A_DRAIN_BYTES = 16_384
"""Requests that are read in one second, and bytes of their bodies: 4 KiB of JSON take 2.4 ms beside the load, most of it to find
secrets. The others wait, and newer ones take their place."""

LAST_EVERY_S = 0.01
"""Of failures with the same signature that come faster, not each is taken as the last so far: taking one costs 8 us."""

_ENDPOINTS_MOST = 50
"""Endpoints of a level whose slowest request is kept, by the name that user code gives them."""

_Where = tuple[Any, ...]
"""A place before it is put in words."""


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
        """`draw`: evenly from 0 to below 1."""
        self._clean, self._a_drain_most, self._draw, self._monotonic = clean, a_drain_most, draw, monotonic
        self._level: int | None = None
        self._slowest: dict[tuple[str, str], float] = {}
        """ms, by endpoint; of this level."""
        self._failures: dict[FailureSignature, float] = {}
        """From when on the next one is taken as the last so far (`time.monotonic`)."""
        self._seen = 0
        self._next_even = 1
        """The number of the request that is next in the even sample."""
        self._weight = 1.0
        self._taken: dict[_Where, RawRequest] = {}
        """Waiting to be read; a newer one for the same place replaces an older one."""

    def begin_level(self, index: int) -> None:
        """Requests from now on are of this level."""
        self._level, self._slowest = index, {}

    def wants(self, method: str, name: str, response_ms: float) -> bool:
        """Count a request that has ended. Whether to keep it although it succeeded. Call `take` for it, or for a failure."""
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
        """The request that was counted last. `exception` where it failed; `start_s`: `time.time` when it began."""
        is_even = self._seen >= self._next_even
        is_slowest = warm and response_ms > self._slowest.get((method, name), -1.0) and self._counts_as_slowest((method, name))
        failure = None if signature is None else self._place_of(signature)
        if failure is None and not is_even and not is_slowest:
            return
        error = example(exception, response) if exception else ""
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
        """Of a failure that is to be kept."""
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
        """Where this request goes, and which is next: a reservoir that skips what it does not keep (Li 1994, Algorithm L)."""
        if self._seen < EVEN_MOST:
            self._next_even = self._seen + 1
            return self._seen - 1
        slot = self._seen - 1 if self._seen == EVEN_MOST else int(self._draw() * EVEN_MOST)
        self._weight *= (1.0 - self._draw()) ** (1.0 / EVEN_MOST)
        self._next_even = self._seen + 1 + int(math.log(1.0 - self._draw()) / math.log1p(-self._weight))
        return slot

    def drain(self) -> tuple[PlacedRequest, ...]:
        """Those that were taken since, the longest waiting first, as many as fit. In the recorder's thread."""
        return self._read(self._a_drain_most, A_DRAIN_BYTES)

    def drain_all(self) -> tuple[PlacedRequest, ...]:
        """All that wait."""
        return self._read(math.inf, math.inf)

    def _read(self, most: float, most_bytes: float) -> tuple[PlacedRequest, ...]:
        found: list[PlacedRequest] = []
        for where in tuple(self._taken):
            if len(found) >= most or most_bytes <= 0:
                break
            raw, place = self._taken.pop(where), _place(where)
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
