"""One function per kind of verdict, with its interval, limit and evidence: knee, at or below the lowest level, bend, no knee.

`detector` decides which of them a ladder gets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import Confidence, KneeEvidence, KneeVerdict, Missing, Peak, Verification, VerificationStepName
from ..ladder import CYCLES_LEAST, LadderLevel, Little
from ..statistics import BEYOND, MOSTLY, NOTABLE, SURE_ERRORS, chi_square, upper_median
from .knee_lines import LEVELS_LEAST, REACHED_LEAST, REPLIED_LEAST, KneeLines
from .limit import Figures, limit_of, may_be_generator
from .verification import verify

# -- The confidence in a knee (docs/knee.md, section 9): by the width of its interval. Where Little's law does not hold, users or
# requests are missing from the figures, and confidence is low.

HIGH_MOST, MEDIUM_MOST = 0.08, 0.12
"""Half-width of the interval up to which confidence is high, and medium: so that 95% and 85% of such knees are within 10% of the
truth. Where goodput falls beyond the knee it is medium at most: of such services under the autopilot intervals hold N* in 77%."""
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


def confidence_of(half_width: float, *, falls: bool) -> Confidence:
    """The confidence in a knee without doubts. `half_width`: of its interval, as a share of N*; `falls`: goodput falls beyond."""
    if half_width > MEDIUM_MOST:
        return "low"
    return "medium" if falls or half_width > HIGH_MOST else "high"


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

HIGHER_RATIO = 1.5
"""The next level to try while the curve does not bend has this many times the most users so far."""

BASELINE_LEVELS, BASELINE_SHARE = 3, 0.8
"""A bend, and a knee at or below the lowest level, need so many levels of at most this share of the users there."""

SAME_LEVEL = 0.1
"""Relative distance within which the level that would narrow the interval most is one that was measured: it should be longer."""

Advice = tuple[Missing, ...]


def missing(lines: KneeLines | None, levels: int, knee: KneeVerdict | None) -> Advice:
    """Further levels, the most useful first; empty if none would help. `levels`: the number of user counts; `lines`: None without
    goodput.
    """
    if levels < LEVELS_LEAST or lines is None:
        return (Missing(kind="levels", count=max(1, LEVELS_LEAST - levels)),)
    ladder = lines.ladder
    if knee is None:
        return (Missing(kind="higher_levels", users_above=ladder[-1].users * HIGHER_RATIO),)
    match knee.kind:
        case "no_knee":
            return (Missing(kind="higher_levels", users_above=ladder[-1].users * HIGHER_RATIO),)
        case "at_or_below":
            return _lower(BASELINE_LEVELS, BASELINE_SHARE * ladder[0].users)
        case "bend":
            return (*_under(lines), Missing(kind="higher_levels", count=2, users_above=ladder[-1].users))
        case _ if (knee.evidence.half_width_ratio or 0.0) > HIGH_MOST:
            return (_at_telling_users(lines),)
    steps = knee.verification.open_steps if knee.verification is not None else ()
    return tuple(
        Missing(kind=step.name, seconds=step.least_s, users_below=float(step.users), users_above=float(step.users))
        for step in steps
    )


def _at_telling_users(lines: KneeLines) -> Missing:
    """The level that would narrow the interval most."""
    users, measured = lines.telling_users, [level.users for level in lines.ladder]
    if any(abs(each - users) <= SAME_LEVEL * each for each in measured):
        return Missing(kind="longer_levels")
    if users > measured[-1]:
        return Missing(kind="higher_levels", users_above=measured[-1])
    if users < measured[0]:
        return Missing(kind="lower_levels", users_below=measured[0])
    above = next(index for index, each in enumerate(measured) if each > users)
    return Missing(kind="between_levels", users_above=measured[above - 1], users_below=measured[above])


def _under(lines: KneeLines) -> Advice:
    bound = BASELINE_SHARE * lines.users
    measured = sum(level.users <= bound for level in lines.ladder)
    return _lower(min(BASELINE_LEVELS, int(bound)) - measured, bound)


def _lower(count: int, bound: float) -> Advice:
    """So many levels of at most `bound` users: no more than there are whole numbers, and none below one user."""
    count = min(count, int(bound))
    return (Missing(kind="lower_levels", count=count, users_below=bound),) if count > 0 else ()


def peak_of(lines: KneeLines) -> Peak | None:
    """The greatest goodput, if that at the most users is surely below it and the capacity; else None. Of 192 simulated services
    whose goodput falls this finds 42, with one of 230 others.
    """
    curve, capacity_rps = lines.curve, lines.capacity_rps
    best = int((curve.goodput - curve.selection_bias).argmax())
    fall = min(capacity_rps, float(curve.goodput[best])) - float(curve.goodput[-1])
    share = 1 - float(curve.goodput[best:].min() / curve.goodput[best])
    surely = fall > SURE_ERRORS * math.hypot(lines.knees.capacity_error * capacity_rps, float(curve.error[-1]))
    if not surely or share < NOTABLE:
        return None
    return Peak(
        users=float(curve.users[best]),
        goodput_rps=float(curve.goodput[best]),
        shape="collapse" if share > MOSTLY else "retrograde",
        fall_ratio=share,
    )


def unevenness(lines: KneeLines) -> float:
    """Standard deviation of goodput among levels from N* on, beyond their own errors, as a share of its mean; 0 if it may be
    chance (chi-square test at 5%). A service that refuses requests accepts a number that varies from level to level: where
    arrivals come in bursts, part of a rate limiter's allowance stays unused (docs/knee.md, section 6).
    """
    curve = lines.curve
    beyond = curve.users >= lines.users
    freedom = int(beyond.sum()) - 1
    if freedom < 1:
        return 0.0
    variance, noise = float(curve.goodput[beyond].var(ddof=1)), float((curve.error[beyond] ** 2).mean())
    if freedom * variance <= noise * chi_square(freedom, ONE_SIDED_95):
        return 0.0
    return math.sqrt(variance - noise) / float(curve.goodput[beyond].mean())


SOFT_SLOPE = 0.1
"""A knee is soft if the slope beyond it, divided by lambda0, is significantly above this."""

WIDE_RATIO = 2.0
""""No knee" has more than low confidence only if the most users are at least this many times the fewest."""


Checks = tuple[Sequence[LadderLevel], Sequence[LadderLevel]]
"""Levels that may verify a knee, as `verification.verify` takes them: all that can be judged, and those that feed the fit."""


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict states of its epoch that the judged levels do not show."""

    epoch: int = 0
    since_s: float | None = None
    until_s: float | None = None
    """Between which times the service was that of these levels; None: from the start, or to the end of the epoch."""
    levels_lacking: int = 0
    """How many user counts a verdict on the service as it is now still needs: it has changed, so no knee can be verified."""
    return_users: float | None = None
    """A return to so many users would show whether load made goodput fall; None: the reason is known."""


NOTHING_ELSE = Circumstances()
"""No more is known than the levels."""


def knee(lines: KneeLines, known: Circumstances, checks: Checks) -> KneeVerdict:
    """The knee, or "at or below"."""
    ladder, curve, users = lines.ladder, lines.curve, lines.users
    limit, evidence = limit_of(lines)
    peak = peak_of(lines)
    refuses = limit == "errors" and (evidence.get("failures_refused_ratio") or 0.0) >= REPLIED_LEAST and peak is None
    low, high = lines.knees.blurred(unevenness(lines) if refuses else 0.0).interval
    lowest_users = ladder[0].users
    below = users <= BEYOND * lowest_users
    half_width = (high - low) / 2 / users
    grade = confidence_of(half_width, falls=peak is not None)
    counted: Figures = {
        "levels_below": int((curve.users <= BASELINE_SHARE * users).sum()),
        "levels_beyond": int((curve.users >= BEYOND * users).sum()),
        "half_width_ratio": half_width,
    }
    return _verdict(
        lines,
        known,
        "low" if below else grade,
        {**evidence, **counted},
        verify(*checks, users, limit) if checks[0] and not below else None,
        kind="at_or_below" if below else "knee",
        users=lowest_users if below else users,
        users_low=None if below else low,
        users_high=max(high, lowest_users) if below else high,
        capacity_rps=lines.capacity_rps,
        capacity_tokens_per_s=lines.capacity_tokens_per_s,
        peak=peak,
        limit=limit,
        soft=peak is None and lines.rises_beyond(SOFT_SLOPE),
    )


def bend(lines: KneeLines, known: Circumstances, *, disputed: bool) -> KneeVerdict:
    """A bend, at the last level below the likely knee. A knee found later cannot lie below greatest goodput / lambda0.

    `disputed`: a load had less goodput on its return, so that no knee is proven.
    """
    ladder, last, baseline = lines.ladder, lines.last_below, lines.baseline
    doubtful = may_be_generator(list(ladder[last + 1 :]), baseline)
    not_below = float(lines.curve.goodput.max() / lines.knees.rps_per_user)
    return _verdict(
        lines,
        known,
        "medium" if len(baseline) > 1 and not doubtful else "low",
        {"knee_not_below_users": not_below, "return_agrees": False if disputed else None},
        kind="bend",
        users=ladder[last].users,
        users_low=ladder[max(last - 1, 0)].users,
        users_high=ladder[min(last + 1, len(ladder) - 1)].users,
        peak=peak_of(lines),
        limit="generator" if doubtful else None,
        soft=True,
    )


def no_knee(lines: KneeLines, known: Circumstances) -> KneeVerdict:
    """No knee up to the last level that N* is surely above; with more than low confidence only over a wide span."""
    ladder, last = lines.ladder, lines.last_below
    used = ladder[: last + 1]
    wide = used[-1].users >= WIDE_RATIO * used[0].users
    sure = wide and lines.knees.quantile(1 - REACHED_LEAST) >= used[-1].users
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
        within_limits=lines.is_limited,
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
