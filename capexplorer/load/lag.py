"""Loop lag: how late a 10 ms timer fires in the load thread's hub. It is the error bar of every latency in a report."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

import gevent
import msgspec

from ..model.readings import GeneratorReading

PERIOD_S = 0.01


class Lag(msgspec.Struct, frozen=True):
    """One tick's timer delay in ms; None if the timer never fired in it."""

    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    blocked_at: str | None = None
    """`FILE:LINE in FUNCTION` of user code that held the loop at the end of the tick; None: none did, or it is not known."""

    def added_to(self, reading: GeneratorReading) -> GeneratorReading:
        """The reading of the process whose load thread this is, with its lag."""
        return msgspec.structs.replace(
            reading,
            loop_lag_p50_ms=self.p50_ms,
            loop_lag_p99_ms=self.p99_ms,
            loop_lag_max_ms=self.max_ms,
            blocked_at=self.blocked_at,
        )


class LagMeter:
    """`run` in the hub; `drain` from the pump's thread."""

    def __init__(self, where: Callable[[], str]) -> None:
        """`where`: user code that the load thread executes now; empty if it executes none."""
        self._where = where
        self._late_ms: deque[float] = deque(maxlen=10_000)
        self._due_s = math.inf

    def run(self) -> None:
        """Never returns; a greenlet's body."""
        while True:
            started_s = time.perf_counter()
            self._due_s = started_s + PERIOD_S
            gevent.sleep(PERIOD_S)
            self._late_ms.append((time.perf_counter() - self._due_s) * 1000)

    def drain(self) -> Lag:
        """The timer delay since the last call, including a timer that is overdue now: a blocked hub must not look idle."""
        late = sorted(self._late_ms.popleft() for _ in range(len(self._late_ms)))
        overdue_ms = (time.perf_counter() - self._due_s) * 1000
        blocked_at = None
        if overdue_ms > PERIOD_S * 1000:
            blocked_at = self._where() or None
            late.append(max(overdue_ms, late[-1] if late else 0.0))
        if not late:
            return Lag(None, None, None)
        return Lag(late[(len(late) - 1) // 2], late[math.ceil(0.99 * len(late)) - 1], late[-1], blocked_at)
