"""What the verdict of a pair may claim: of many figures at many user counts, only what chance would rarely show in any of them.

Four questions are asked of the whole curve. The first is whether the service time has changed, of which every level tells
something; it has CLAIMED_SERVICE_TIME. Goodput, mean latency and p95 share the rest of CLAIMED_OVERALL (Holm 1979), and all of it
where the first is answered (fallback; Wiens & Dmitrienko, J. Biopharmaceutical Statistics 15, 2005). A
change at single user counts is claimed with CLAIMED_SINGLE (Holm again, over every count and figure), and only if the counts on
one side of it show it too: a service that now and then collapses does so in one of two equal runs, and no error that one run has
can tell. Knee and capacity follow from goodput and latency, so they are claimed only beside one of these (gatekeeping; Maurer,
Hothorn & Lehmacher 1995) and cost nothing.

Before, on 240 pairs of equal simulated services with levels of 10 s, single user counts made 11% of headlines false, the knee's
capacity 1%, and the questions of the whole curve 0.4%.
"""

from __future__ import annotations

import math
from dataclasses import replace

from .across_levels import OverallChange
from .comparison import MatchedLevel, Pair
from .difference import Difference
from .figures import CLAIMED_FIGURES, SERVICE_TIME
from .significance import FALSE_MOST, sure

CLAIMED_OVERALL = 0.8 * FALSE_MOST
"""Share of the pairs of equal services about whose whole curve something false may be claimed."""

CLAIMED_SERVICE_TIME = 0.5 * FALSE_MOST
"""The part of it for the service time."""

CLAIMED_SINGLE = FALSE_MOST - CLAIMED_OVERALL
"""The same about single user counts. With too few levels for a question of the whole curve they have all of FALSE_MOST."""

AGREEING_LEAST = 2 / 3
"""Share of the user counts on one side of a claimed one (from it up, or from it down) that must differ in the same direction."""

SIDE_LEAST = 0.25
"""Share of the user counts in common that such a side has at the least: the top one alone shows nothing."""

AGREEING_LEVELS_LEAST = 4
"""User counts in common under which a single one need not be borne out by others."""


def with_claims(pair: Pair) -> Pair:
    """The pair, whose differences and overall changes say whether the verdict may claim them."""
    overall = _overall_claims(pair.overall)
    singles = _sure_singles(pair, FALSE_MOST if not overall else CLAIMED_SINGLE)
    levels = tuple(replace(level, differences=_claimed_at(level, pair, singles)) for level in pair.levels)
    claimed = any(one.sure for one in overall) or any(one.sure for level in levels for one in level.differences)
    knee = tuple(replace(one, sure=one.counts and (claimed or (0, one.figure) in singles)) for one in pair.knee)
    return replace(pair, levels=levels, knee=knee, overall=overall)


def _overall_claims(changes: tuple[OverallChange, ...]) -> tuple[OverallChange, ...]:
    first = next((one for one in changes if one.figure == SERVICE_TIME.name), None)
    is_first_sure = first is not None and first.p < CLAIMED_SERVICE_TIME
    rest = CLAIMED_OVERALL - CLAIMED_SERVICE_TIME if first is not None and not is_first_sure else CLAIMED_OVERALL
    asked = {one.figure: one.p for one in changes if one.figure in CLAIMED_FIGURES}
    kept = sure(asked, rest) | ({SERVICE_TIME.name} if is_first_sure else frozenset())
    least = CLAIMED_OVERALL if first is None else CLAIMED_OVERALL - CLAIMED_SERVICE_TIME
    return tuple(
        replace(
            one,
            sure=one.counts and one.figure in kept,
            detectable=one.found_from(CLAIMED_SERVICE_TIME if one is first else least / max(len(asked), 1)),
        )
        for one in changes
    )


def _sure_singles(pair: Pair, false_most: float) -> frozenset[tuple[int, str]]:
    """(users, figure); users 0 are of the whole curve, and only asked where there are no overall changes."""
    family = {(level.users, name): level[name] for level in pair.levels if not level.held_by_others for name in CLAIMED_FIGURES}
    if not pair.overall:
        family |= {(0, one.figure): one for one in pair.knee}
    return sure({key: one.p for key, one in family.items() if one.p is not None}, false_most)


def _claimed_at(level: MatchedLevel, pair: Pair, singles: frozenset[tuple[int, str]]) -> tuple[Difference, ...]:
    return tuple(_claimed(one, level.users, pair, (level.users, one.figure) in singles) for one in level.differences)


def _claimed(one: Difference, users: int, pair: Pair, is_sure: bool) -> Difference:
    stands_out = one.counts and is_sure
    agrees = stands_out and _agreeing(pair, users, one) >= AGREEING_LEAST
    return replace(one, sure=agrees, alone=stands_out and not agrees)


def _agreeing(pair: Pair, users: int, one: Difference) -> float:
    """Share of the user counts at which the figure differs in this direction, on the side of `users` where it is greater."""
    compared = [level for level in pair.levels if not level.held_by_others]
    if len(compared) < AGREEING_LEVELS_LEAST:
        return 1.0
    least = math.ceil(SIDE_LEAST * len(compared))
    here = next(index for index, level in enumerate(compared) if level.users == users)
    same = [each.counts and (each.change or 0) * (one.change or 0) > 0 for each in (level[one.figure] for level in compared)]
    up, down = same[min(here, len(same) - least) :], same[: max(here + 1, least)]
    return max(sum(side) / len(side) for side in (up, down))
