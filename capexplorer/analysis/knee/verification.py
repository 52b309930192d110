"""Whether a knee is verified (docs/knee.md, section 10): levels measured after it was found must show the same curve again.

It takes three levels: a soak at about 70% of the knee, a level 20% beyond it, and a return to the first level, whether made by
hand, by a plan or by the autopilot. They are compared only with the levels that the knee was found in: no level confirms itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import Disagreement, Limit, Verification, VerificationStep, VerificationStepName
from ..causes.generator_saturation import LITTLE_MOST
from ..ladder import USERS_SAME, LadderLevel
from ..statistics import LOST_LEAST, RELEVANT, SURE_ERRORS
from .knee_lines import KneeLines
from .limit import LAG_LEAST, LITTLE_LOW_LEAST, little_ratio, work_lag

SOAK_SHARE = 0.7
SOAK_FROM, SOAK_TO = 0.6, 0.8
"""Shares of N*: the one at which a soak is proposed, and those between which a level counts as one."""

SOAK_LEAST_S, SOAK_MOST_S = 10.0, 40.0
"""Settled seconds of a soak: the least, and those after which it counts however imprecise it is. Leaks and pauses that take
longer to show do not concern the knee: they have marks of their own."""

BEYOND_SHARE = 1.2
BEYOND_FROM, BEYOND_TO = 1.1, 1.4
"""Times N*: the same for the level beyond the knee."""

LEAST_S, MOST_S = 6.0, 18.0
"""The same seconds for the other two levels. Six seconds are six batches; 18 are the most that the autopilot gives a level."""

HALF_A_TICK_S = 0.5
"""Allowance for ticks that are not exactly one second long."""

PRECISE = 0.04
"""Relative standard error of goodput at which a level is precise."""

MOVED_MOST = 0.15
"""Relative difference up to which two knees count as the same: less than half of the autopilot's interval."""

GOODPUT_AGREES = 0.07
"""Relative differences up to which levels agree. They also agree within SURE_ERRORS standard errors, and latencies within the
generator's loop lag."""

FAILURES_LEAST = 4
"""Fewer failures in a level may be chance."""


class EarlierKnee(msgspec.Struct, frozen=True):
    """The knee as it was found in the levels before a moment."""

    lines: KneeLines
    """Those of these levels, irrespective of limits on a single request: later levels show whether the service is the same."""
    first: LadderLevel
    """The earliest of them below the knee."""
    limit: Limit | None


def verify(levels: Sequence[LadderLevel], fit: Sequence[LadderLevel], knee_users: float, limit: Limit | None) -> Verification:
    """The three steps that verify a knee at `knee_users`, each with its result if a level was measured for it.

    `levels`: all that can be judged, in the order they ran. `fit`: those of them that are not recovery from overload.
    """
    steady = [level for level in levels if not level.ramp]
    low = [level for level in steady if level.users <= SOAK_TO * knee_users]
    first_users = max(1, round((low or steady or levels)[0].users))
    best = _with_state((_soak_step(knee_users), _beyond_step(knee_users), _return_step(first_users)))
    for earlier, since in _earlier_knees(steady, fit, knee_users, limit):
        shown = _with_state(tuple(_steps(earlier, since, fit, knee_users)))
        if shown.state == "verified":
            return shown
        if _replaces(shown, best):
            best = shown
    return best


def _replaces(shown: Verification, best: Verification) -> bool:
    """Whether `shown` replaces the best result so far: it contradicts the knee, or more of its steps agree."""
    agreeing = [sum(step.agrees is True for step in each.steps) for each in (shown, best)]
    if "contradicted" in (shown.state, best.state):
        return shown.state == "contradicted" or agreeing[0] > 0
    return agreeing[0] > agreeing[1]


def _with_state(steps: tuple[VerificationStep, ...]) -> Verification:
    if any(step.agrees is False for step in steps):
        return Verification(state="contradicted", steps=steps)
    return Verification(state="verified" if all(step.agrees for step in steps) else "provisional", steps=steps)


# -- knees of earlier levels


def _earlier_knees(
    levels: Sequence[LadderLevel], fit: Sequence[LadderLevel], knee_users: float, limit: Limit | None
) -> Iterator[tuple[EarlierKnee, Sequence[LadderLevel]]]:
    """(the knee as found in the levels before a moment, the levels since), the earliest moment first.

    The moments are the start of the first level below the knee after it could be found, and each later return from beyond it.
    """
    was_beyond = was_found = False
    for at, level in enumerate(levels):
        if level.users >= knee_users:
            was_beyond = True
        elif was_beyond and (not was_found or levels[at - 1].users >= knee_users):
            earlier = _earlier_knee(fit, level.started_s, knee_users, limit)
            if earlier is not None:
                was_found = True
                yield earlier, levels[at:]


def _earlier_knee(fit: Sequence[LadderLevel], until_s: float, knee_users: float, limit: Limit | None) -> EarlierKnee | None:
    """The knee found in the levels before a moment, if it is the same as the present one; else None."""
    before = [level for level in fit if level.started_s < until_s]
    lines, within_limits = KneeLines.of(before), KneeLines.of([level.within_limits for level in before])
    if lines is None or within_limits is None or not within_limits.is_enough or not within_limits.has_knee:
        return None
    if abs(within_limits.users - knee_users) > MOVED_MOST * knee_users:
        return None
    low = [level for level in before if level.users <= SOAK_TO * knee_users and not level.ramp]
    return EarlierKnee(lines, low[0], limit) if low else None


# -- the steps


def _soak_step(knee_users: float) -> VerificationStep:
    users = max(1, round(SOAK_SHARE * knee_users))
    if users > SOAK_TO * knee_users:
        users = max(1, math.floor(SOAK_TO * knee_users))
    return VerificationStep(name="soak", users=users, least_s=SOAK_LEAST_S, most_s=SOAK_MOST_S)


def _beyond_step(knee_users: float) -> VerificationStep:
    return VerificationStep(name="beyond", users=math.ceil(BEYOND_SHARE * knee_users), least_s=LEAST_S, most_s=MOST_S)


def _return_step(first_users: int) -> VerificationStep:
    return VerificationStep(name="return_to_first", users=first_users, least_s=LEAST_S, most_s=MOST_S)


# -- their results


def _steps(
    earlier: EarlierKnee, since: Sequence[LadderLevel], fit: Sequence[LadderLevel], knee_users: float
) -> Iterator[VerificationStep]:
    """The three steps, each with the latest level that counts for it."""
    soak, beyond, back = _soak_step(knee_users), _beyond_step(knee_users), _return_step(max(1, round(earlier.first.users)))
    soaks = [level for level in since if _counts_for(level, soak.users, SOAK_FROM * knee_users, SOAK_TO * knee_users)]
    yield _measured(soak, soaks, earlier)
    going_up = [level for level in since if level in fit]  # the others are recovery from overload
    furthers = [level for level in going_up if _counts_for(level, beyond.users, BEYOND_FROM * knee_users, BEYOND_TO * knee_users)]
    yield _measured(beyond, furthers, earlier)
    first = earlier.first.users
    after_s = furthers[-1].started_s if furthers else -math.inf
    backs = [level for level in since if level.started_s > after_s and abs(level.users - first) <= USERS_SAME * first]
    yield _measured(back, backs, earlier)


def _counts_for(level: LadderLevel, wanted: int, low: float, high: float) -> bool:
    """Whether a level has the proposed users, or lies between the bounds within which a level counts for the step."""
    return round(level.users) == wanted or low <= level.users <= high


def _measured(step: VerificationStep, found: Sequence[LadderLevel], earlier: EarlierKnee) -> VerificationStep:
    counted = [level for level in found if _is_enough(level, step, earlier) and not _works_off_backlog(level, earlier)]
    if not counted:
        return step
    level = counted[-1]
    return msgspec.structs.replace(
        step,
        measured_users=round(level.users),
        measured_s=level.seconds,
        disagreement=_disagreement(step.name, level, earlier),
    )


def _is_enough(level: LadderLevel, step: VerificationStep, earlier: EarlierKnee) -> bool:
    """Whether a level is long enough, and precise: by itself, or as precise as the curve it is compared with."""
    seconds = (level.seconds or 0.0) + HALF_A_TICK_S
    _, error = _expected(earlier.lines.ladder, level.users)
    precise = level.goodput_error_rps <= max(PRECISE * level.goodput_rps, error)
    return seconds >= step.most_s or (seconds >= step.least_s and precise)


def _works_off_backlog(level: LadderLevel, earlier: EarlierKnee) -> bool:
    """Whether the service, by its own counts, finishes more than it accepts: the figures are then not those of the level's
    load.
    """
    lag = work_lag([level], earlier.lines.baseline)
    return lag is not None and lag < -LAG_LEAST


def _disagreement(name: VerificationStepName, level: LadderLevel, earlier: EarlierKnee) -> Disagreement | None:
    """How the level disagrees; None: it agrees with the curve."""
    if name != "beyond" and _fails_more(level, earlier):
        return "failures"
    expected, error = _expected(earlier.lines.ladder, level.users)
    if expected - level.goodput_rps > max(GOODPUT_AGREES * expected, SURE_ERRORS * math.hypot(level.goodput_error_rps, error)):
        return "less_goodput"
    most, error = max((expected, error), _lower_line(earlier.lines, level.users))
    if level.goodput_rps - most > max(GOODPUT_AGREES * most, SURE_ERRORS * math.hypot(level.goodput_error_rps, error)):
        return "more_goodput"
    if name == "return_to_first" and _is_slower(level, earlier.first):
        return "slower"
    if name == "beyond" and _has_unexplained_time(level, earlier):
        return "time_unexplained"
    return None


def _expected(curve: Sequence[LadderLevel], users: float) -> tuple[float, float]:
    """Goodput at these users by linear interpolation of the earlier curve, and its standard error. Between levels, a concave
    curve lies above this.
    """
    at = [level.users for level in curve]
    goodput = float(np.interp(users, at, [level.goodput_rps for level in curve]))
    return goodput, float(np.interp(users, at, [level.goodput_error_rps for level in curve]))


def _lower_line(earlier: KneeLines, users: float) -> tuple[float, float]:
    """Goodput at these users on the lower of the low-load line and the capacity line, and its standard error."""
    knees, capacity = earlier.knees, earlier.capacity_rps
    line = knees.rps_per_user * users
    return (line, knees.rps_per_user_error * users) if line < capacity else (capacity, knees.capacity_error * capacity)


def _fails_more(level: LadderLevel, earlier: EarlierKnee) -> bool:
    low = [known for known in earlier.lines.ladder if known.users <= earlier.lines.users and known.failure_ratio is not None]
    requests = math.fsum(known.requests or 1 for known in low)
    before = math.fsum((known.failure_ratio or 0.0) * (known.requests or 1) for known in low) / requests if low else 0.0
    ratio = level.failure_ratio or 0.0
    return ratio - before >= LOST_LEAST and ratio * (level.requests or math.inf) >= FAILURES_LEAST


def _is_slower(level: LadderLevel, first: LadderLevel) -> bool:
    if first.latency_ms is None or level.latency_ms is None:
        return False
    noise_ms = math.hypot(first.latency_error_ms or 0.0, level.latency_error_ms or 0.0)
    return level.latency_ms - first.latency_ms > max(
        RELEVANT * first.latency_ms, SURE_ERRORS * noise_ms, level.loop_lag_ms or 0.0
    )


def _has_unexplained_time(level: LadderLevel, earlier: EarlierKnee) -> bool:
    """Whether responses beyond the knee are shorter than by Little's law: users then wait for something else than the service.

    False where the generator limits the knee or its limit is unknown: users lose time there already.
    """
    little = little_ratio([level], earlier.lines.baseline) if earlier.limit not in ("generator", "unknown") else None
    return little is not None and little[0] > LITTLE_MOST and little[0] - ONE_SIDED_95 * little[1] > LITTLE_LOW_LEAST
