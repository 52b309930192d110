"""When the autopilot ends the open level: its figures are precise enough, or it must be left at once. Pure."""

from __future__ import annotations

from ..model.figures import LevelFigures
from ..model.proposals import Why
from .autopilot_input import AutopilotInput, fails, low_load_line, ports_last_s, precise, small_steps_why

LEAST_S = 6.0
MOST_S = 18.0
"""Minimum and maximum settled seconds of a level (docs/knee.md). Six seconds give six batches."""

RETREAT_S = 3.0
"""Settled seconds without failures after which the service counts as recovered on a level that was retreated to."""

STRAIGHT_S = 7.0
STRAIGHT_REQUESTS = 60
"""A level that scales linearly ends after this many seconds or requests, because higher levels are more informative."""

STRAIGHT = 0.93
"""Efficiency of the highest level from which the next level has twice the users; below it scaling begins to flatten."""

FAILURES_MOST = 0.9
"""Failure ratio of the latest seconds above that of the lowest level at which a level is left at once. With 0.5 the knee
came out within 15% on 86.3% of 600 tuning systems, with 0.9 on 87.8%: a level left at once is no evidence of a collapse."""

UNSTEADY = 0.2
"""Relative standard error of goodput above which a failing level is not in steady state yet, so that it must not end."""

PORTS_LEAST_S = 60.0
"""Seconds until all ports are used at the rate of the next level: with fewer there is no step up, with half of it the open
level is left at once."""

UNSETTLED_MOST_S = 90.0
"""A level without a settled second by then never settles: spawning and settling take 31 s at most, unless users stay in
`on_start` or keep being replaced.
"""


def may_end(known: AutopilotInput, stage: Why, top: int) -> bool:
    """Whether the open level's figures are precise enough. `stage`: the reason for which the level was opened.
    `top`: users of the highest level that was not left at once.
    """
    descending = stage == "retreat"
    figures = known.open.figures
    if not figures.settled:
        return known.open_s >= UNSETTLED_MOST_S
    if descending and fails(known):
        return figures.settled_seconds >= MOST_S
    if descending:
        return figures.settled_seconds >= RETREAT_S
    if figures.settled_seconds < LEAST_S:
        return False
    if figures.settled_seconds >= MOST_S or precise(figures):
        return True
    return (small_steps_why(known) is not None and _is_steady(figures)) or _lies_on_line(known, top)


def _is_steady(figures: LevelFigures) -> bool:
    """Whether goodput varies little between seconds. A queue that fills up gives good seconds first and failing ones later."""
    return (figures.goodput_se_rps or 0.0) <= UNSTEADY * (figures.goodput_rps or 0.0)


def _lies_on_line(known: AutopilotInput, top: int) -> bool:
    """Whether this level is above all earlier ones and lies on the low-load line, with enough requests to decide that."""
    figures = known.open.figures
    if figures.goodput_rps is None or low_load_line(known)[1] < STRAIGHT or known.open.users < top:
        return False
    return figures.requests >= STRAIGHT_REQUESTS or figures.settled_seconds >= STRAIGHT_S


def leave_at_once_why(known: AutopilotInput) -> Why | None:
    """Why the open level must be left at once; None if it need not."""
    if ports_last_s(known) < PORTS_LEAST_S / 2:
        return "ports"
    return "failures" if fails(known, FAILURES_MOST) else None
