"""The knee detector: pooled levels in, typed verdicts out (docs/knee.md). Pure: the same levels always give the same verdict.

`judge` decides *whether* there is a knee, by the probabilities of `curve`, which also has its place and interval. `limit` finds
what limits it, `verdict_kinds` the confidence in it and which further levels would help. Little's law does not blame a generator
whose CPU was measured and idle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import CapacityVerdict, Confidence, CurveFit, KneeEvidence, KneeVerdict, Missing, Recovery, UslFit
from ..ladder import USERS_SAME, LadderLevel, expected_goodput, pooled
from ..statistics import FULL, RELEVANT
from . import verdict_kinds
from .knee_lines import KneeLines, overloaded_from
from .measured_curve import CapacityCurve, Floats
from .think_time import at_common_think_time
from .verdict_kinds import NOTHING_ELSE, Checks, Circumstances, missing

# -- The latency knee: the load from which mean latency stays raised, whether or not throughput has a knee (docs/knee.md, section
# 12).
#
# It is a mark of its own kind and not evidence of a knee: a threshold on latency finds throughput knees badly.

RISE = 1.5
"""Latency has risen above this many times R0, the mean latency at low load."""

LEVELS_IN_A_ROW = 2
"""Consecutive levels that must each be significantly above that."""

LEVELS_TOGETHER = 3
"""Enough as well: at least this many levels up to the top, each above it by its estimate, and significantly above it together.
Stalls can make every single level too uncertain."""

BASELINE_DIVISOR = 3
"""R0 is measured at the lowest third of the levels below N*: if throughput never bends, these are all."""


def latency_knee(lines: KneeLines, *, epoch: int = 0) -> KneeVerdict | None:
    """The first of two consecutive levels whose mean latency is significantly above 1.5 R0; None when there is none.

    Levels that saturated the generator are left out: it adds latency of its own (nginx under 20 users: 2.9 of 3.2 ms). So are
    those that other processes disturbed.
    """
    judged = (level for level in lines.ladder if not (level.generator_saturated or level.disturbed))
    known = [level for level in judged if level.latency_ms]  # 0 ms is no latency
    below = sum(level.users <= lines.users for level in lines.ladder)
    base = known[: max(2, math.ceil(below / BASELINE_DIVISOR))]
    if len(known) <= len(base):
        return None
    low_load_ms, low_load_error_ms = _mean(base)
    if not low_load_ms:  # underflowed to zero
        return None
    bound_ms, bound_error_ms = RISE * low_load_ms, RISE * low_load_error_ms
    risen = [_surely_above([level], bound_ms, bound_error_ms) for level in known]
    for index in range(1, len(known) - LEVELS_IN_A_ROW + 1):
        above = [(level.latency_ms or 0.0) > bound_ms for level in known[index:]]
        stays = len(above) >= LEVELS_TOGETHER and all(above) and _surely_above(known[index:], bound_ms, bound_error_ms)
        if stays or all(risen[index : index + LEVELS_IN_A_ROW]):
            sure = next((at for at in range(index, len(known)) if risen[at]), len(known) - 1)
            return _verdict(known, index, sure, low_load_ms, all(above), epoch)
    return None


def _verdict(known: list[LadderLevel], index: int, sure: int, low_load_ms: float, stays: bool, epoch: int) -> KneeVerdict:
    """`sure`: index of the first level that is significantly above 1.5 R0 by itself. `stays`: all later levels are above it."""
    level = known[index]
    confidence: Confidence = "low" if not stays else "medium" if level.ramp or index < 2 else "high"
    return KneeVerdict(
        kind="latency_knee",
        epoch=epoch,
        users=level.users,
        users_low=known[index - 1].users,
        users_high=known[sure].users,
        confidence=confidence,
        evidence=KneeEvidence(
            latency_ms=level.latency_ms or 0.0,
            low_load_latency_ms=low_load_ms,
            ratio=(level.latency_ms or 0.0) / low_load_ms,
        ),
    )


def _surely_above(levels: list[LadderLevel], bound_ms: float, bound_error_ms: float) -> bool:
    mean_ms, error_ms = _mean(levels)
    return mean_ms - ONE_SIDED_95 * math.hypot(error_ms, bound_error_ms) > bound_ms


def _mean(levels: list[LadderLevel]) -> tuple[float, float]:
    """Mean latency, weighted by inverse relative variance, and its standard error; ms."""
    known = [(level.latency_ms or 0.0, level.latency_error_ms or 1e-9) for level in levels]
    weights = [max(value / error, 1e-9) ** 2 for value, error in known]
    mean = math.fsum(w * value for w, (value, _) in zip(weights, known, strict=True)) / math.fsum(weights)
    return mean, mean / math.sqrt(math.fsum(weights))


# -- The Universal Scalability Law fitted to a curve: contention, coherency and the law's peak, which is not a knee.
#
# The peak is off by 1.5 N* in the median (docs/knee.md). N / X is linear in 1, N - 1 and N (N - 1), so the fit is one small
# least-squares problem (Gunther, Guerrilla Capacity Planning, chapter 5, weighted by relative error).

GOODPUT_SHARE_LEAST = 1e-6
"""Share of the greatest goodput at or below which levels are left out, since N / X would be near infinite."""

FIT_LEVELS_LEAST = 6
"""With fewer levels the fit is shown greyed out."""

FIT_LEAST = 0.9
"""R squared under which the law does not describe the curve (a collapse, a lack of ports)."""


def fit(curve: CapacityCurve, *, bent: bool) -> UslFit | None:
    """The fit over levels with goodput; None if there are fewer than three. `bent`: whether a bend was found."""
    has_goodput = curve.goodput > GOODPUT_SHARE_LEAST * curve.goodput.max()
    users, goodput, error = curve.users[has_goodput], curve.goodput[has_goodput], curve.error[has_goodput]
    if len(users) < 3:
        return None
    best = min(_candidates(users, goodput, error), key=lambda candidate: candidate[0], default=None)
    if best is None:
        return None
    _, (whole, contention, coherency) = best
    rate, sigma, kappa = 1 / whole, contention / whole, coherency / whole
    fitted = rate * users / (1 + sigma * (users - 1) + kappa * users * (users - 1))
    spread = float(((goodput - goodput.mean()) ** 2).sum())
    r_squared = 1 - float(((goodput - fitted) ** 2).sum()) / spread if spread > 0 else 0.0
    peak_users = math.sqrt((1 - sigma) / kappa) if kappa > 0 and sigma < 1 else None
    peak_rps = _law(peak_users, rate, sigma, kappa) if peak_users is not None else rate / sigma if sigma > 0 else None
    return UslFit(
        lambda_rps=rate,
        sigma=sigma,
        kappa=kappa,
        peak_users=peak_users,
        peak_rps=peak_rps,
        r_squared=r_squared,
        unreliable_why=_unreliable_why(len(users), bent, r_squared),
    )


def _law(users: float, rate: float, sigma: float, kappa: float) -> float:
    return rate * users / (1 + sigma * (users - 1) + kappa * users * (users - 1))


def _unreliable_why(levels: int, bent: bool, r_squared: float) -> Literal["few_levels", "no_bend", "poor_fit"] | None:
    if levels < FIT_LEVELS_LEAST:
        return "few_levels"
    if not bent:
        return "no_bend"
    return "poor_fit" if r_squared < FIT_LEAST else None


def _candidates(users: Floats, goodput: Floats, error: Floats) -> list[tuple[float, tuple[float, float, float]]]:
    """(squared error, coefficients) for each choice of terms whose coefficients are all at least 0."""
    wanted = users / goodput
    weight = goodput / error / wanted  # 1 / standard error of N / X
    terms = np.stack([np.ones_like(users), users - 1, users * (users - 1)])
    found = []
    for with_sigma, with_kappa in itertools.product((True, False), repeat=2):
        chosen = [True, with_sigma, with_kappa]
        solved = np.linalg.lstsq((terms[chosen] * weight).T, wanted * weight, rcond=None)[0]
        coefficients = np.zeros(3)
        coefficients[chosen] = solved
        if coefficients[0] > 0 and coefficients.min() >= 0:
            missed = float((((coefficients @ terms) - wanted) ** 2 * weight**2).sum())
            found.append((missed, (float(coefficients[0]), float(coefficients[1]), float(coefficients[2]))))
    return found


# -- the verdict ---------------------------------------------------------------------------------------------------------------


def judge(
    levels: Sequence[LadderLevel],
    known: Circumstances = NOTHING_ELSE,
    *,
    checks: Checks = ((), ()),
    disputed: bool = False,
) -> CapacityVerdict:
    """The verdict on the capacity of one epoch. The caller leaves recovery levels out (`split`).

    `checks`: levels that may verify a knee; without them it stays provisional. `disputed`: on its return the first level's load
    had significantly less goodput than before, so no knee is proven.
    """
    lines = KneeLines.of([level.within_limits for level in levels])
    if lines is None:
        return CapacityVerdict(epoch=known.epoch, missing=_missing(None, len(pooled(levels)), None, known))
    knee = _knee(lines, known, checks, disputed) if lines.is_enough else None
    return CapacityVerdict(
        epoch=known.epoch,
        knee=knee,
        latency_knee=None if knee is None else latency_knee(lines, epoch=known.epoch),
        curve=_lines(lines, knee),
        missing=_missing(lines, len(lines.ladder), knee, known),
    )


def _knee(lines: KneeLines, known: Circumstances, checks: Checks, disputed: bool) -> KneeVerdict:
    if lines.has_knee and not disputed:
        return verdict_kinds.knee(lines, known, checks)
    if lines.has_bent:
        return verdict_kinds.bend(lines, known, disputed=disputed)
    return verdict_kinds.no_knee(lines, known)


def _missing(lines: KneeLines | None, levels: int, knee: KneeVerdict | None, known: Circumstances) -> tuple[Missing, ...]:
    """The further levels that would help, the most useful first."""
    lacking = known.levels_lacking if knee is not None else 0
    wanted = (Missing(kind="levels", count=lacking),) if lacking else missing(lines, levels, knee)
    if known.return_users is None:
        return wanted
    return (Missing(kind="return_to_clean", users_below=known.return_users), *wanted)


def _lines(lines: KneeLines, knee: KneeVerdict | None) -> CurveFit:
    knees, known = lines.knees, knee is not None and knee.capacity_rps is not None
    return CurveFit(
        low_load_rps_per_user=knees.rps_per_user,
        low_load_se=knees.rps_per_user_error,
        baseline_users=tuple(level.users for level in lines.baseline),
        capacity_rps=lines.capacity_rps if known else None,
        capacity_se_rps=knees.capacity_error * lines.capacity_rps if known else None,
        usl=fit(lines.curve, bent=knee is not None and knee.kind != "no_knee"),
    )


# -- Recovery from overload: which levels the fit does not use because of it, and whether the service recovered.
#
# A level is *recovery* if it has fewer users than the level before it, and that level was beyond the knee or bend known by then,
# or was recovery itself: backlogs, retries and cold caches last for a while (docs/knee.md, section 14). A level with fewer users
# than any before it still feeds the fit: no other level measures that load, and "at or below" advises to step down.

RETURN_TO = 0.6
"""Share of the greatest number of users up to which a later level is a return to low load (as `regime.RETURN_LEAST`)."""

RETURN_LOSS = 0.10
"""No knee is proven if on its return a load has lost significantly more than this share of its goodput: the service changed, or
has not recovered."""

RECOVERED_S = 5
"""Seconds over which goodput and latency are averaged."""

RECOVERED_WORK = 50
"""Finished requests that such an average needs, and the levels before. Fewer decide nothing: the error of a mean of ten
lognormal times is not known."""

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
    near = USERS_SAME * first.users
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
    seconds = RECOVERED_S
    if expected is not None and expected.goodput_rps:
        seconds = max(seconds, math.ceil(RECOVERED_WORK / expected.goodput_rps))
    if expected is None or not expected.goodput_rps or expected.requests < RECOVERED_WORK or len(goodput) < seconds:
        return Recovery(from_users=from_users, to_users=to_users, recovered=None)
    rate, expected_ms = expected.goodput_rps, expected.latency_ms
    rates, slow = np.asarray(goodput, float), np.asarray(latency_ms, float)
    latency_from: int | None = 0
    if expected_ms is not None:
        weights = np.nan_to_num(rates) + 1e-12
        means = _means(np.nan_to_num(slow) * weights, seconds) / _means(weights, seconds)
        latency_from = _true_from(means <= max(expected.latency_most_ms(seconds), expected_ms + _median(loop_lag_ms)))
    rates = _means(rates, seconds)
    goodput_from = _true_from((rates >= expected.goodput_least_rps(seconds)) & (rates <= expected.backlog_least * rate))
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


class _Before(msgspec.Struct, frozen=True):
    """The figures of a load before the overload, interpolated between its levels."""

    goodput_rps: float
    goodput_error_rps: float
    latency_ms: float | None
    """Mean; None: not measured."""
    latency_error_ms: float
    """Standard error of that mean."""
    seconds: float
    requests: float
    """Settled seconds and requests of such a level."""
    backlog_least: float
    """Goodput above this many times that of before is work from a backlog; infinite if there can be none."""

    def latency_most_ms(self, seconds: int) -> float:
        """The most that a mean over so many seconds is by chance, at (1 + RELEVANT) times the latency of before: at one user
        of a service with several endpoints these means vary by half."""
        error_ms = self.latency_error_ms * math.sqrt(1 + self.seconds / seconds)
        return (1 + RELEVANT) * (self.latency_ms or 0.0) + ONE_SIDED_95 * error_ms

    def goodput_least_rps(self, seconds: int) -> float:
        """The least that a mean over so many seconds is by chance, at FULL of the goodput of before."""
        error_rps = math.hypot(self.goodput_error_rps, math.sqrt(self.goodput_rps / seconds))
        return FULL * self.goodput_rps - ONE_SIDED_95 * error_rps


def _expected(before: Sequence[LadderLevel], users: float) -> _Before | None:
    """The figures at these users before the overload; None outside the measured range."""
    known = sorted(before, key=lambda level: level.users)
    if not known or users < FULL * known[0].users or users > known[-1].users:
        return None
    timed = [level for level in known if level.latency_ms is not None]

    def at(levels: Sequence[LadderLevel], values: Sequence[float]) -> float:
        return float(np.interp(users, [level.users for level in levels], values))

    return _Before(
        goodput_rps=at(known, [level.goodput_rps for level in known]),
        goodput_error_rps=at(known, [level.goodput_error_rps for level in known]),
        latency_ms=at(timed, [level.latency_ms or 0.0 for level in timed]) if timed else None,
        latency_error_ms=at(timed, [level.latency_error_ms or 0.0 for level in timed]) if timed else 0.0,
        seconds=at(known, [level.seconds or RECOVERED_S for level in known]),
        requests=at(known, [RECOVERED_WORK if level.requests is None else level.requests for level in known]),
        backlog_least=BACKLOG_GOODPUT if any(level.work_is_metric for level in known) else math.inf,
    )
