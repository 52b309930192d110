"""The autopilot's input, and quantities derived from it: linearity, precision, failures, free ports. Pure; decides nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..model.figures import LevelFigures
from ..model.verdicts import CapacityVerdict

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


@dataclass(frozen=True, slots=True)
class InputLevel:
    """A level, reduced to what the autopilot needs."""

    users: int
    figures: LevelFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchInput:
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
    def lowest(self) -> int:
        """Users of the lowest level; 1 before there is any."""
        return min((level.users for level in self.levels if level.users), default=1)


def precise(figures: LevelFigures) -> bool:
    """Whether goodput and latency are precise enough for a level to end (docs/knee.md)."""
    goodput, latency = figures.goodput_rps, figures.latency_ms.mean
    if not goodput or figures.goodput_se_rps is None or not latency or figures.latency_se_ms is None:
        return False
    return figures.goodput_se_rps <= GOODPUT_ERROR * goodput and figures.latency_se_ms <= LATENCY_ERROR * latency


def low_load_line(known: SearchInput) -> tuple[float, float]:
    """(users at which the low-load line reaches the greatest goodput so far, efficiency of the top level)."""
    levels = sorted(known.measured, key=lambda level: level.users)
    rates = [(level.figures.goodput_rps or 0.0) / level.users for level in levels]
    curve = known.verdict.curve
    if curve is None or (len(curve.baseline_users) < 2 and len(levels) > 2):  # a line of one level is a line of few requests
        rate = rates[max(len(rates) - 2, 0)]
    else:
        rate = curve.low_load_rps_per_user
    greatest = max(level.figures.goodput_rps or 0.0 for level in levels)
    return greatest / max(rate, 1e-12), rates[-1] / max(rate, 1e-12)


def line_error(known: SearchInput) -> float:
    """Relative standard error of the open level's goodput, or of the low-load line if that is smaller."""
    curve, figures = known.verdict.curve, known.open.figures
    own = figures.goodput_se_rps / figures.goodput_rps if figures.goodput_se_rps is not None and figures.goodput_rps else 1.0
    return min(own, curve.low_load_se / curve.low_load_rps_per_user) if curve is not None else own


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
