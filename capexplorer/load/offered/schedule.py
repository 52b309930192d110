"""When iterations are due, at random (a Poisson process) or with equal gaps. Pure: times and random numbers are passed in.

Gaps are drawn in mean gaps and divided by the rate, so that a change of the rate stretches what is left of a gap: this
is time rescaling of a unit-rate Poisson process (Cinlar, Introduction to Stochastic Processes, section 4.7), and evenly spaced
arrivals keep their phase.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

from ...model.offered import Arrivals


class ArrivalSchedule:
    """Times are seconds of one clock. `due` gives each arrival once."""

    def __init__(self, offered_per_s: float, arrivals: Arrivals, began_s: float, random: Random) -> None:
        self.offered_per_s = offered_per_s
        self.arrivals = arrivals
        self._random = random
        self._at_s = began_s
        """Up to here gaps are used up."""
        first = self._gap() if arrivals == "poisson" else random.random()  # workers must not arrive in step
        self._left = first
        """To the next arrival from there, in mean gaps."""

    def _gap(self) -> float:
        return self._random.expovariate(1.0) if self.arrivals == "poisson" else 1.0

    @property
    def next_s(self) -> float:
        """When the next iteration is due; infinite at rate 0."""
        return self._at_s + self._left / self.offered_per_s if self.offered_per_s > 0 else math.inf

    def due(self, now_s: float) -> Iterator[float]:
        """The moments planned up to now."""
        while self.next_s <= now_s:
            self._at_s, self._left = self.next_s, self._gap()
            yield self._at_s

    def change(self, offered_per_s: float, at_s: float) -> None:
        """Another rate from `at_s` on, up to which all that was due has been taken."""
        self._left -= max(0.0, at_s - self._at_s) * self.offered_per_s
        self._left = max(self._left, 0.0)
        self._at_s, self.offered_per_s = max(at_s, self._at_s), offered_per_s

    def skip_to(self, at_s: float) -> None:
        """Plan nothing before `at_s`: this process stood still."""
        self._at_s = max(at_s, self._at_s)
