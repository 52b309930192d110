"""Detects that the process was suspended: stopped by a signal (ctrl+z), frozen, or asleep with its machine. In the pump's thread.

The users are suspended too, so such seconds do not describe the service. Three signs distinguish this from other delays: the
pump's beat is late (so it is when the disk holds the pump up), the load thread's timer is late (so it is when user code blocks),
and the process used no CPU meanwhile (as it does when one thread computes and blocks all others).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..load.lag import Lag

BEAT_S = 0.1
LEAST_S = 0.5
"""Seconds; a shorter stop looks like a busy machine. The loop lag shows it."""

CPU_MOST = 0.5
"""Cores: a process that used more than that was not stopped."""


def _with_sleep_s() -> float:
    """Monotonic, and includes time in which the machine sleeps (Linux; sleep is not detected elsewhere)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SuspensionDetector:
    """`beat` ten times a second, `look` once a tick."""

    def __init__(
        self,
        clock_s: Callable[[], float] = _with_sleep_s,
        awake_s: Callable[[], float] = time.monotonic,
        cpu_s: Callable[[], float] = time.process_time,
    ) -> None:
        self._clock_s, self._awake_s, self._cpu_s = clock_s, awake_s, cpu_s
        self._beat = (clock_s(), awake_s(), cpu_s())
        self._longest_s = self._asleep_s = 0.0
        """Since the last look."""
        self._stood_still = False

    def beat(self) -> None:
        """The pump runs."""
        before, self._beat = self._beat, (self._clock_s(), self._awake_s(), self._cpu_s())
        passed_s, awake_s, cpu_s = (now - then for now, then in zip(self._beat, before, strict=True))
        self._asleep_s += max(0.0, passed_s - awake_s)
        if cpu_s <= CPU_MOST * passed_s:
            self._longest_s = max(self._longest_s, passed_s - BEAT_S)

    def look(self, lag: Lag) -> float | None:
        """`Sample.suspended_s` of the tick that ends now. `lag`: of the load thread in it."""
        self.beat()
        longest_s, asleep_s = self._longest_s, self._asleep_s
        self._longest_s = self._asleep_s = 0.0
        held_up = (lag.max_ms or 0.0) >= LEAST_S * 1000
        before, self._stood_still = self._stood_still, asleep_s >= LEAST_S or (held_up and longest_s >= LEAST_S)
        if self._stood_still:
            return max(longest_s, asleep_s)
        return 0.0 if before else None
