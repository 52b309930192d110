"""Assigns the seconds that workers report to ticks by the master's clock, and decides whether a tick is whole.

Pure: times are passed in, and are seconds of the master's `time.monotonic`. A tick that is not whole (a worker is missing, or
reported another second) is recorded as it is, and counts in no level's figures, so that late reports distort none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from .second import WorkerSecond

WITHIN_S = 0.3
"""Seconds by which the end of a worker's second may differ from a tick's boundary: a busy machine wakes the worker late, and
clock offsets are exact to some ms."""

KEPT = 60
"""Most seconds of one worker that wait to be taken: those of a minute in which the master was suspended."""

IN_TURN_MOST = 6
"""Most seconds of a plain Locust worker that wait: those of two reports. If more wait, its clock is faster, and a tick takes
two."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The workers' seconds of one tick."""

    seconds: tuple[tuple[str, WorkerSecond], ...]
    """By worker, in the order in which they are expected; placed on the master's clock."""
    late: frozenset[str]
    """Expected workers that have not reported the second that ends with this tick."""
    is_whole: bool
    """Whether each expected worker reported exactly the second of this tick."""


class Gathering:
    """Call `add` for each reported second, and `take` once a tick."""

    def __init__(self) -> None:
        self._expected: tuple[str, ...] = ()
        self._since_s = 0.0
        self._waiting: dict[str, deque[WorkerSecond]] = {}
        self._in_turn: set[str] = set()
        """Plain Locust workers, whose seconds arrive late and with boundaries of their own: each tick takes the next one."""

    def expect(self, workers: Iterable[str], at_s: float) -> None:
        """Set the workers that make the load from `at_s` on. A tick that began before is not whole. Seconds of other workers are
        dropped.
        """
        self._expected, self._since_s = tuple(workers), at_s
        self._waiting = {worker: self._waiting.get(worker, deque(maxlen=KEPT)) for worker in self._expected}

    def add(self, worker: str, second: WorkerSecond, *, in_turn: bool = False) -> None:
        """Add one second, by the master's clock. That of a worker which is not expected is dropped. `in_turn`: the worker's
        seconds do not have the boundaries of ticks.
        """
        if worker in self._waiting:
            self._waiting[worker].append(second)
            if in_turn:
                self._in_turn.add(worker)

    def is_complete(self, boundary_s: float) -> bool:
        """Whether every expected worker has reported the second that ends at this boundary."""
        return all(
            worker in self._in_turn or (waiting and waiting[-1].ended_s >= boundary_s - WITHIN_S)
            for worker, waiting in self._waiting.items()
        )

    def take(self, boundary_s: float) -> Gathered:
        """The seconds that ended by this boundary."""
        seconds: list[tuple[str, WorkerSecond]] = []
        late = set()
        for worker, waiting in self._waiting.items():
            own = _next(waiting) if worker in self._in_turn else _until(waiting, boundary_s)
            if not own or (worker not in self._in_turn and own[-1].ended_s < boundary_s - WITHIN_S):
                late.add(worker)
            seconds += [(worker, second) for second in own]
        is_whole = not late and len(seconds) == len(self._expected) > 0
        is_whole = is_whole and all(second.began_s >= self._since_s - WITHIN_S for _, second in seconds)
        return Gathered(tuple(seconds), frozenset(late), is_whole)


def _next(waiting: deque[WorkerSecond]) -> list[WorkerSecond]:
    return [waiting.popleft() for _ in range(min(len(waiting), 1 + (len(waiting) > IN_TURN_MOST)))]


def _until(waiting: deque[WorkerSecond], boundary_s: float) -> list[WorkerSecond]:
    found = []
    while waiting and waiting[0].ended_s <= boundary_s + WITHIN_S:
        found.append(waiting.popleft())
    return found
