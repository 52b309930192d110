"""The last ticks, and what their readings say together: the window in which a symptom looks for what confirms it.

A reading that was not taken stays unread: sums and maxima are None then, never zero. Judges nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ...model.events import FailureSignature, Sample
from ...model.readings import TargetReading

KEPT = 90
"""Ticks: a timeout of a minute, and what led to it."""

Ticks = Sequence[Sample]


class Recent:
    """Samples in order."""

    def __init__(self) -> None:
        self._ticks: deque[Sample] = deque(maxlen=KEPT)

    def add(self, sample: Sample) -> None:
        """One more."""
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
        """The latest so many; fewer at the beginning."""
        return list(self._ticks)[-ticks:]


def growth(ticks: Ticks, *counters: str) -> int | None:
    """Growth of these TCP counters together; None when one of them was never read."""
    total = 0
    for counter in counters:
        read = [grown for tick in ticks if tick.tcp is not None and (grown := tick.tcp.grown(counter)) is not None]
        if not read:
            return None
        total += int(sum(read))
    return total


def most(ticks: Ticks, reading: Callable[[TargetReading], float | None]) -> float | None:
    """The greatest of a target's readings; None when it was never read."""
    return max((value for tick in ticks for target in tick.targets if (value := reading(target)) is not None), default=None)


def fullest(pairs: Iterable[tuple[int | None, int | None]]) -> tuple[int, int] | None:
    """Of (used, limit) the pair nearest to its limit; None when none was read."""
    known = [(used, limit) for used, limit in pairs if used is not None and limit]
    return max(known, key=lambda pair: pair[0] / pair[1], default=None)


def requests(ticks: Ticks) -> int:
    """All of them, warm-up included: what the wire saw, hidden repetitions left out."""
    return sum(each.requests + each.warmup_requests for tick in ticks for each in tick.endpoints)


def failures(ticks: Ticks) -> int:
    """Of them, those that failed."""
    return sum(each.failures + each.warmup_failures for tick in ticks for each in tick.endpoints)


def connects(ticks: Ticks) -> int:
    """Connections that users tried to open."""
    return sum(tick.connects for tick in ticks)


def broken(ticks: Ticks, reused: Iterable[bool | None] = (True, False, None)) -> int:
    """Connections that broke without a timeout, a status or a check, hidden ones included; `reused`: had been used before."""
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
