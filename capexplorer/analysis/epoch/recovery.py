"""Recovery from overload: which levels the fit does not use because of it, and whether the service recovered.

A level is *recovery* if it has fewer users than the level before it, and that level was beyond the knee or bend known by then, or
was recovery itself: backlogs, retries and cold caches last for a while (docs/knee.md, section 14). A level with fewer users than
any before it still feeds the fit: no other level measures that load, and "at or below" advises to step down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import CapacityVerdict, Recovery
from ..knee.curve_gates import overloaded_from
from ..knee.detector import judge
from ..knee.think_time import at_common_think_time
from ..knee.verdict_kinds import NOTHING_ELSE, Circumstances
from ..ladder import LadderLevel
from .regime import expected_goodput

RETURN_USERS = 0.1
"""Relative distance from the first level's users within which a later level is a return to it."""

RETURN_TO = 0.6
"""Share of the greatest number of users up to which a later level is a return to low load (as `regime.RETURN_LEAST`)."""

RETURN_LOSS = 0.10
"""No knee is proven if on its return a load has lost significantly more than this share of its goodput: the service changed, or
has not recovered."""

RECOVERED_S = 5
"""Seconds over which goodput and latency are averaged."""

RECOVERED_WORK = 300
"""Finished requests that such an average needs: with 55, a steady service was sometimes under 90% of its mean (measured)."""

RECOVERED_GOODPUT = 0.90
RECOVERED_LATENCY = 1.25
"""The service has not recovered if goodput is below this share, or latency surely above this many times, of that at the same load
before (`_Before.latency_most_ms`). One bad second in five is allowed."""

MEASURED_USERS_LEAST = 0.9
"""The figures of the lowest level also serve loads down to this share of its users."""

BACKLOG_GOODPUT = 1.20
"""Where the target counts its own work: goodput above this many times that of before is still work from a backlog. A task queue
at 60 users finished 1.5 times as much as was sent. Users' own requests have no backlog: more of them are better than before."""


def split(levels: Sequence[LadderLevel]) -> tuple[tuple[LadderLevel, ...], tuple[LadderLevel, ...]]:
    """(levels that the fit uses, levels of recovery), of levels in the order they ran. Later levels never change an earlier one's
    class.
    """
    fit: list[LadderLevel] = []
    down: list[LadderLevel] = []
    before: LadderLevel | None = None
    for level in levels:
        recovering = bool(down) and down[-1] is before
        falls = before is not None and not level.ramp and round(level.users) < round(before.users)
        stays = before is not None and recovering and round(level.users) == round(before.users)
        covered = bool(fit) and level.users >= min(known.users for known in fit)
        if before is not None and covered and (stays or (falls and (recovering or _overloaded(fit, before)))):
            down.append(level)
        else:
            fit.append(level)
        before = level
    return tuple(fit), tuple(down)


def _overloaded(fit: list[LadderLevel], level: LadderLevel) -> bool:
    """Whether the level is beyond the knee or bend that the levels in `fit` show."""
    bound = overloaded_from(fit)
    return bound is not None and level.users > bound


def analyse(levels: Sequence[LadderLevel], known: Circumstances = NOTHING_ELSE) -> CapacityVerdict:
    """The verdict on one epoch's levels, given in the order they ran. Recovery levels are left out, and a knee is verified."""
    return verdict_on(split(levels)[0], levels, known)


def verdict_on(
    fit: Sequence[LadderLevel], levels: Sequence[LadderLevel], known: Circumstances, *, later: Sequence[LadderLevel] = ()
) -> CapacityVerdict:
    """As `analyse`, for levels that are already split: `fit` are those of them that the fit uses.

    `later`: levels of other regimes after them; the service may have changed at any time before these.
    """
    comparable = at_common_think_time(levels)
    by_level = dict(zip(levels, comparable, strict=True))
    free = [level for level in comparable if not level.disturbed]
    disputed = bool(levels) and _returned_with_less((*comparable, *later))
    return judge(fit, known, checks=(free, [by_level.get(level, level) for level in fit]), disputed=disputed)


def _returned_with_less(levels: Sequence[LadderLevel]) -> bool:
    """Whether the first level's load, or the latest load far below the greatest, has significantly less goodput on its return.

    Then the service changed, or has not recovered.
    """
    top = max(range(len(levels)), key=lambda index: levels[index].users)
    first, before, after = levels[0], levels[: top + 1], levels[top + 1 :] if top else ()
    near = RETURN_USERS * first.users
    backs = [level for level in after if abs(level.users - first.users) <= near]
    lower = [level for level in after if level.users <= RETURN_TO * levels[top].users]
    found = [(back, _scaled_to(first, back.users)) for back in backs[-1:]]
    found += [(level, expected) for level in lower[-1:] if (expected := expected_goodput(before, level.users)) is not None]
    return any(is_surely_less(level, *expected) for level, expected in found)


def _scaled_to(level: LadderLevel, users: float) -> tuple[float, float]:
    """(goodput of a level at a number of users near its own, its standard error)."""
    return level.goodput_rps * users / level.users, level.goodput_error_rps


def is_surely_less(level: LadderLevel, expected_rps: float, error: float) -> bool:
    """Whether a level has lost surely more than RETURN_LOSS of the goodput that is expected with this standard error."""
    less = expected_rps - level.goodput_rps
    return less - ONE_SIDED_95 * math.hypot(error, level.goodput_error_rps) > RETURN_LOSS * expected_rps


def recovery_of(
    before: Sequence[LadderLevel],
    from_users: float,
    to_users: float,
    goodput: Sequence[float],
    latency_ms: Sequence[float],
    loop_lag_ms: Sequence[float] = (),
) -> Recovery:
    """Whether a level of recovery reached the earlier figures of its load again.

    `before`: the levels that feed the fit. `goodput`, `latency_ms`: one value per second since the last surplus user stopped
    (NaN: no success in that second). `loop_lag_ms`: p99 in those seconds; latency may be higher by its median (a service at 3 ms
    instead of 2, with a lag of 11 ms, had recovered). `after_s` of the result is the first second from which each window of
    RECOVERED_S (longer if requests are few) has the figures that this load had before.
    """
    expected = _expected(before, to_users)
    if expected is None or not expected.goodput_rps or len(goodput) < RECOVERED_S:
        return Recovery(from_users=from_users, to_users=to_users, recovered=None)
    rate, expected_ms = expected.goodput_rps, expected.latency_ms
    rates, slow = np.asarray(goodput, float), np.asarray(latency_ms, float)
    latency_from: int | None = 0
    if expected_ms is not None:
        weights = np.nan_to_num(rates) + 1e-12
        means = _means(np.nan_to_num(slow) * weights, RECOVERED_S) / _means(weights, RECOVERED_S)
        latency_from = _true_from(means <= max(expected.latency_most_ms, expected_ms + _median(loop_lag_ms)))
    seconds = max(RECOVERED_S, math.ceil(RECOVERED_WORK / rate))
    if latency_from is not None and len(rates) < seconds:
        return Recovery(from_users=from_users, to_users=to_users, recovered=None)  # too early to compare goodput
    rates = _means(rates, min(seconds, len(rates)))
    goodput_from = _true_from((rates >= RECOVERED_GOODPUT * rate) & (rates <= expected.backlog_least * rate))
    recovered = latency_from is not None and goodput_from is not None
    after = max(latency_from or 0, goodput_from or 0)
    last = slow[-RECOVERED_S:]
    return Recovery(
        from_users=from_users,
        to_users=to_users,
        recovered=recovered,
        after_s=float(after) if recovered else None,
        goodput_ratio=float(rates[-1] / rate),
        latency_ratio=None if expected_ms is None or np.isnan(last).all() else float(np.nanmean(last) / expected_ms),
    )


def _median(values: Sequence[float]) -> float:
    """The median of the finite values; 0 if there are none."""
    known = [value for value in values if math.isfinite(value)]
    return median(known) if known else 0.0


def _means(values: NDArray[np.float64], seconds: int) -> NDArray[np.float64]:
    """Moving averages over so many values, one per start of a window."""
    return np.convolve(values, np.ones(seconds) / seconds, "valid")


def _true_from(back: NDArray[np.bool_]) -> int | None:
    """The first index from which all values are True; None if the last one is False."""
    away = np.flatnonzero(~back)
    after = 0 if not len(away) else int(away[-1]) + 1
    return after if after < len(back) else None


@dataclass(frozen=True, slots=True)
class _Before:
    """The figures of a load before the overload, interpolated between its levels."""

    goodput_rps: float
    latency_ms: float | None
    """Mean; None: not measured."""
    latency_error_ms: float
    """Standard error of the difference between that mean and one over RECOVERED_S seconds at this load: at one user of a service
    with several endpoints these means vary by half."""
    backlog_least: float
    """Goodput above this many times that of before is work from a backlog; infinite if there can be none."""

    @property
    def latency_most_ms(self) -> float:
        """The most that a mean over RECOVERED_S seconds is by chance, at RECOVERED_LATENCY times the latency of before."""
        return RECOVERED_LATENCY * (self.latency_ms or 0.0) + ONE_SIDED_95 * self.latency_error_ms


def _expected(before: Sequence[LadderLevel], users: float) -> _Before | None:
    """The figures at these users before the overload; None outside the measured range."""
    known = sorted(before, key=lambda level: level.users)
    if not known or users < MEASURED_USERS_LEAST * known[0].users or users > known[-1].users:
        return None
    timed = [(level.users, level.latency_ms, _of_windows_ms(level)) for level in known if level.latency_ms is not None]
    at = [each[0] for each in timed]
    return _Before(
        goodput_rps=float(np.interp(users, [level.users for level in known], [level.goodput_rps for level in known])),
        latency_ms=float(np.interp(users, at, [each[1] for each in timed])) if timed else None,
        latency_error_ms=float(np.interp(users, at, [each[2] for each in timed])) if timed else 0.0,
        backlog_least=BACKLOG_GOODPUT if any(level.work_is_metric for level in known) else math.inf,
    )


def _of_windows_ms(level: LadderLevel) -> float:
    """Standard error of the difference between a level's mean latency and that of RECOVERED_S seconds of it."""
    error_ms = level.latency_error_ms or 0.0
    return error_ms * math.sqrt(1 + (level.seconds or RECOVERED_S) / RECOVERED_S)
