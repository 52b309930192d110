"""Selects the differences that the verdict of a pair may claim, so that few verdicts on equal services claim anything.

Four hypotheses on the whole curve are tested. The first is that the service time has changed, to which every level contributes;
its level of significance is CLAIMED_SERVICE_TIME. Goodput, mean latency and p95 share the rest of CLAIMED_OVERALL (Holm 1979),
or all of it if the first is significant (fallback procedure; Wiens & Dmitrienko, J. Biopharmaceutical Statistics 15, 2005). A
change at single user counts is tested with CLAIMED_SINGLE (Holm over all counts and figures), and claimed only if the counts on
one side of it show it too: a service that collapses now and then may do so in one of two equal runs, which no error estimated
within one run contains. Knee and capacity follow from goodput and latency, so they are claimed only together with one of these,
without a level of their own (gatekeeping; Maurer, Hothorn & Lehmacher 1995).

Without these rules, on 240 pairs of equal simulated services with levels of 10 s, single user counts made 11% of the verdicts
false, the knee's capacity 1%, and the tests of the whole curve 0.4%.
"""

from __future__ import annotations

import math
from dataclasses import replace

from .across_levels import OverallChange
from .comparison import MatchedLevel, Pair
from .difference import Difference
from .figures import CLAIMED_FIGURES, SERVICE_TIME
from .significance import FALSE_MOST, significant_by_holm

CLAIMED_OVERALL = 0.8 * FALSE_MOST
"""Share of pairs of equal services with a false claim about the whole curve."""

CLAIMED_SERVICE_TIME = 0.5 * FALSE_MOST
"""The part of CLAIMED_OVERALL that the service time has."""

CLAIMED_SINGLE = FALSE_MOST - CLAIMED_OVERALL
"""Share of pairs of equal services with a false claim about single user counts. It is FALSE_MOST if there are too few levels
for tests of the whole curve."""

AGREEING_LEAST = 2 / 3
"""Share of the user counts on one side of a claimed one (upwards or downwards, itself included) that must differ in the same
direction."""

SIDE_LEAST = 0.25
"""Least share of the common user counts that such a side has: the highest count alone would confirm itself."""

AGREEING_LEVELS_LEAST = 4
"""Number of common user counts below which a single one needs no confirmation by others."""


def with_claims(pair: Pair) -> Pair:
    """The pair with `claimed`, `isolated` and `detectable` set in its differences and overall changes."""
    overall = _overall_claims(pair.overall)
    singles = _significant_singles(pair, FALSE_MOST if not overall else CLAIMED_SINGLE)
    levels = tuple(replace(level, differences=_claimed_at(level, pair, singles)) for level in pair.levels)
    any_claimed = any(one.claimed for one in overall) or any(one.claimed for level in levels for one in level.differences)
    knee = tuple(replace(one, claimed=one.counts and (any_claimed or (0, one.figure) in singles)) for one in pair.knee)
    return replace(pair, levels=levels, knee=knee, overall=overall)


def _overall_claims(changes: tuple[OverallChange, ...]) -> tuple[OverallChange, ...]:
    first = next((one for one in changes if one.figure == SERVICE_TIME.name), None)
    is_first_significant = first is not None and first.p < CLAIMED_SERVICE_TIME
    rest = CLAIMED_OVERALL - CLAIMED_SERVICE_TIME if first is not None and not is_first_significant else CLAIMED_OVERALL
    asked = {one.figure: one.p for one in changes if one.figure in CLAIMED_FIGURES}
    kept = significant_by_holm(asked, rest) | ({SERVICE_TIME.name} if is_first_significant else frozenset())
    least = CLAIMED_OVERALL if first is None else CLAIMED_OVERALL - CLAIMED_SERVICE_TIME
    return tuple(
        replace(
            one,
            claimed=one.counts and one.figure in kept,
            detectable=one.found_from(CLAIMED_SERVICE_TIME if one is first else least / max(len(asked), 1)),
        )
        for one in changes
    )


def _significant_singles(pair: Pair, false_most: float) -> frozenset[tuple[int, str]]:
    """The (users, figure) that are significant. Users 0: the knee and its capacity, which are tested only without overall
    changes.
    """
    family = {(level.users, name): level[name] for level in pair.levels if not level.disturbed for name in CLAIMED_FIGURES}
    if not pair.overall:
        family |= {(0, one.figure): one for one in pair.knee}
    return significant_by_holm({key: one.p for key, one in family.items() if one.p is not None}, false_most)


def _claimed_at(level: MatchedLevel, pair: Pair, singles: frozenset[tuple[int, str]]) -> tuple[Difference, ...]:
    return tuple(_claimed(one, level.users, pair, (level.users, one.figure) in singles) for one in level.differences)


def _claimed(one: Difference, users: int, pair: Pair, is_significant: bool) -> Difference:
    stands_out = one.counts and is_significant
    agrees = stands_out and _agreeing(pair, users, one) >= AGREEING_LEAST
    return replace(one, claimed=agrees, isolated=stands_out and not agrees)


def _agreeing(pair: Pair, users: int, one: Difference) -> float:
    """Share of the user counts on one side of `users` at which the figure differs in this direction; the greater of the two."""
    compared = [level for level in pair.levels if not level.disturbed]
    if len(compared) < AGREEING_LEVELS_LEAST:
        return 1.0
    least = math.ceil(SIDE_LEAST * len(compared))
    here = next(index for index, level in enumerate(compared) if level.users == users)
    same = [each.counts and (each.change or 0) * (one.change or 0) > 0 for each in (level[one.figure] for level in compared)]
    up, down = same[min(here, len(same) - least) :], same[: max(here + 1, least)]
    return max(sum(side) / len(side) for side in (up, down))
