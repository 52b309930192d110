"""When iterations are due, at random (a Poisson process) or with equal gaps. Pure: times and random numbers are passed in.

Gaps are drawn in units of the mean gap and divided by the rate, so that a change of the rate scales the rest of a gap. For random
arrivals this is time rescaling of a unit-rate Poisson process (Cinlar, Introduction to Stochastic Processes, section 4.7); evenly
spaced arrivals keep their phase.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

from ...model.offered import Arrivals


class ArrivalSchedule:
    """Times are seconds of one clock. `due` gives each arrival once."""

    def __init__(self, per_s: float, arrivals: Arrivals, began_s: float, random: Random) -> None:
        self.per_s = per_s
        self.arrivals = arrivals
        self._random = random
        self._at_s = began_s
        """Time from which `_left` counts."""
        first = self._gap() if arrivals == "poisson" else random.random()  # so that the arrivals of workers do not coincide
        self._left = first
        """Rest of the gap to the next arrival, in mean gaps."""

    def _gap(self) -> float:
        return self._random.expovariate(1.0) if self.arrivals == "poisson" else 1.0

    @property
    def next_s(self) -> float:
        """When the next iteration is due; infinite at rate 0."""
        return self._at_s + self._left / self.per_s if self.per_s > 0 else math.inf

    def due(self, now_s: float) -> Iterator[float]:
        """The moments planned up to now."""
        while self.next_s <= now_s:
            self._at_s, self._left = self.next_s, self._gap()
            yield self._at_s

    def change(self, per_s: float, at_s: float) -> None:
        """Change the rate at `at_s`. All arrivals due by then must have been taken."""
        self._left -= max(0.0, at_s - self._at_s) * self.per_s
        self._left = max(self._left, 0.0)
        self._at_s, self.per_s = max(at_s, self._at_s), per_s

    def skip_to(self, at_s: float) -> None:
        """Plan no arrival before `at_s`: the process was suspended until then."""
        self._at_s = max(at_s, self._at_s)
