"""Selects the differences that the verdict of a pair may claim, so that few verdicts on equal services claim anything.

The capacity is the answer, and is tested by itself: a doubling is always found. The service time, to which every level
contributes, has most of FALSE_MOST, since it finds small changes; without it (the client classes differ) goodput has that
share. A longer latency with the same capacity, or a longer tail, shows in mean latency or p95 below the limit, which are tested
by themselves (Holm 1979), with the share of the service time, too, if that has changed (fallback procedure; Wiens & Dmitrienko,
J. Biopharmaceutical Statistics 15, 2005). So are failures over all levels.

Single user counts are tested where one of the two sessions is at its limit (Holm over these counts and figures): below both
knees the users determine goodput, and only latency and failures can differ, which the tests of the whole curve contain. Such a
change is claimed only if the counts on one side of it, or the capacity, show it too: a service that collapses now and then may
do so in one of two equal runs, which no error estimated within one run contains.

The knee follows from goodput and latency, so it is claimed only together with another claim. So is a capacity or goodput that is
significant by itself, but not at the level of its test (gatekeeping; Maurer, Hothorn & Lehmacher 1995).

The levels of these tests sum to 86% of FALSE_MOST: the errors of services that collapse now and then are too small. They were
chosen on seeds from 1,200,000: 10 of 180 equal pairs with levels of 10 s were called different, 13 with Holm's method over
goodput, mean latency and p95, and at least as many of 240 pairs with a change of 10% were found.
"""

from __future__ import annotations

import math
from dataclasses import replace

from .across_levels import OverallChange
from .comparison import MatchedLevel, Pair
from .difference import Difference
from .figures import CLAIMED_FIGURES, CLAIMED_LATENCIES, CLAIMED_RATE_FIGURES, SERVICE_TIME
from .significance import FALSE_MOST, significant_by_holm

CLAIMED_CAPACITY = 0.002 * FALSE_MOST
"""Share of pairs of equal services with a false claim about the capacity alone: enough to find a doubling. At 0.05% it made 5 of
240 verdicts on equal explorations false, since a capacity is that of two or three levels of 6 s."""

CLAIMED_SERVICE_TIME = 0.7 * FALSE_MOST
"""The same of the service time alone."""

CLAIMED_LATENCY = 0.06 * FALSE_MOST
"""The same of mean latency and p95 below the limit (Holm)."""

CLAIMED_FAILURES = 0.04 * FALSE_MOST
"""The same of failures alone."""

CLAIMED_SINGLE = 0.06 * FALSE_MOST
"""The same of single user counts."""

CLAIMED_FEW = 0.4 * FALSE_MOST
"""The same of single user counts if there are too few for tests of the whole curve."""

CLAIMED_RATE = 0.8 * FALSE_MOST
"""Share of pairs of sessions of offered rates with a false claim about the capacity as a rate; single rates have the rest."""

AGREEING_LEAST = 2 / 3
"""Share of the user counts on one side of a claimed one (upwards or downwards, itself included) that must differ in the same
direction."""

SIDE_LEAST = 0.25
"""Least share of the common user counts that such a side has: the highest count alone would confirm itself."""

AGREEING_LEVELS_LEAST = 4
"""Number of common user counts below which a single one needs no confirmation by others."""

OTHERS_LEAST = 2
"""Least number of user counts on such a side, the claimed one included: one count would confirm itself."""


def with_claims(pair: Pair) -> Pair:
    """The pair with `claimed`, `isolated` and `detectable` set in its differences and overall changes."""
    overall = _overall_claims(pair.overall)
    singles = _significant_singles(pair, CLAIMED_SINGLE if overall else CLAIMED_FEW)
    levels = tuple(replace(level, differences=_claimed_at(level, pair, singles)) for level in pair.levels)
    found = replace(pair, levels=levels, overall=overall, knee=tuple(replace(one, claimed=_is_certain(one)) for one in pair.knee))
    knee = tuple(replace(one, claimed=one.counts and _is_confirmed(one, found.directions)) for one in pair.knee)
    return _with_rate_claims(replace(found, knee=knee))


def _is_confirmed(one: Difference, directions: frozenset[bool]) -> bool:
    """Whether another claim has its direction, which failures or a latency that changed the other way do not; the knee may move
    either way with a latency.
    """
    return bool(directions) if one.figure == "knee" else one.better in directions


def _is_certain(capacity: Difference) -> bool:
    return capacity.figure == "capacity" and capacity.counts and capacity.p is not None and capacity.p < CLAIMED_CAPACITY


def _with_rate_claims(pair: Pair) -> Pair:
    """Offered rates are a family of their own: the capacity as a rate, and single rates with what it leaves of FALSE_MOST."""
    capacity = pair.rate_capacity
    asked = capacity.p if capacity is not None else None
    family = {(each.per_s, name): each[name].p for each in pair.rates for name in CLAIMED_RATE_FIGURES}
    measured = {key: p for key, p in family.items() if p is not None}
    singles = significant_by_holm(measured, FALSE_MOST if asked is None else FALSE_MOST - CLAIMED_RATE)
    rates = tuple(
        replace(
            each,
            differences=tuple(
                replace(one, claimed=one.counts and (each.per_s, one.figure) in singles) for one in each.differences
            ),
        )
        for each in pair.rates
    )
    claimed = capacity and replace(capacity, claimed=capacity.counts and asked is not None and asked < CLAIMED_RATE)
    return replace(pair, rates=rates, rate_capacity=claimed)


def _overall_claims(changes: tuple[OverallChange, ...]) -> tuple[OverallChange, ...]:
    by_figure = {one.figure: one for one in changes}
    first = SERVICE_TIME.name if SERVICE_TIME.name in by_figure else "goodput"
    is_changed = first in by_figure and by_figure[first].counts and by_figure[first].p < CLAIMED_SERVICE_TIME
    latencies = {name: by_figure[name].p for name in CLAIMED_LATENCIES if name in by_figure}
    kept = significant_by_holm(latencies, CLAIMED_LATENCY + CLAIMED_SERVICE_TIME * is_changed)
    levels = {first: CLAIMED_SERVICE_TIME, "failure_ratio": CLAIMED_FAILURES}
    levels |= dict.fromkeys(latencies, CLAIMED_LATENCY / len(latencies) if latencies else 0.0)

    def is_claimed(one: OverallChange) -> bool:
        if one.figure in latencies:
            return one.figure in kept
        return one.p < (FALSE_MOST if one.figure == "goodput" and is_changed else levels.get(one.figure, 0.0))

    return tuple(
        replace(
            one,
            claimed=one.counts and is_claimed(one),
            detectable=one.found_from(levels[one.figure]) if one.figure in levels and one.means is None else None,
        )
        for one in changes
    )


def _significant_singles(pair: Pair, false_most: float) -> frozenset[tuple[int, str]]:
    """The (users, figure) that are significant, of user counts at which one of the two is at its limit."""
    family = {(level.users, name): level[name].p for level in _at_limit(pair) for name in CLAIMED_FIGURES}
    return significant_by_holm({key: p for key, p in family.items() if p is not None}, false_most)


def _at_limit(pair: Pair) -> list[MatchedLevel]:
    return [level for level in pair.levels if level.at_limit and not level.disturbed]


def _claimed_at(level: MatchedLevel, pair: Pair, singles: frozenset[tuple[int, str]]) -> tuple[Difference, ...]:
    return tuple(_claimed(one, level.users, pair, (level.users, one.figure) in singles) for one in level.differences)


def _claimed(one: Difference, users: int, pair: Pair, is_significant: bool) -> Difference:
    stands_out = one.counts and is_significant
    agrees = stands_out and (_capacity_agrees(pair, one) or _agreeing(pair, users, one) >= AGREEING_LEAST)
    return replace(one, claimed=agrees, isolated=stands_out and not agrees)


def _capacity_agrees(pair: Pair, one: Difference) -> bool:
    """Whether the capacity is significantly better where the figure is, or worse where it is."""
    capacity = next((each for each in pair.knee if each.figure == "capacity"), None)
    return capacity is not None and capacity.counts and capacity.better is one.better


def _agreeing(pair: Pair, users: int, one: Difference) -> float:
    """Share of the user counts on one side of `users` at which the figure differs in this direction; the greater of the two."""
    compared = _at_limit(pair)
    if sum(not level.disturbed for level in pair.levels) < AGREEING_LEVELS_LEAST:
        return 1.0
    if len(compared) < OTHERS_LEAST:
        return 0.0
    least = max(math.ceil(SIDE_LEAST * len(compared)), OTHERS_LEAST)
    here = next(index for index, level in enumerate(compared) if level.users == users)
    same = [each.counts and (each.change or 0) * (one.change or 0) > 0 for each in (level[one.figure] for level in compared)]
    up, down = same[min(here, len(same) - least) :], same[: max(here + 1, least)]
    return max(sum(side) / len(side) for side in (up, down))
