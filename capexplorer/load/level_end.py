"""When the autopilot ends the open level: it is known well enough, or must be left at once. Pure."""

from __future__ import annotations

from .autopilot_decisions import Why
from .autopilot_input import AutopilotInput, fails, line, ports_last_s, precise, strain

LEAST_S = 6.0
MOST_S = 18.0
"""Settled seconds of a level (docs/knee.md). Six seconds are six batches."""

RETREAT_S = 3.0
"""Settled seconds without failures after which the service counts as recovered on a level that was retreated to."""

STRAIGHT_S = 7.0
STRAIGHT_REQUESTS = 60
"""A level on the way up that lies on the line ends after so many requests or seconds: the next levels tell more, sooner."""

STRAIGHT = 0.93
"""Efficiency at the top level from which the next level has twice the users; below it the bend is near."""

FAILURES_MOST = 0.9
"""Failure ratio of the latest seconds above that of the lowest level at which a level is left at once. With 0.5 the knee
came out within 15% on 86.3% of 600 tuning systems, with 0.9 on 87.8%: a level left at once is no evidence of a collapse."""

PORTS_LEAST_S = 60.0
"""Seconds until all ports are used at the rate of the next level: with fewer there is no step up, with half of it the open
level is left at once."""

PATIENCE_S = 90.0
"""A level that has no settled second by then never will: spawning and settling take 31 s at most, unless users stay in
`on_start` or keep being replaced."""


def may_end(known: AutopilotInput, stage: Why, top: int) -> bool:
    """Whether the open level is known well enough. `top`: users of the highest level that was not left at once."""
    descending = stage == "retreat"
    figures = known.open.figures
    if not figures.settled:
        return known.open_s >= PATIENCE_S
    if descending and fails(known):
        return figures.settled_seconds >= MOST_S
    if descending:
        return figures.settled_seconds >= RETREAT_S
    if figures.settled_seconds < LEAST_S:
        return False
    if figures.settled_seconds >= MOST_S or precise(figures):
        return True
    return strain(known) is not None or _lies_on_line(known, top)


def _lies_on_line(known: AutopilotInput, top: int) -> bool:
    """Whether this is a level on the way up that lies on the low-load line, with enough requests to say so."""
    figures = known.open.figures
    if figures.goodput_rps is None or line(known)[1] < STRAIGHT or known.open.users < top:
        return False
    return figures.requests >= STRAIGHT_REQUESTS or figures.settled_seconds >= STRAIGHT_S


def trouble(known: AutopilotInput) -> Why | None:
    """Why the open level must be left at once; None if it need not."""
    if ports_last_s(known) < PORTS_LEAST_S / 2:
        return "ports"
    return "failures" if fails(known, FAILURES_MOST) else None
