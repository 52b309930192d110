"""Pooled levels with what the posterior over N* (`curve`) says of them: lambda0, the capacity, and whether there is a knee.

At low load goodput is lambda0 times users (the low-load line), and beyond the knee it is the capacity; N* is where both meet:
the asymptote crossing of the closed queueing model, Xmax (R0 + Z) (Denning & Buzen 1978; Jain 1991, section 33.6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

import msgspec
import numpy as np

from ...model.intervals import ONE_SIDED_95
from ..ladder import LadderLevel, pooled
from ..statistics import LOST_LEAST
from . import limited
from .curve import Knees, knees_of, telling_users
from .measured_curve import CapacityCurve, curve_of

NO_GOODPUT_RPS = 1e-6
"""Goodput up to this, about one success in ten days, is none: the service has no curve."""

LEVELS_LEAST = 3
"""Minimum number of user counts for a verdict on the knee (docs/knee.md, section 5)."""

REPLIED_LEAST = 0.9
"""Failures are replies of the service, or refusals, if at least this share of them are: 33-52% of 429 and 503 were recorded while
loop lag was 24-38 ms."""

REACHED_LEAST = 0.95
"""Probability that N* is at most the most users from which the curve has bent."""

HALF_WIDTH_MOST = 0.45
"""Half-width of its interval up to which the knee is reported."""

BASELINE_MOST = 0.7
"""Share of N* up to which levels are at low load. In M/M/1 with long think times the efficiency there is 0.97."""

FLAT_SLOPE = 0.5
"""Slope of goodput beyond the knee, divided by lambda0, that no plateau has."""


class KneeLines(msgspec.Struct, frozen=True, dict=True):
    """Pooled levels, their curve, and the two lines that meet at N*."""

    ladder: tuple[LadderLevel, ...]
    curve: CapacityCurve

    @classmethod
    def of(cls, levels: Sequence[LadderLevel]) -> KneeLines | None:
        """Of levels that need not be pooled; None if the service had no goodput."""
        return _lines_of(tuple(levels))

    @property
    def is_enough(self) -> bool:
        """Whether there are enough levels for a verdict."""
        return len(self.ladder) >= LEVELS_LEAST

    @cached_property
    def knees(self) -> Knees:
        """How likely each number of users is to be the knee."""
        return self.by_limits[0] if self.by_limits is not None else knees_of(self.ladder, self.curve)

    @cached_property
    def by_limits(self) -> tuple[Knees, limited.Limited] | None:
        """How likely each number of users is the one at which goodput is greatest, if a limit on a single request surely breaks
        beyond it within the tested loads; else None.
        """
        if not (self.is_limited and self.is_enough):
            return None
        knees, found = limited.by_users(self.ladder)
        is_within = knees.chance_below(self.ladder[-1].users) >= REACHED_LEAST
        return (knees, found) if is_within and found.chance_broken >= REACHED_LEAST else None

    @cached_property
    def has_bent(self) -> bool:
        """Whether the knee surely lies within the tested loads."""
        return self.knees.chance_below(self.ladder[-1].users) >= REACHED_LEAST

    @cached_property
    def has_knee(self) -> bool:
        """Whether it does, and where. Throughput of one closed system is concave in its users (Dowdy, Eager, Gordon & Saxton,
        Information Processing Letters 19, 1984), so if goodput rises again the service changed between levels.
        """
        return self.has_bent and self.knees.half_width <= HALF_WIDTH_MOST and not self.rises_beyond(FLAT_SLOPE)

    @cached_property
    def users(self) -> float:
        """N*."""
        return self.knees.median

    @property
    def capacity_rps(self) -> float:
        """Goodput of the capacity line."""
        return self.by_limits[1].mean if self.by_limits is not None else self.users * self.knees.rps_per_user

    @property
    def capacity_tokens_per_s(self) -> float | None:
        """The capacity in tokens, at the mean number of a request; None: there are no streams."""
        known = [level for level in self.ladder if level.tokens_per_s is not None]
        requests_per_s = math.fsum(level.goodput_rps for level in known)
        tokens_per_s = math.fsum(level.tokens_per_s or 0.0 for level in known)
        return self.capacity_rps * tokens_per_s / requests_per_s if requests_per_s else None

    @property
    def is_limited(self) -> bool:
        """Whether there are limits on a single request."""
        return self.ladder[0].beyond_limits is not None

    @property
    def telling_users(self) -> float:
        """Users of the level that would narrow the interval most."""
        if self.by_limits is not None:
            low, high = self.knees.interval
            return math.sqrt(low * high)
        return telling_users(self.ladder, self.curve)

    @property
    def baseline(self) -> list[LadderLevel]:
        """The levels at low load; at least the lowest one."""
        lowest, *others = self.ladder
        return [lowest, *(level for level in others if level.users <= BASELINE_MOST * self.users)]

    @property
    def last_below(self) -> int:
        """Index of the level with the most users that N* is surely above; that of the lowest level if there is none."""
        least = self.knees.quantile(1 - REACHED_LEAST)
        return max(0, int(np.searchsorted(self.curve.users, least, side="right")) - 1)

    @cached_property
    def slope_beyond(self) -> tuple[float, float] | None:
        """(slope of goodput from N* on, divided by lambda0; its lower bound); None with fewer than two levels there. Levels with
        failures are not counted: clients that give up change the load of the others.
        """
        beyond = (self.curve.users >= self.users) & [(level.failure_ratio or 0.0) < LOST_LEAST for level in self.ladder]
        if beyond.sum() < 2:
            return None
        users, weights = self.curve.users[beyond], self.curve.error[beyond] ** -2.0
        moved = users - weights @ users / weights.sum()
        squares = float(weights @ moved**2)
        slope, error = float(weights @ (moved * self.curve.goodput[beyond])) / squares, squares**-0.5
        return slope / self.knees.rps_per_user, (slope - ONE_SIDED_95 * error) / self.knees.rps_per_user

    def rises_beyond(self, share: float) -> bool:
        """Whether goodput surely rises from N* on, by this share of lambda0."""
        return self.slope_beyond is not None and self.slope_beyond[1] > share

    @property
    def figures(self) -> dict[str, float | int | None]:
        """What both lines and the top level show, by names of `KneeEvidence`."""
        rate = self.knees.rps_per_user
        return {
            "low_load_rps_per_user": rate,
            "baseline_levels": len(self.baseline),
            "top_efficiency": float(self.curve.steady[-1] / (self.curve.users[-1] * rate)),
            "top_slope": None if self.slope_beyond is None else self.slope_beyond[0],
        }


@lru_cache(maxsize=64)
def _lines_of(levels: tuple[LadderLevel, ...]) -> KneeLines | None:
    """Of a session only the last level changes from second to second; the lines of those before it are kept."""
    ladder = pooled(levels)
    if not ladder or max(level.goodput_rps for level in ladder) <= NO_GOODPUT_RPS:
        return None
    return KneeLines(ladder, curve_of(ladder))


def overloaded_from(levels: Sequence[LadderLevel]) -> float | None:
    """Users at the knee, beyond which the service is overloaded; None if it was not reached."""
    lines = KneeLines.of(levels)
    return lines.users if lines is not None and lines.is_enough and lines.has_bent else None
