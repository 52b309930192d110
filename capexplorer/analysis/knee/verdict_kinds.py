"""One function per kind of verdict, with its interval, limit and evidence: knee, at or below the lowest level, bend, no knee.

`detector` decides which of them a ladder gets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import Confidence, KneeEvidence, KneeVerdict, Limit, Missing, Peak, Verification, VerificationStepName
from ..ladder import CYCLES_LEAST, LadderLevel, Little
from ..statistics import chi_square, upper_median
from .crossing import CapacityCurve, Crossing, Floats, interval, plateau_levels, scatter
from .curve_gates import BENT_MOST, LEVELS_LEAST, KneeLines
from .limit import FAILURES_MORE, REPLIED_LEAST, Figures, limit_of, may_be_generator
from .verification import verify

# -- Two other knee methods, which confirm a knee but never find one: broken-line regression and Kneedle.
#
# Both find knees in straight lines too, so they are used only after the gates. Both take the running maximum of goodput: a
# collapse counts as a plateau.

BREAKS = 200
"""Number of break points tried, evenly spaced in log users: 1-2% apart on usual ladders."""


def broken_line(curve: CapacityCurve) -> float:
    """Users at the break of G = rate min(N, break), the best fit by weighted least squares."""
    users, goodput = curve.users, np.maximum.accumulate(curve.goodput)
    weights = 1 / np.maximum(curve.error, 1e-9) ** 2
    breaks = np.geomspace(users[0], users[-1], BREAKS)[:, np.newaxis]
    under = np.minimum(users, breaks)
    rate = (weights * under * goodput).sum(1) / (weights * under**2).sum(1)
    missed: Floats = (weights * (goodput - rate[:, np.newaxis] * under) ** 2).sum(1)
    return float(breaks[int(missed.argmin()), 0])


def kneedle(curve: CapacityCurve) -> float | None:
    """Users at which the curve is farthest above its own chord (Satopaa et al. 2011, without smoothing); None if it never is."""
    users, goodput = curve.users, np.maximum.accumulate(curve.goodput)
    if users[-1] <= users[0] or goodput[-1] <= goodput[0]:
        return None
    above = (goodput - goodput[0]) / (goodput[-1] - goodput[0]) - (users - users[0]) / (users[-1] - users[0])
    best = int(above.argmax())
    return float(users[best]) if above[best] > 0 else None


# -- The confidence in a knee (docs/knee.md, section 9): seven conditions, counted. All met: high; one missing: medium; else low.
#
# Where Little's law does not hold, users or requests are missing from the figures, and confidence is low whatever conditions are
# met.


BASELINE_LEVELS = 3
BASELINE_SHARE = 0.8
"""At least so many levels of the low-load line, at or below this share of N*."""
BEYOND_LEVELS = 2
BEYOND_SHARE = 1.15
"""At least so many levels at or above this share of N*."""
PLATEAU_LEVELS = 2
"""At least so many levels on the plateau: if one level is high and the next, at twice the users, has collapsed, the capacity
between them was not measured."""
HALF_WIDTH_MOST = 0.17
"""Half-width of the interval of N*, as a share of N*."""
AGREE_MOST = 0.35
"""Relative distance within which a second method agrees (docs/knee.md, section 9)."""
LITTLE_MOST = 1.3
"""Users divided by those that responses and pauses account for: above this no verdict has more than low confidence."""
CLIENT_TIME_MOST_MS = 10.0
"""Time per request that the client and user code may spend outside responses and pauses: HttpUser takes 3 ms."""


Doubt = Literal["unaccounted", "disturbed", "contradicted"]
"""Why no verdict on these levels has more than low confidence, whatever conditions are met: by Little's law users or requests are
missing from the figures; other processes affected the low-load line itself; a later level contradicts the knee."""


def doubts(lines: KneeLines, little_ratio: float | None, verification: Verification | None) -> tuple[Doubt, ...]:
    """The doubts about a verdict. `little_ratio`: as in `KneeEvidence`, if it is known beyond the knee."""
    disturbed = sum(level.goodput_disturbed for level in lines.ladder)
    found: dict[Doubt, bool] = {
        "unaccounted": unaccounted(lines.ladder, little_ratio) is not None,
        "disturbed": 0 < disturbed and len(lines.ladder) - disturbed < LEVELS_LEAST,
        "contradicted": verification is not None and verification.state == "contradicted",
    }
    return tuple(doubt for doubt, holds in found.items() if holds)


def confidence_of(lines: KneeLines, found: Crossing, limit: Limit, half_width_ratio: float) -> tuple[Confidence, Figures]:
    """The confidence in a knee without doubts, and the figures that it is computed from: high if every condition is met, medium
    if one is missing, else low. A ramp gives medium at most. Only for curves that passed the gates: the second methods have none.
    """
    curve = lines.curve
    second_users = broken_line(curve)
    other = kneedle(curve)
    if other is not None and abs(other - found.users) < abs(second_users - found.users):
        second_users = other
    baseline_levels = int((curve.users[found.slower : found.linear] <= BASELINE_SHARE * found.users).sum())
    beyond_levels = int((curve.users >= BEYOND_SHARE * found.users).sum())
    unmet = sum(
        (
            baseline_levels < BASELINE_LEVELS,
            baseline_levels < 2,  # a lone level may itself be saturated: counts twice
            beyond_levels < BEYOND_LEVELS,
            int(plateau_levels(curve, curve.goodput).sum()) < PLATEAU_LEVELS,
            half_width_ratio >= HALF_WIDTH_MOST,
            limit == "unknown",
            abs(second_users - found.users) > AGREE_MOST * found.users,
        )
    )
    is_ramp = any(level.ramp for level in lines.ladder)
    grade: Confidence = "low" if unmet > 1 else "medium" if unmet or is_ramp else "high"
    return grade, {
        "levels_below": baseline_levels,
        "levels_beyond": beyond_levels,
        "half_width_ratio": half_width_ratio,
        "second_detector_users": second_users,
    }


def unaccounted(ladder: Sequence[LadderLevel], little_ratio: float | None = None) -> float | None:
    """Users divided by those that responses and pauses account for, at the median level or beyond the knee (`little_ratio`), if
    that is above LITTLE_MOST; else None.
    """
    ratio = max(little_ratio or 1.0, unaccounted_ratio(ladder) or 1.0)
    return ratio if ratio > LITTLE_MOST else None


def unaccounted_ratio(ladder: Sequence[LadderLevel]) -> float | None:
    """N / (X (R + Z)) at the median level, Z the pauses that users chose and CLIENT_TIME_MOST_MS; None where not all pauses are
    known.
    """
    return upper_median(map(_little_ratio, ladder))


def _little_ratio(level: LadderLevel) -> float | None:
    if not level.throughput_rps or not level.response_s or level.wait_s is None or not level.wait_includes_sleeps:
        return None
    if level.requests is not None and level.requests < CYCLES_LEAST * level.users:
        return None
    pause_s = level.wait_s + CLIENT_TIME_MOST_MS / 1000
    return max(Little.of(level.users, level.throughput_rps, level.response_s, pause_s).ratio, 1.0)


# -- The further levels that would make a verdict more precise, as typed values, the most useful first. `wording` has the
# sentences.

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


# -- The greatest goodput, where goodput falls significantly after it.

PEAK_ERRORS = 2.5
"""Standard errors by which the last level must lie below the capacity."""

PEAK_ERRORS_BEFORE = 0.5
"""Standard errors by which the level before it must lie below the capacity too."""

PEAK_ERRORS_ALONE = 4.0
"""Standard errors by which the last level must lie under the capacity if the level before it does not."""

PEAK_FALL = 0.05
"""Share of the capacity by which the last level must lie under it: a smaller fall is not reported."""

COLLAPSE = 0.5
"""Share of goodput lost beyond which a fall is called a collapse."""


def peak_of(curve: CapacityCurve, found: Crossing) -> Peak | None:
    """The greatest goodput, if goodput falls significantly after it; else None.

    The last level is compared with the mean of the plateau, because the greatest of many equal levels is high by chance.
    """
    best, last = int(curve.goodput.argmax()), len(curve.goodput) - 1
    if best == last:
        return None
    falls = found.capacity - curve.goodput[best + 1 :]
    errors = np.hypot(found.capacity_error, curve.error[best + 1 :]) * scatter(curve, found)
    alone = falls[-1] > PEAK_ERRORS_ALONE * errors[-1]
    before = (
        best == last - 1 or falls[-2] + curve.selection_bias[-2] > PEAK_ERRORS_BEFORE * errors[-2]
    )  # a short bin is high by chance
    trend = falls[-1] > PEAK_ERRORS * errors[-1] and before
    if not (alone or trend) or falls[-1] < PEAK_FALL * found.capacity:
        return None
    share = 1 - float(curve.goodput[best + 1 :].min() / curve.goodput[best])
    return Peak(
        users=float(curve.users[best]),
        goodput_rps=float(curve.goodput[best]),
        shape="collapse" if share > COLLAPSE else "retrograde",
        fall_ratio=share,
    )


# -- N* (users at the knee) of a service that refuses requests and accepts a number that varies from level to level (docs/knee.md,
# section 6).
#
# Where arrivals come in bursts, part of a rate limiter's allowance stays unused. Goodput beyond the knee then differs from level
# to level, and is a lower bound of the limit: N* is not below the crossing. It is also not above the first level with refusals.
# The geometric mean of both is reported.

UNEVEN_LEAST = 0.05
"""Goodput beyond the knee is only a lower bound if it scatters by at least this share beyond its own errors: 0.15 was recorded
behind nginx with a small `burst`."""


def unevenness(curve: CapacityCurve, found: Crossing) -> float:
    """Standard deviation of goodput among levels from N* on, beyond their own errors, as a share of its mean; 0 if it may be
    chance (chi-square test at 5%).
    """
    beyond = curve.users >= found.users
    freedom = int(beyond.sum()) - 1
    if freedom < 1:
        return 0.0
    variance, noise = float(curve.goodput[beyond].var(ddof=1)), float((curve.error[beyond] ** 2).mean())
    if freedom * variance <= noise * chi_square(freedom, ONE_SIDED_95):
        return 0.0
    return math.sqrt(variance - noise) / float(curve.goodput[beyond].mean())


def raised_to_refusals(ladder: Sequence[LadderLevel], found: Crossing, uneven: float) -> Crossing:
    """The crossing, moved half of the way (in log users) to the first level with refusals if goodput is only a lower bound.

    The capacity is not raised above the upper bound of any level's goodput. Its error then includes `uneven`, the result of
    `unevenness`, as the interval of N* does.
    """
    first = next((level.users for level in ladder if (level.failure_ratio or 0.0) >= FAILURES_MORE), found.users)
    if uneven < UNEVEN_LEAST or first <= found.users:
        return found
    most_rps = max(level.goodput_rps + ONE_SIDED_95 * level.goodput_error_rps for level in ladder)
    factor = max(1.0, min(math.sqrt(first / found.users), most_rps / found.capacity))
    error = math.hypot(found.capacity_error, uneven * found.capacity)
    return replace(found, capacity=factor * found.capacity, capacity_error=factor * error)


AT_OR_BELOW = 1.15
"""A knee under this many times the users of the lowest level has no measured level below it: the verdict is "at or below"."""

SOFT_SLOPE = 0.1
"""A knee is soft if the slope beyond it, divided by lambda0, is significantly above this."""

LADDER_ERROR = 0.06
"""Structural error of N* (sigma of a lognormal factor): what the shape of real queues adds to sampling noise. On 1,200 ladders of
tuning seeds, 5% gave intervals that contain N* in 92%, 6% in 95%, 7% in 96%; on 600 noisy tables without errors 91, 93, 95%."""

AUTOPILOT_ERROR = 0.12
"""The same for the few short levels of an autopilot (docs/knee.md, section 6)."""

WIDE_RATIO = 2.0
""""No knee" has more than low confidence only if the most users are at least this many times the fewest."""


Checks = tuple[Sequence[LadderLevel], Sequence[LadderLevel]]
"""Levels that may verify a knee, as `verification.verify` takes them: all that can be judged, and those that feed the fit."""


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict states of its epoch that the judged levels do not show."""

    epoch: int = 0
    structural: float = LADDER_ERROR
    """Relative error of N* that levels cannot show, beside their noise."""
    since_s: float | None = None
    until_s: float | None = None
    """Between which times the service was that of these levels; None: from the start, or to the end of the epoch."""
    levels_lacking: int = 0
    """How many user counts a verdict on the service as it is now still needs: it has changed, so no knee can be verified."""
    return_users: float | None = None
    """A return to so many users would show whether load made goodput fall; None: the reason is known."""


NOTHING_ELSE = Circumstances()
"""No more is known than the levels."""


def knee(lines: KneeLines, known: Circumstances, checks: Checks) -> tuple[KneeVerdict, Crossing]:
    """The knee, or "at or below", and its crossing: that of the lines, or a higher one where refusals make goodput a lower
    bound.
    """
    ladder, curve, crossed = lines.ladder, lines.curve, lines.crossing
    limit, evidence = limit_of(ladder, crossed)
    peak = peak_of(curve, crossed)
    refuses = limit == "errors" and (evidence.get("failures_refused_ratio") or 0.0) >= REPLIED_LEAST and peak is None
    uneven = unevenness(curve, crossed) if refuses else 0.0
    found = raised_to_refusals(ladder, crossed, uneven)
    structural = math.hypot(known.structural, uneven)
    low, high = (end * found.users / crossed.users for end in interval(curve, crossed, structural))
    lowest_users = ladder[found.slower].users
    below = found.users <= AT_OR_BELOW * lowest_users
    grade, counted = confidence_of(lines, found, limit, (high - low) / 2 / found.users)
    verdict = _verdict(
        lines,
        known,
        "low" if below else grade,
        {**evidence, **counted},
        verify(*checks, found.users, limit) if checks[0] and not below else None,
        kind="at_or_below" if below else "knee",
        users=lowest_users if below else found.users,
        users_low=None if below else low,
        users_high=max(high, lowest_users) if below else high,
        capacity_rps=found.capacity,
        peak=peak,
        limit=limit,
        soft=peak is None and lines.gates.slope_low > SOFT_SLOPE,
    )
    return verdict, found


def at_or_below(lines: KneeLines, known: Circumstances, users: float) -> KneeVerdict:
    """The verdict on a ramp whose response times show saturation at `users` (`think_time`), while its goodput shows no knee
    below that.
    """
    limit, evidence = limit_of(lines.ladder, lines.crossing)
    capacity_rps = lines.crossing.capacity
    return _verdict(
        lines, known, "low", evidence, kind="at_or_below", users=users, users_high=users, capacity_rps=capacity_rps, limit=limit
    )


def bend(lines: KneeLines, known: Circumstances, *, disputed: bool) -> KneeVerdict:
    """A bend, at the last level on the low-load line. A knee found later cannot lie below greatest goodput / lambda0.

    `disputed`: a load had less goodput on its return, so that no knee is proven.
    """
    ladder, found, last, baseline = lines.ladder, lines.crossing, lines.last_on_line, lines.baseline
    doubtful = may_be_generator(list(ladder[last + 1 :]), baseline)
    is_bound = not found.slower or len(baseline) > 1  # a lone level after a warm-up may be near the capacity itself
    not_below = float(lines.curve.goodput.max() / found.rps_per_user) if is_bound else None
    return _verdict(
        lines,
        known,
        "medium" if lines.gates.surely_bent and len(baseline) > 1 and not doubtful else "low",
        {"knee_not_below_users": not_below, "return_agrees": False if disputed else None},
        kind="bend",
        users=ladder[last].users,
        users_low=ladder[max(last - 1, 0)].users,
        users_high=ladder[min(last + 1, len(ladder) - 1)].users,
        peak=peak_of(lines.curve, found),
        limit="generator" if doubtful else None,
        soft=True,
    )


def no_knee(lines: KneeLines, known: Circumstances) -> KneeVerdict:
    """No knee up to the last level on the low-load line; more than low confidence only over a wide span of users.

    Levels left out of the low-load line as slower show nothing of the service that the top level measured.
    """
    ladder, gates, last = lines.ladder, lines.gates, lines.last_on_line
    used = ladder[lines.crossing.slower : last + 1]
    wide = used[-1].users >= WIDE_RATIO * used[0].users
    sure = wide and 2 * gates.efficiency - gates.efficiency_high > BENT_MOST
    top_users = ladder[-1].users if last < len(ladder) - 1 else None
    grade: Confidence = "high" if sure and len(used) > LEVELS_LEAST else "medium" if sure else "low"
    return _verdict(lines, known, grade, {"top_users": top_users}, kind="no_knee", users=used[-1].users)


def _verdict(
    lines: KneeLines,
    known: Circumstances,
    grade: Confidence,
    evidence: Figures,
    verification: Verification | None = None,
    **stated: Any,
) -> KneeVerdict:
    """The verdict, from all that is known of it. `grade`: its confidence unless there are doubts; `stated`: its other fields."""
    little_ratio = evidence.get("little_ratio")
    agrees = {step.name: step.agrees for step in verification.steps} if verification is not None else {}
    checked = {name: agrees[step] for name, step in CHECKED.items() if step in agrees}
    return KneeVerdict(
        epoch=known.epoch,
        since_s=known.since_s,
        until_s=known.until_s,
        confidence="low" if doubts(lines, little_ratio, verification) else grade,
        provisional=verification is None or verification.state != "verified",
        verification=None if known.levels_lacking else verification,
        evidence=KneeEvidence(
            **{**lines.figures, **evidence, **checked, "unaccounted_ratio": unaccounted(lines.ladder, little_ratio)}
        ),
        **stated,
    )


CHECKED: dict[str, VerificationStepName] = {
    "soak_agrees": "soak", "beyond_agrees": "beyond", "return_agrees": "return_to_first",
}  # fmt: skip
"""Steps of a verification by the names of their results in the evidence."""
