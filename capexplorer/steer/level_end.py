"""How long levels last: when a search ends the open one, and how long that or a proposed one will take. Pure."""

from __future__ import annotations

from ..model.figures import LevelFigures
from ..model.proposals import GoTo, Hold, Proposal, Why
from .search_input import SearchInput, fails, low_load_line, ports_last_s, precise, small_steps_why

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


def may_end(known: SearchInput, stage: Why, top: int) -> bool:
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


def _lies_on_line(known: SearchInput, top: int) -> bool:
    """Whether this level is above all earlier ones and lies on the low-load line, with enough requests to decide that."""
    figures = known.open.figures
    if figures.goodput_rps is None or low_load_line(known)[1] < STRAIGHT or known.open.users < top:
        return False
    return figures.requests >= STRAIGHT_REQUESTS or figures.settled_seconds >= STRAIGHT_S


def leave_at_once_why(known: SearchInput) -> Why | None:
    """Why the open level must be left at once; None if it need not."""
    if ports_last_s(known) < PORTS_LEAST_S / 2:
        return "ports"
    return "failures" if fails(known, FAILURES_MOST) else None


# -- how long it will take

SETTLING_S = 3.0
"""Seconds that a level is assumed to take to settle before any has settled: one to start the users, two to settle."""


def lengths(why: Why, figures: LevelFigures | None = None) -> tuple[float, float]:
    """Least and most settled seconds of a level that is opened for this reason; its latest `figures`, if it is open."""
    if why == "rest":
        return 0.0, 0.0
    failing = figures is not None and figures.failures > 0
    return (RETREAT_S if why == "retreat" and not failing else LEAST_S), MOST_S


def timed(proposal: Proposal, known: SearchInput | None, stage: GoTo | None, settling_s: float) -> Proposal:
    """The proposal with its seconds.

    `stage`: the proposal that opened the open level; None if it was not proposed. `settling_s`: seconds that levels take to
    settle.
    """
    opened_for: Why | None = stage.why if stage is not None else None
    match proposal:
        case GoTo(users, why, figures, opens_new_level):
            least_s, most_s = _of_verification(proposal) or lengths(why)
            before_s = settling_s if most_s else 0.0
            return GoTo(users, why, figures, opens_new_level, _rounded(least_s + before_s), _rounded(most_s + before_s))
        case Hold("measuring" as why) if known is not None:
            least_s, most_s = (stage and _of_verification(stage)) or lengths(opened_for or "first", known.open.figures)
            seconds = known.open.figures.settled_seconds
            return Hold(why, _rounded(least_s - seconds), _rounded(most_s - seconds), opened_for)
        case Hold("settling" as why):
            least_s, most_s = (stage and _of_verification(stage)) or lengths(opened_for or "first")
            left_s = max(settling_s - (known.open_s if known is not None else 0.0), 0.0)
            return Hold(why, _rounded(left_s + least_s), _rounded(left_s + most_s), opened_for)
    return proposal


def _rounded(seconds: float) -> float:
    return round(max(seconds, 0.0), 1)


def _of_verification(step: GoTo) -> tuple[float, float] | None:
    least_s, most_s = step.figures.get("least_s"), step.figures.get("most_s")
    return (least_s, most_s) if isinstance(least_s, float | int) and isinstance(most_s, float | int) else None
