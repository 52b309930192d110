"""What is true of a simulated service, and what may not be said of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Statement = Literal["changed", "fault", "did_not_recover", "falls", "generator", "not_saturated_beyond", "bound_below", "others"]
"""What a verdict may say beside its knee or capacity:

- `changed`: the service changed by itself: goodput or latency, without a step of load that explains it.
- `fault`: requests failed by a fault at that time, not by load.
- `did_not_recover`: the service did not serve a lower load as before, after overload.
- `falls`: goodput falls beyond the knee.
- `generator`: the generator is the limit.
- `not_saturated_beyond`: there is no knee, or no capacity, up to a load far beyond each of them.
- `bound_below`: a knee is at or below a load which is far below each of them.
- `others`: other processes disturbed levels.
"""

BY_ITSELF: tuple[Statement, ...] = ("changed", "fault")
"""What may not be said of a service that does not change."""
ALWAYS_WRONG: tuple[Statement, ...] = ("not_saturated_beyond", "bound_below")

LEVEL_S = 5.5
"""Least settled seconds of a level that counts for what is due."""
BELOW, BELOW_LEVELS = 0.8, 2
"""A knee is due if this many levels were below this multiple of it ..."""
BEYOND_USERS, BEYOND_RATE = 1.2, 1.15
"""... and one level was beyond it by this factor, all while the service had that knee."""

FOREVER_S = 1e9


class Knee(NamedTuple):
    """A knee, in users, or a capacity, in iterations a second, that the service had from `from_s` to `until_s` of the session.

    Between `low` and `high` any value is right: as where goodput approaches its maximum over a wide range of loads.
    """

    low: float
    high: float
    from_s: float = 0.0
    until_s: float = FOREVER_S

    def error(self, value: float) -> float:
        """Relative distance of a value from it; 0 between its ends."""
        return max(0.0, 1 - value / self.low, value / self.high - 1)


class RunLevel(NamedTuple):
    """A level that ran: its load, when it began and ended, and its settled seconds."""

    load: float
    began_s: float
    ended_s: float
    settled_s: float


@dataclass(frozen=True, slots=True)
class Truth:
    """The truth of a session. `knees`: all that the service had; empty: none. `limits`: words for the limit that are right."""

    knees: tuple[Knee, ...]
    limits: tuple[str, ...]
    forbidden: tuple[Statement, ...] = BY_ITSELF
    at_rates: bool = False
    fails_below: bool = False
    """Whether requests fail at loads below the knee, too, so that a bound below it is not wrong."""
    served_to: float | None = None
    """Load from which on not all is served although there is no knee or capacity; None: the greatest knee."""

    @property
    def most_served(self) -> float:
        """Load beyond which "not saturated" is wrong."""
        return max((knee.high for knee in self.knees), default=math.inf) if self.served_to is None else self.served_to

    def error(self, value: float) -> float | None:
        """Relative distance from the nearest knee; None: there is none."""
        return min((knee.error(value) for knee in self.knees), default=None)

    def covered(self, low: float, high: float) -> bool:
        """Whether an interval holds a knee."""
        return any(low <= knee.high and knee.low <= high for knee in self.knees)

    def is_due(self, levels: Sequence[RunLevel]) -> bool:
        """Whether these levels show a knee to whoever can read them."""
        return any(self._shows(knee, levels) for knee in self.knees)

    def _shows(self, knee: Knee, levels: Sequence[RunLevel]) -> bool:
        inside = [
            level
            for level in levels
            if level.settled_s >= LEVEL_S and level.began_s >= knee.from_s and level.ended_s <= knee.until_s
        ]
        below = {level.load for level in inside if level.load <= BELOW * knee.low}
        beyond = (BEYOND_RATE if self.at_rates else BEYOND_USERS) * knee.high
        return len(below) >= BELOW_LEVELS and any(level.load >= beyond for level in inside)


def exactly(value: float | None) -> tuple[Knee, ...]:
    """One knee throughout, or none."""
    return () if value is None else (Knee(value, value),)
