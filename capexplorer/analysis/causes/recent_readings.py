"""The latest ticks, and sums over them, in which readings are searched that explain a failure.

A reading that was not taken stays None in sums and maxima, never zero.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ...model.events import FailureSignature, Sample
from ...model.readings import TargetReading

KEPT = 90
"""Ticks kept: enough for a timeout of a minute and the half minute before it."""

Ticks = Sequence[Sample]
"""Samples in order of time."""


class RecentReadings:
    """The latest samples, in order."""

    def __init__(self) -> None:
        self._ticks: deque[Sample] = deque(maxlen=KEPT)

    def add(self, sample: Sample) -> None:
        """Append a sample and drop the oldest one."""
        self._ticks.append(sample)

    def since(self, t_s: float) -> Ticks:
        """Ticks that ended after `t_s`."""
        found = []
        for tick in reversed(self._ticks):
            if tick.t_s <= t_s:
                break
            found.append(tick)
        return found[::-1]

    def last(self, ticks: int) -> Ticks:
        """The latest `ticks` samples; fewer at the session's start."""
        return list(self._ticks)[-ticks:]


def growth(ticks: Ticks, *counters: str) -> int | None:
    """Sum of the growth of these TCP counters; None if one of them was never read."""
    total = 0
    for counter in counters:
        read = [grown for tick in ticks if tick.tcp is not None and (grown := tick.tcp.grown(counter)) is not None]
        if not read:
            return None
        total += int(sum(read))
    return total


def most(ticks: Ticks, reading: Callable[[TargetReading], float | None]) -> float | None:
    """The greatest value of a target's reading; None if it was never read."""
    return max((value for tick in ticks for target in tick.targets if (value := reading(target)) is not None), default=None)


def fullest(pairs: Iterable[tuple[int | None, int | None]]) -> tuple[int, int] | None:
    """The pair (used, limit) nearest to its limit; None if none was read."""
    known = [(used, limit) for used, limit in pairs if used is not None and limit]
    return max(known, key=lambda pair: pair[0] / pair[1], default=None)


def requests(ticks: Ticks) -> int:
    """All requests, warm-up included, without attempts that clients repeated by themselves."""
    return sum(each.requests + each.warmup_requests for tick in ticks for each in tick.endpoints)


def failures(ticks: Ticks) -> int:
    """Requests that failed, warm-up included."""
    return sum(each.failures + each.warmup_failures for tick in ticks for each in tick.endpoints)


def connects(ticks: Ticks) -> int:
    """Connections that users tried to open."""
    return sum(tick.connects for tick in ticks)


def closed_by_service(ticks: Ticks) -> int:
    """Connections that the service ended; 0 in older logs, which do not count them."""
    return sum(tick.closed_by_service or 0 for tick in ticks)


def broken(ticks: Ticks, reused: Iterable[bool | None] = (True, False, None)) -> int:
    """Failures by a broken connection, repeated attempts included. `reused`: count only those whose connection had been used
    before (True), was new (False), or is not known (None).
    """
    failed = [each for tick in ticks for each in (*tick.failures, *tick.retried)]
    return sum(each.count for each in failed if each.signature.reused in reused and _is_break(each.signature))


def _is_break(signature: FailureSignature) -> bool:
    return signature.status is None and bool(_BREAKS.intersection(signature.types))


_BREAKS = frozenset(
    ("ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError", "RemoteDisconnected", "HTTPConnectionClosed")
)


def retried(ticks: Ticks) -> int:
    """Attempts that clients repeated by themselves."""
    return sum(each.count for tick in ticks for each in tick.retried)
