"""The difference of one figure between two sessions, and whether it is significant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from ...model.figures import LevelFigures
from ...model.stages import TABLED, qualified
from ...wording import quantities
from .estimates import DEGREES_MOST, FALSE_MOST, MISSING, Estimate, estimate, probability, recorded, threshold, welch

# -- figures -------------------------------------------------------------------------------------------------------------------
# The compared figures: their names, units, and which direction is better.


class Figure(msgspec.Struct, frozen=True):
    """One column of a level."""

    name: str
    title: str
    unit: str
    better: Literal[-1, 0, 1]
    """1: higher is better; -1: lower is better; 0: neither."""


LEVEL_FIGURES = (
    Figure("goodput", "goodput", "/s", 1),
    Figure("throughput", "throughput", "/s", 0),
    Figure("mean", "mean", "ms", -1),
    Figure("p50", "p50", "ms", -1),
    Figure("p95", "p95", "ms", -1),
    Figure("p99", "p99", "ms", -1),
    Figure("failure_ratio", "failed", "%", -1),
    Figure("target_cpu", "target CPU", "cores", 0),
)
"""Throughput includes failures, so more of it may be worse and it has no better direction."""

STAGE_FIGURES = tuple(
    Figure(qualified(stage, name), f"{stage} {name}", "ms", -1) for stage in TABLED for name in ("p50", "p95", "p99")
)
"""Further latencies, of sessions whose replies are streams."""

KNEE_FIGURES = (Figure("knee", "knee", "users", 1), Figure("capacity", "capacity", "/s", 1))

SERVICE_TIME = Figure("service_time", "service time", "ms", -1)
"""A figure of the whole curve only (`across_levels.service_time_change`)."""

FIGURES = {figure.name: figure for figure in (*LEVEL_FIGURES, *STAGE_FIGURES, *KNEE_FIGURES, SERVICE_TIME)}

LATENCIES = ("mean", "p50", "p95", "p99", *(figure.name for figure in STAGE_FIGURES))

STAGE_P95S = tuple(qualified(stage, "p95") for stage in TABLED)

HEADLINE_LATENCIES = ("p95", "mean", "p50")
"""Latencies of which a verdict names the first that differs, in this order."""

CLAIMED_FIGURES = ("goodput", "failure_ratio", "mean", "p95", *STAGE_P95S)
"""Figures of a user count that are tested for the verdict. p50 is shown but not tested, since it changes with the mean."""

CLAIMED_LATENCIES = ("mean", "p95", *STAGE_P95S)
"""Latencies that are tested over all user counts below the limit."""

CLAIMED_RATE_FIGURES = ("goodput", "failure_ratio", "p95")
"""Figures of an offered rate that are tested for the verdict."""


INTERVAL_OUTSIDE = 0.1
"""Share of true changes outside the interval of a change: brackets hold a 90% interval."""

LEAST_RATIO = 0.02
"""Share of the first value that a difference must exceed in addition to its noise: smaller ones have no practical importance."""

RUN_TO_RUN = {
    "goodput": 0.01,
    "throughput": 0.01,
    "mean": 0.02,
    "p50": 0.02,
    "p95": 0.03,
    "p99": 0.05,
    "target_cpu": 0.03,
    "capacity": 0.02,
    "service_time": 0.015,
    **{qualified(stage, name): spread for stage in TABLED for name, spread in (("p50", 0.02), ("p95", 0.03), ("p99", 0.05))},
}
"""Relative standard deviation of a figure between runs of an unchanged service, in addition to the variation within a run: memory
layout, CPU frequency, other processes. The seconds of a single run cannot show it (docs/compare.md).
"""

CLIENT_UNDER_LOAD = 4.0
"""Multiple of its overhead that a client may cost under load, since the overhead is measured with one request at a time. HttpUser
against FastHttpUser cost 2.2 times, with 20 users on 2 busy cores and the same server."""

Judgement = Literal["beyond", "within", "unknown", "client", "partly_client", "neighbours", "not_measured"]
"""`client`: the client classes' overhead explains it; `partly_client`: it may, under load. `neighbours`: it exceeds its noise,
but other processes used the machine. None of these counts as the target's. `unknown`: no standard error on one side or both."""


class Difference(msgspec.Struct, frozen=True):
    """The difference of `after` from `before`."""

    figure: str
    before: Estimate
    after: Estimate
    judgement: Judgement
    overhead_change_ms: float | None = None
    """Difference of the client overheads; only if client classes differ."""
    claimed: bool = False
    """Whether the verdict claims it: it is significant among all tests of the comparison (`pairing`)."""
    isolated: bool = False
    """Whether it is significant among all single user counts but not confirmed by adjacent counts, so that it should be
    repeated."""
    at_least: Literal["before", "after"] | None = None
    """The side whose maximum was not reached, so that its true value is at least this one."""

    @property
    def change(self) -> float | None:
        """`after` - `before` in the figure's unit; None if one was not measured."""
        if self.before.value is None or self.after.value is None:
            return None
        return self.after.value - self.before.value

    @property
    def ratio(self) -> float | None:
        """The change relative to `before`; None if that is not measured or zero (0 to 0 is no change)."""
        change = self.change
        if change is None:
            return None
        if not self.before.value:
            return 0.0 if change == 0 else None
        return change / abs(self.before.value)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 90% interval of `ratio`, symmetrical on a logarithmic scale; None: noise unknown, or a value is zero."""
        before, after = self.before, self.after
        if before.se is None or after.se is None or not before.value or not after.value:
            return None
        run = math.sqrt(2) * RUN_TO_RUN.get(self.figure, 0.0)
        own = [(one.se / one.value, one.degrees) for one in (before, after) if one.se is not None and one.value]
        se, degrees = welch(*own, (run, DEGREES_MOST))
        half, moved = se * threshold(degrees, INTERVAL_OUTSIDE), math.log(after.value / before.value)
        return math.expm1(moved - half), math.expm1(moved + half)

    @property
    def noise(self) -> float | None:
        """Threshold that a difference must exceed, in the figure's unit; None: unknown."""
        error = _error(self.figure, self.before, self.after)
        return None if error is None else error[0] * threshold(error[1])

    @property
    def p(self) -> float | None:
        """p-value: the probability of a change at least as large if nothing differs; None: noise unknown, or not measured."""
        error = _error(self.figure, self.before, self.after)
        return None if error is None or self.change is None else probability(self.change, *error)

    @property
    def counts(self) -> bool:
        """Whether it exceeds its noise and is not caused by the client."""
        return self.judgement == "beyond"

    @property
    def better(self) -> bool | None:
        """Whether `after` is better; None if it is not significant or the figure has no better direction."""
        side = FIGURES[self.figure].better
        return (self.change or 0.0) * side > 0 if self.counts and side else None


def difference(figure: str, before: Estimate | None, after: Estimate | None) -> Difference:
    """The difference of two estimates, of which None is one that was not measured."""
    ours, theirs = before or MISSING, after or MISSING
    if ours.value is None or theirs.value is None:
        return Difference(figure, ours, theirs, "not_measured")
    change = theirs.value - ours.value
    return Difference(figure, ours, theirs, _judged(figure, change, ours, theirs))


def overhead_difference(figure: str, before: Estimate, after: Estimate, overhead_change_ms: float | None) -> Difference:
    """The difference of a latency under two client classes: the difference of their overheads is subtracted, and the rest must be
    significant.

    If nothing is left after subtracting it CLIENT_UNDER_LOAD times, the client may explain a part of it (`partly_client`).
    Overheads that were not measured give `unknown`.
    """
    plain = difference(figure, before, after)
    if not plain.counts:
        return replace(plain, overhead_change_ms=overhead_change_ms)
    if overhead_change_ms is None:
        return replace(plain, judgement="unknown")
    change = plain.change or 0.0

    def is_left(times: float) -> bool:
        left = change - times * overhead_change_ms
        return left * change > 0 and _judged(figure, left, before, after) == "beyond"

    judgement: Judgement = "client" if not is_left(1) else "beyond" if is_left(CLIENT_UNDER_LOAD) else "partly_client"
    return Difference(figure, before, after, judgement, overhead_change_ms)


def _judged(figure: str, change: float, before: Estimate, after: Estimate) -> Judgement:
    error = _error(figure, before, after)
    if error is None:
        return "unknown"
    counts = probability(change, *error) < FALSE_MOST and abs(change) > LEAST_RATIO * abs(before.value or 0.0)
    return "beyond" if counts else "within"


def _error(figure: str, before: Estimate, after: Estimate) -> tuple[float, float] | None:
    """(standard error of the difference, degrees of freedom) from the variation within both runs and between runs; None:
    unknown.
    """
    if before.se is None or after.se is None:
        return None
    run = RUN_TO_RUN.get(figure, 0.0) * math.hypot(before.value or 0.0, after.value or 0.0)
    return welch((before.se, before.degrees), (after.se, after.degrees), (run, DEGREES_MOST))


# -- at load -------------------------------------------------------------------------------------------------------------------
# Compares a level with one of the same load in another session, in a few words, for a screen that shows it during the level.
#
# This is less precise than a comparison of sessions: the noise of percentiles is unknown, since the histograms of single seconds
# are not available.


_NAMES = ("goodput", "p95")


def differences(before: Mapping[str, Estimate], after: LevelFigures) -> str:
    """`goodput 61.2 → 59.0/s (−4%, within noise), p95 210 → 235 ms (about +12%)`. "about": the noise is not known."""
    ours = estimates(after)
    found = (difference(name, before.get(name), ours[name]) for name in _NAMES)
    return ", ".join(_sentence(each) for each in found if each.judgement != "not_measured") or "nothing to compare"


def estimates(figures: LevelFigures) -> dict[str, Estimate]:
    """The goodput and p95 of one level; at an offered rate, those of iterations and of the time from plan."""
    offered, seconds = figures.offered, figures.settled_seconds
    found = figures.goodput_rps, figures.goodput_se_rps, figures.latency_ms.p95
    if offered is not None:
        found = offered.finished_per_s, offered.finished_se_per_s, offered.from_plan_ms.p95
    goodput, se, p95 = found
    return {"goodput": estimate(goodput, recorded(se), seconds), "p95": Estimate(p95, None, seconds)}


def _sentence(one: Difference) -> str:
    pair = (one.before.value, one.after.value)
    words = f"{one.figure} {quantities.rates(pair) if one.figure == 'goodput' else quantities.latencies(pair)}"
    if one.ratio is None:
        return words
    ratio = f"{one.ratio:+.0%}".replace("-", "−")
    about, noise = "about " * (one.judgement == "unknown"), ", within noise" * (one.judgement == "within")
    return f"{words} ({about}{ratio}{noise})"
