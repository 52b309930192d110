"""Detects that the process was suspended: stopped by a signal (ctrl+z), frozen, or asleep with its machine. In the pump's thread.

The users are suspended too, so such seconds do not describe the service. A suspension has three signs, each of which alone may
have another cause: the pump's beat is late (a slow disk delays it, too), the load thread's timer is late (user code that blocks
delays it, too), and the process used almost no CPU meanwhile (it uses much when one thread computes and blocks all others).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..load.lag import Lag

BEAT_S = 0.1
LEAST_S = 0.5
"""Seconds from which a stop counts as a suspension; a shorter one is not distinct from a busy machine, and shows as loop lag."""

CPU_MOST = 0.5
"""Cores: a process that used more than that was not stopped."""


def _with_sleep_s() -> float:
    """Monotonic, and includes time in which the machine sleeps (Linux; sleep is not detected elsewhere)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SuspensionDetector:
    """Call `beat` ten times a second, and `look` once a tick."""

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
        self._is_suspended = False

    def beat(self) -> None:
        """Note that the pump runs."""
        before, self._beat = self._beat, (self._clock_s(), self._awake_s(), self._cpu_s())
        passed_s, awake_s, cpu_s = (now - then for now, then in zip(self._beat, before, strict=True))
        self._asleep_s += max(0.0, passed_s - awake_s)
        if cpu_s <= CPU_MOST * passed_s:
            self._longest_s = max(self._longest_s, passed_s - BEAT_S)

    def look(self, lag: Lag) -> float | None:
        """The value of `Sample.suspended_s` for the tick that ends now. `lag`: that of the load thread in this tick."""
        self.beat()
        longest_s, asleep_s = self._longest_s, self._asleep_s
        self._longest_s = self._asleep_s = 0.0
        held_up = (lag.max_ms or 0.0) >= LEAST_S * 1000
        before, self._is_suspended = self._is_suspended, asleep_s >= LEAST_S or (held_up and longest_s >= LEAST_S)
        if self._is_suspended:
            return max(longest_s, asleep_s)
        return 0.0 if before else None
