"""The open level: the autopilot's input and what is derived from it, when a search ends it, and how long it will take. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from ..model.figures import LevelFigures, least_response_s
from ..model.proposals import GoTo, Hold, Proposal, Why
from ..model.verdicts import CapacityVerdict

# -- search input --------------------------------------------------------------------------------------------------------------
# The autopilot's input, and quantities derived from it: linearity, precision, failures, free ports. Pure; decides nothing.


GOODPUT_ERROR = 0.04
LATENCY_ERROR = 0.08
"""Relative standard errors at which a level may end before its maximum duration."""

ON_LINE = 0.9
PLATEAU_LEAST = 0.92
"""A plateau was skipped if the level with the highest goodput has an efficiency of at least ON_LINE and all levels above it
have less than PLATEAU_LEAST of its goodput.
"""

FAILURES_MORE = 0.02
"""Increase of the failure ratio over that of the lowest level from which failures count as present."""

FAILURES_LEAST = 4
"""Fewer failures than this in a level or in the latest seconds may be chance."""

PORTS_USED_LEAST = 0.5
"""Share of all ephemeral ports in use below which they limit no step."""


class InputLevel(msgspec.Struct, frozen=True):
    """A level, reduced to what the autopilot needs."""

    users: int
    figures: LevelFigures


class SearchInput(msgspec.Struct, frozen=True, kw_only=True):
    """The input of one decision."""

    levels: Sequence[InputLevel]
    """Of this epoch in the order they ran; the last one is open."""
    open_s: float
    """Seconds since all users of the open level run."""
    verdict: CapacityVerdict
    """The verdict on those levels, the open one included."""
    max_users: int
    latest_requests: int = 0
    latest_failures: int = 0
    """Of the latest seconds of the open level, settled or not."""
    ports_used_ratio: float = 0.0
    """Share of all ephemeral ports in use."""
    exhausted_in_s: float | None = None
    """Seconds until all ports are used at the present rate."""
    generator_saturated: bool = False
    undecided: bool = False
    """Goodput fell, or failures began, with the step to the open level: load or a change in time, a return would show which."""
    fault: bool = False
    """Failures of the open level began within it or in an earlier level: a fault of the service, not caused by this load."""

    @property
    def open(self) -> InputLevel:
        """The level that is open."""
        return self.levels[-1]

    @property
    def measured(self) -> list[InputLevel]:
        """Levels with users whose goodput is known."""
        return [level for level in self.levels if level.users and level.figures.goodput_rps is not None]

    @property
    def stretch(self) -> float:
        """How much longer levels of this service last than those of others."""
        return stretch_of(level.figures for level in self.measured)

    @property
    def lowest(self) -> int:
        """Users of the lowest level; 1 before there is any."""
        return min((level.users for level in self.levels if level.users), default=1)


def precise(figures: LevelFigures) -> bool:
    """Whether goodput and latency are precise enough for a level to end (docs/knee.md). Under limits on a single request that is
    what was served: none of it may be within them.
    """
    latency, goodput, error = figures.latency_ms.mean, figures.goodput_rps, figures.goodput_se_rps
    if figures.served_rps is not None:
        goodput, error = figures.served_rps, figures.served_se_rps
    if not goodput or error is None or not latency or figures.latency_se_ms is None:
        return False
    return error <= GOODPUT_ERROR * goodput and figures.latency_se_ms <= LATENCY_ERROR * latency


def low_load_line(known: SearchInput) -> tuple[float, float]:
    """(users at which the low-load line reaches the greatest goodput so far, efficiency of the top level)."""
    levels = sorted(known.measured, key=lambda level: level.users)
    rates = [(level.figures.goodput_rps or 0.0) / level.users for level in levels]
    curve = known.verdict.curve
    if curve is None or (len(curve.baseline_users) < 2 and len(levels) > 2):  # a line of one level is a line of few requests
        rate = rates[max(len(rates) - 2, 0)]
    else:
        rate = min(curve.low_load_rps_per_user, max(rates))  # with few levels the line's likely slope is above all of them
    greatest = max(level.figures.goodput_rps or 0.0 for level in levels)
    return greatest / max(rate, 1e-12), rates[-1] / max(rate, 1e-12)


def line_error(known: SearchInput) -> float:
    """Relative standard error of the open level's goodput, or of the low-load line if that is smaller."""
    curve, figures = known.verdict.curve, known.open.figures
    own = figures.goodput_se_rps / figures.goodput_rps if figures.goodput_se_rps is not None and figures.goodput_rps else 1.0
    return min(own, curve.low_load_se / curve.low_load_rps_per_user) if curve is not None else own


def is_straight(known: SearchInput) -> bool:
    """Whether the open level, the highest one, may well lie on the low-load line: within one standard error."""
    return low_load_line(known)[1] + line_error(known) >= STRAIGHT


def baseline_requests(known: SearchInput) -> int:
    """Requests of the levels from which the low-load line was fitted."""
    users = {round(each) for each in known.verdict.curve.baseline_users} if known.verdict.curve is not None else set()
    return sum(level.figures.requests for level in known.measured if level.users in users)


def collapsed_above(known: SearchInput) -> int | None:
    """Users of the level next above the greatest goodput if goodput collapsed there without a plateau; None otherwise."""
    levels = sorted(known.measured, key=lambda level: level.users)
    best = max(levels, key=lambda level: level.figures.goodput_rps or 0.0)
    above = [level for level in levels if level.users > best.users]
    crossing, _ = low_load_line(known)
    if not above or crossing < ON_LINE * best.users:
        return None
    fallen = all(_surely_less(level.figures, best.figures) for level in above)
    return above[0].users if fallen else None


def _surely_less(figures: LevelFigures, than: LevelFigures) -> bool:
    goodput, most = figures.goodput_rps or 0.0, than.goodput_rps or 0.0
    error = math.hypot(figures.goodput_se_rps or 0.0, than.goodput_se_rps or 0.0)
    return goodput < PLATEAU_LEAST * most and goodput + 2 * error < most


def fails(known: SearchInput, more: float = FAILURES_MORE) -> bool:
    """Whether the failure ratio of the latest seconds is `more` above that of the lowest level."""
    return _more_failures(known, known.latest_failures, known.latest_requests) >= more


def _more_failures(known: SearchInput, failures: int, requests: int) -> float:
    """Failure ratio above that of the lowest level; 0 with fewer than FAILURES_LEAST failures."""
    if failures < FAILURES_LEAST or len(known.levels) < 2:
        return 0.0
    lowest = min(known.measured, key=lambda level: level.users, default=known.levels[0])
    return failures / requests - (lowest.figures.failure_ratio or 0.0)


def small_steps_why(known: SearchInput) -> Literal["generator", "failures"] | None:
    """Why steps above the open level must be smaller; None: they need not be."""
    if known.generator_saturated:
        return "generator"
    figures = known.open.figures
    return "failures" if _more_failures(known, figures.failures, figures.requests) >= FAILURES_MORE else None


def ports_last_s(known: SearchInput) -> float:
    """Seconds until all ports are used; infinite while most are free, because ports in TIME_WAIT become free within a minute."""
    if known.exhausted_in_s is None or known.ports_used_ratio < PORTS_USED_LEAST:
        return math.inf
    return known.exhausted_in_s


# -- level end -----------------------------------------------------------------------------------------------------------------
# How long levels last: when a search ends the open one, and how long that or a proposed one will take. Pure.


LEAST_S = 6.0
MOST_S = 18.0
"""Minimum and maximum settled seconds of a level (docs/knee.md). Six seconds give six batches."""

RETREAT_S = 3.0
"""Settled seconds without failures after which the service counts as recovered on a level that was retreated to."""

RESPONSE_MOST_S, STRETCH_MOST = 3.0, 5.0
"""The least mean response up to which levels last as long as said here, so that LEAST_S has two responses, and MOST_S six; of a
service that takes longer they last longer in proportion, up to this factor. Of 30 sessions of services with replies of 4 to 15 s
(validation seeds) 13 of 14 due knees were found instead of 5, none was false instead of 3, intervals were a quarter as wide."""

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


def stretch_of(levels: Iterable[LevelFigures]) -> float:
    """How much longer levels last, by those that have run so far, in their order."""
    return min(STRETCH_MOST, max(1.0, (least_response_s(levels) or 0.0) / RESPONSE_MOST_S))


def may_end(known: SearchInput, stage: Why, top: int) -> bool:
    """Whether the open level's figures are precise enough. `stage`: the reason for which the level was opened.
    `top`: users of the highest level that was not left at once.
    """
    descending = stage == "retreat"
    figures = known.open.figures
    seconds = figures.settled_seconds / known.stretch
    if not figures.settled:
        return known.open_s >= UNSETTLED_MOST_S
    if not figures.requests and not descending:
        return figures.settled_seconds >= MOST_S * STRETCH_MOST  # replies may take as long
    if descending and fails(known):
        return seconds >= MOST_S
    if descending:
        return seconds >= RETREAT_S
    if seconds < LEAST_S:
        return False
    if seconds >= MOST_S or precise(figures):
        return True
    return (small_steps_why(known) is not None and _is_steady(figures)) or _lies_on_line(known, top)


def _is_steady(figures: LevelFigures) -> bool:
    """Whether goodput varies little between seconds. A queue that fills up gives good seconds first and failing ones later."""
    return (figures.goodput_se_rps or 0.0) <= UNSTEADY * (figures.goodput_rps or 0.0)


def _lies_on_line(known: SearchInput, top: int) -> bool:
    """Whether this level is above all earlier ones and lies on the low-load line, with enough requests to decide that."""
    figures = known.open.figures
    if figures.goodput_rps is None or not is_straight(known) or known.open.users < top:
        return False
    return figures.requests >= STRAIGHT_REQUESTS or figures.settled_seconds >= STRAIGHT_S * known.stretch


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
    stretch = known.stretch if known is not None else 1.0
    match proposal:
        case GoTo(users, why, figures, opens_new_level):
            least_s, most_s = _of_verification(proposal) or lengths(why)
            before_s = settling_s if most_s else 0.0
            seconds = _rounded(least_s * stretch + before_s), _rounded(most_s * stretch + before_s)
            return GoTo(users, why, figures, opens_new_level, *seconds)
        case Hold("measuring" as why) if known is not None:
            least_s, most_s = (stage and _of_verification(stage)) or lengths(opened_for or "first", known.open.figures)
            passed_s = known.open.figures.settled_seconds
            return Hold(why, _rounded(least_s * stretch - passed_s), _rounded(most_s * stretch - passed_s), opened_for)
        case Hold("settling" as why):
            least_s, most_s = (stage and _of_verification(stage)) or lengths(opened_for or "first")
            left_s = max(settling_s - (known.open_s if known is not None else 0.0), 0.0)
            return Hold(why, _rounded(left_s + least_s * stretch), _rounded(left_s + most_s * stretch), opened_for)
    return proposal


def _rounded(seconds: float) -> float:
    return round(max(seconds, 0.0), 1)


def _of_verification(step: GoTo) -> tuple[float, float] | None:
    least_s, most_s = step.figures.get("least_s"), step.figures.get("most_s")
    return (least_s, most_s) if isinstance(least_s, float | int) and isinstance(most_s, float | int) else None
