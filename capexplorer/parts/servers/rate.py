"""Growth per second of the counters of a server."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ...model import outside
from ...probe.procfs import Growth, per_second


class Rates:
    """Call `tick` at the beginning of each reading, then `of` once for each counter."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._growth, self._clock = Growth(), clock
        self._at_s: float | None = None
        self._elapsed_s = 0.0

    def tick(self) -> None:
        """Begin a reading: take the time since the one before."""
        before_s, self._at_s = self._at_s, self._clock()
        self._elapsed_s = 0.0 if before_s is None else self._at_s - before_s

    def of(self, name: str, count: float) -> dict[str, float]:
        """`NAME_per_s`; empty at the first reading, and if the counter was reset; NaN if the counter is no number."""
        usable = outside.number(count)
        rate = per_second(self._growth(name, None if usable is None else int(usable)), self._elapsed_s)
        if usable is None:
            return {f"{name}_per_s": math.nan}
        return {} if rate is None else {f"{name}_per_s": rate}
