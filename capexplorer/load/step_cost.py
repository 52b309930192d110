"""Estimates how long a proposed level takes, and how long the open level will still last. Pure."""

from __future__ import annotations

from ..model.figures import LevelFigures
from ..model.proposals import GoTo, Hold, Proposal, Why
from .autopilot_input import AutopilotInput
from .level_end import LEAST_S, MOST_S, RETREAT_S

SETTLING_S = 3.0
"""Seconds that a level is assumed to take to settle before any has settled: one to start the users, two to settle."""


def lengths(why: Why, figures: LevelFigures | None = None) -> tuple[float, float]:
    """Least and most settled seconds of a level that is opened for this reason; its latest `figures`, if it is open."""
    if why == "rest":
        return 0.0, 0.0
    failing = figures is not None and figures.failures > 0
    return (RETREAT_S if why == "retreat" and not failing else LEAST_S), MOST_S


def timed(proposal: Proposal, known: AutopilotInput | None, stage: GoTo | None, settling_s: float) -> Proposal:
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
