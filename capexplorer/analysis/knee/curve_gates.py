"""The gates of a knee: whether the curve has bent, whether it is flat at the top, and whether all levels fit one curve.

"Significantly" means by a one-sided 95% bound. At low load goodput is lambda0 times users (the low-load line), and beyond the
knee it is the capacity (the plateau). N* is where both lines meet (`crossing`). Efficiency is goodput divided by that of the
low-load line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

import msgspec
import numpy as np
from msgspec.structs import replace

from ...model.intervals import ONE_SIDED_95
from ..ladder import SHORT_S, LadderLevel, pooled
from ..statistics import BEYOND, LOST_LEAST, NOTABLE
from .crossing import LINEAR_LIKELY, CapacityCurve, Crossing, Mask, crossing, curve_of, efficiency
from .curve import Knees, knees_of, telling_users
from .limit import REPLIED_LEAST, Figures

NO_GOODPUT_RPS = 1e-6
"""Goodput up to this, about one success in ten days, is none: the service has no curve."""

LEVELS_LEAST = 3
"""Minimum number of user counts for a verdict on the knee (docs/knee.md, section 5)."""

REACHED_LEAST = 0.95
"""Probability that N* is at most the most users from which a knee is reported."""

HALF_WIDTH_MOST = 0.45
"""Half-width of its interval up to which it is. Of seeds that nobody had looked at, 6 of 335 knees with a half-width up to 0.3
were false, and 2 of 16 with more (lab/results/population.jsonl)."""

BENT_MOST = 0.85
"""A curve has bent if the efficiency of the level with the most users is below this (docs/knee.md, section 5)."""

LAST_LEVELS = 3
"""A curve has also bent if the estimate of its efficiency is below BENT_MOST and this many levels with the most users are
significantly below the line: so bends are found in noisy tables too."""

FLAT_SLOPE = 0.5
"""Slope at the top level, divided by lambda0, below which the knee lies under that level (docs/knee.md, section 5)."""

SLOPE_FROM = 0.8
"""The slope at the top is measured from levels at or under this share of its users."""

SLOPE_BASES = 2
"""From so many of the nearest of these levels; the lower upper bound counts. A chord of a concave curve is at least as steep as
its end, so each of them is an upper bound, and a single level that was short or disturbed does not hide a plateau."""

GAP_MOST = 0.75
"""Share of the capacity that a level between N* and the plateau must reach. A queue with random times reaches 0.85 just below
N*."""

ERRORS_LEAST = 0.2
"""Failure ratio from which a level with replies such as 500 or 502 has left its limit far behind, if load made it fail: a service
that sheds a fifth of its requests makes no more goodput with more users."""

BEYOND_CYCLES = 2.0
"""Mean cycles of their users that these levels must have together: as many as a level takes to settle
(`level_clock.SETTLING_CYCLES`)."""


class Gates(msgspec.Struct, frozen=True):
    """Efficiency and slope at the level with the most users, with the one-sided bounds that the gates compare."""

    efficiency: float
    efficiency_high: float
    last_levels_high: float
    """The greatest upper bound of efficiency among the last three levels. Under 0.93, all three are significantly below the
    line."""
    slope: float
    slope_low: float
    slope_high: float
    narrow: bool
    """No level has at most 0.8 of the top level's users. Efficiency cannot show a bend then, so the slope decides."""

    @property
    def surely_bent(self) -> bool:
        """Whether the top level alone is significantly below the low-load line."""
        return self.efficiency_high < BENT_MOST or (self.narrow and self.slope_high < FLAT_SLOPE)

    @property
    def bent(self) -> bool:
        """Whether the curve has bent."""
        return self.surely_bent or (self.efficiency < BENT_MOST and self.last_levels_high < LINEAR_LIKELY)


class KneeLines(msgspec.Struct, frozen=True, dict=True):
    """Pooled levels, their curve, and the two lines that meet at N*. Cheap: no interval is computed."""

    ladder: tuple[LadderLevel, ...]
    curve: CapacityCurve
    fitted: Crossing
    """Of lines that are fitted to the levels on them."""

    @classmethod
    def of(cls, levels: Sequence[LadderLevel]) -> KneeLines | None:
        """Of levels that need not be pooled; None if the service had no goodput."""
        return _lines_of(tuple(levels))

    @cached_property
    def crossing(self) -> Crossing:
        """Of the lines of the most likely curves."""
        rate = self.knees.rps_per_user
        return replace(self.fitted, rps_per_user=rate, capacity=self.knees.users * rate)

    @property
    def is_enough(self) -> bool:
        """Whether there are enough levels for a verdict."""
        return len(self.ladder) >= LEVELS_LEAST

    @cached_property
    def has_knee(self) -> bool:
        """Whether the knee surely lies within the tested loads, and where."""
        knees = self.knees
        return knees.chance_below(self.ladder[-1].users) >= REACHED_LEAST and knees.half_width <= HALF_WIDTH_MOST

    @cached_property
    def gates(self) -> Gates:
        """The gates at the level with the most users; only for lines with enough levels."""
        return gates_of(self.curve, self.fitted)

    @cached_property
    def knees(self) -> Knees:
        """How likely each number of users is to be the knee."""
        return knees_of(self.ladder, self.curve, self.fitted.slower)

    @property
    def telling_users(self) -> float:
        """Users of the level that would narrow the interval most."""
        return telling_users(self.ladder, self.curve, self.fitted.slower)

    @property
    def baseline(self) -> list[LadderLevel]:
        """Levels of the low-load line."""
        return [level for level, chosen in zip(self.ladder, self.fitted.baseline, strict=True) if chosen]

    @property
    def last_on_line(self) -> int:
        """Index of the level with the most users that is on the low-load line."""
        return int(np.flatnonzero(efficiency(self.curve, self.fitted)[0] >= LINEAR_LIKELY)[-1])

    @property
    def figures(self) -> Figures:
        """What both lines and the top level show."""
        return {
            "low_load_rps_per_user": self.crossing.rps_per_user,
            "baseline_levels": int(self.crossing.baseline.sum()),
            "slower_levels": self.crossing.slower or None,
            "top_efficiency": self.gates.efficiency,
            "top_slope": self.gates.slope,
        }


@lru_cache(maxsize=64)
def _lines_of(levels: tuple[LadderLevel, ...]) -> KneeLines | None:
    """Of a session only the last level changes from second to second; the lines of those before it are kept."""
    ladder = pooled(levels)
    if not ladder or max(level.goodput_rps for level in ladder) <= NO_GOODPUT_RPS:
        return None
    curve = curve_of(ladder)
    return KneeLines(ladder, curve, crossing(curve))


def overloaded_from(levels: Sequence[LadderLevel]) -> float | None:
    """Users at the knee or the bend, beyond which the service is overloaded; None without either."""
    lines = KneeLines.of(levels)
    if lines is None or not lines.is_enough:
        return None
    if lines.has_knee:
        return lines.crossing.users
    return lines.ladder[lines.last_on_line].users if lines.gates.bent else None


def gates_of(curve: CapacityCurve, found: Crossing) -> Gates:
    """The gates at the level with the most users."""
    shares, errors = efficiency(curve, found)
    top = len(curve.users) - 1
    under = [index for index in range(top) if curve.users[index] <= SLOPE_FROM * curve.users[top]]
    slopes = [_slope(curve, found, base, top) for base in under[-SLOPE_BASES:] or [0]]
    slope, error = min(slopes, key=lambda each: each[0] + ONE_SIDED_95 * each[1])
    return Gates(
        efficiency=float(shares[top]),
        efficiency_high=float(shares[top] + ONE_SIDED_95 * errors[top]),
        last_levels_high=float((shares + ONE_SIDED_95 * errors)[-LAST_LEVELS:].max()),
        slope=slope,
        slope_low=slope - ONE_SIDED_95 * error,
        slope_high=slope + ONE_SIDED_95 * error,
        narrow=not under,
    )


def _slope(curve: CapacityCurve, found: Crossing, base: int, top: int) -> tuple[float, float]:
    """(slope of goodput between two levels divided by that of the low-load line, its standard error)."""
    run = float(curve.users[top] - curve.users[base]) * found.rps_per_user
    slope = float(curve.goodput[top] - curve.goodput[base]) / run
    return slope, float(np.hypot(curve.error[top], curve.error[base])) / run


def is_consistent(lines: KneeLines) -> bool:
    """Whether all levels fit the two lines: if not, the service changed between them, and there is no knee.

    A level well beyond N* must be off the low-load line, and no level between N* and the plateau may be far below the capacity.
    Not counted: short bins of a ramp, which may be on the line or on the plateau by chance, and levels with refusals, since a
    rate limiter accepts a varying number of requests. Goodput must not become steep again (`_rises`), and a warm-up must be over
    (`_still_warms_up`).
    """
    ladder, curve, found = lines.ladder, lines.curve, lines.crossing
    shares = efficiency(curve, found)[0] - curve.selection_bias / (curve.users * found.rps_per_user)
    beyond = curve.users >= BEYOND * found.users
    on_line = beyond & (shares >= LINEAR_LIKELY)
    gaps = (curve.users >= found.users) & (
        curve.users < curve.users[found.plateau & (curve.selection_bias == 0)].max(initial=0.0)
    )
    gaps &= curve.goodput + ONE_SIDED_95 * curve.error < GAP_MOST * found.capacity
    gaps &= [(level.refused_ratio or 0.0) < REPLIED_LEAST for level in ladder]
    clean = beyond & [(level.failure_ratio or 0.0) < LOST_LEAST for level in ladder]
    failing = (curve.users >= found.users) & [_replies_with_errors(level) for level in ladder]
    rises = _rises(curve, found, clean) or _rises(curve, found, failing)
    return not (on_line.any() or gaps.any() or rises or _still_warms_up(lines))


def _replies_with_errors(level: LadderLevel) -> bool:
    """Whether many requests fail, nearly all of them by replies such as 500 or 502: no client gave up, and no limiter refused."""
    many = (level.failure_ratio or 0.0) >= ERRORS_LEAST
    return many and (level.replied_ratio or 0.0) >= REPLIED_LEAST and (level.refused_ratio or 0.0) < REPLIED_LEAST


def _still_warms_up(lines: KneeLines) -> bool:
    """Whether the service was slower at first (`Crossing.slower`) and, beyond N*, surely became still faster than on the line."""
    found, line = lines.crossing, [level for level in lines.baseline if level.latency_ms]
    if not found.slower or not line:
        return False
    last = line[-1]
    least_ms = NOTABLE * 1000 / found.rps_per_user
    return any(
        (last.latency_ms or 0.0) - level.latency_ms - ONE_SIDED_95 * _latency_error_ms(last, level) > least_ms
        for level in lines.ladder
        if level.users >= found.users and level.latency_ms
    )


def _latency_error_ms(one: LadderLevel, other: LadderLevel) -> float:
    """Standard error of the difference between the mean latencies of two levels."""
    return math.hypot(one.latency_error_ms or 0.0, other.latency_error_ms or 0.0)


def _rises(curve: CapacityCurve, found: Crossing, beyond: Mask) -> bool:
    """Whether goodput rises significantly from one level beyond N* to the next with a slope that no plateau has.

    Throughput of one closed system is concave in its users (Dowdy, Eager, Gordon & Saxton, Information Processing Letters 19,
    1984): it does not become flat and then steep again. The curve of a service that lost capacity in between does, and that of
    one which fails for the same share of requests at any load. `beyond`: levels without failures, or levels whose failures
    are replies with errors; clients that give up change the load of the others.
    """
    users, goodput, error = curve.users[beyond], curve.goodput[beyond], np.hypot(curve.error, curve.selection_bias)[beyond]
    surely = np.diff(goodput) - ONE_SIDED_95 * np.hypot(error[1:], error[:-1])
    return bool((surely > FLAT_SLOPE * found.rps_per_user * np.diff(users)).any())


def is_long_enough(lines: KneeLines) -> bool:
    """Whether levels from N* on were measured for SHORT_S and BEYOND_CYCLES in all; True on a ramp, and where lengths of levels
    are not known.
    """
    beyond = [level for level in lines.ladder if level.users >= lines.crossing.users]
    if not beyond or any(level.ramp or level.seconds is None or level.throughput_rps is None for level in lines.ladder):
        return True
    cycles = math.fsum((level.seconds or 0.0) * (level.throughput_rps or 0.0) / level.users for level in beyond)
    return math.fsum(level.seconds or 0.0 for level in beyond) >= SHORT_S and cycles >= BEYOND_CYCLES
