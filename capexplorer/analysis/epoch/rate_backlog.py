"""How many iterations in flight are a backlog at the start of an offered rate, by the levels before it.

By Little's law iterations in flight are the rate times the time from plan. So another rate shows how many a rate needs.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...model.level import Level
from ..rates.rate_level import SAME_RATE
from .rate_recovery import IN_FLIGHT_MORE, IN_FLIGHT_TIMES


def backlog_above(levels: Iterable[Level], rate_per_s: float, in_flight: int) -> float | None:
    """Iterations in flight above which a service at `rate_per_s` works off a backlog. None: not known, or there is none.

    `levels`: those before, of one epoch. `in_flight`: at the start of this rate. The measure is the nearest rate that is not
    higher, since a higher one may have been overload; without one, the level with the shortest time from plan.
    """
    settled = (level for level in levels if level.offered_per_s and not level.opened.ramp and level.figures.settled)
    known = [level.figures.offered for level in settled if level.figures.offered and level.figures.offered.offered_per_s > 0]
    needed_s = [(each.offered_per_s, each.in_flight_mean / each.offered_per_s) for each in known]
    below = [each for each in needed_s if each[0] <= (1 + SAME_RATE) * rate_per_s]
    seconds = max(below)[1] if below else min((each[1] for each in needed_s), default=None)
    if seconds is None:
        return None
    above = IN_FLIGHT_TIMES * seconds * rate_per_s + IN_FLIGHT_MORE
    return above if in_flight > above else None
