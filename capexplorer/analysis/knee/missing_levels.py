"""The further levels that would make a verdict more precise, as typed values, the most useful first. `wording` has the
sentences.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.verdicts import KneeVerdict, Missing
from ..ladder import LadderLevel
from .confidence import BASELINE_LEVELS, BASELINE_SHARE, BEYOND_LEVELS, BEYOND_SHARE, HALF_WIDTH_MOST
from .crossing import Crossing
from .curve_gates import LEVELS_LEAST

GAP_MOST = 1.6
"""If the level above the knee has more than this many times the users of the level below it, a level between would help."""

HIGHER_RATIO = 1.5
"""The next level to try while the curve does not bend has this many times the most users so far."""

Advice = tuple[Missing, ...]


def missing(ladder: Sequence[LadderLevel], found: Crossing | None, knee: KneeVerdict | None) -> Advice:
    """Further levels, the most useful first; empty if none would help. `found`, `knee`: None if not computed yet."""
    if len(ladder) < LEVELS_LEAST or found is None:
        return (Missing(kind="levels", count=max(1, LEVELS_LEAST - len(ladder))),)
    if knee is None or knee.kind == "no_knee":
        return (Missing(kind="higher_levels", users_above=ladder[-1].users * HIGHER_RATIO),)
    if knee.kind == "at_or_below":
        return _lower(BASELINE_LEVELS, BASELINE_SHARE * ladder[found.slower].users)
    if knee.kind == "bend":
        return _under(ladder, found.users, found) + (Missing(kind="higher_levels", count=2, users_above=ladder[-1].users),)
    return _for_knee(ladder, found, knee)


def _for_knee(ladder: Sequence[LadderLevel], found: Crossing, knee: KneeVerdict) -> Advice:
    wanted = list(_under(ladder, found.users, found))
    beyond = sum(level.users >= BEYOND_SHARE * found.users for level in ladder)
    if beyond < BEYOND_LEVELS:
        wanted.append(Missing(kind="higher_levels", count=BEYOND_LEVELS - beyond, users_above=BEYOND_SHARE * found.users))
    around = [level.users for level in ladder]
    for low, high in zip(around, around[1:], strict=False):
        if low < found.users <= high and high > GAP_MOST * low:
            wanted.append(Missing(kind="between_levels", users_above=low, users_below=high))
    if not wanted and (knee.evidence.half_width_ratio or 0.0) >= HALF_WIDTH_MOST:
        wanted.append(Missing(kind="longer_levels"))
    if not wanted and knee.verification is not None:
        wanted += [
            Missing(kind=step.name, seconds=step.least_s, users_below=float(step.users), users_above=float(step.users))
            for step in knee.verification.open_steps
        ]
    return tuple(wanted)


def _under(ladder: Sequence[LadderLevel], knee_users: float, found: Crossing) -> Advice:
    bound = BASELINE_SHARE * knee_users
    measured = sum(level.users <= bound for level in ladder[found.slower : found.linear])
    return _lower(min(BASELINE_LEVELS, int(bound)) - measured, bound)


def _lower(count: int, bound: float) -> Advice:
    """So many levels of at most `bound` users: no more than there are whole numbers, and none below one user."""
    count = min(count, int(bound))
    return (Missing(kind="lower_levels", count=count, users_below=bound),) if count > 0 else ()
