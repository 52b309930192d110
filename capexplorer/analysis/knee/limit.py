"""What limits a knee: generator, queue growth, errors, queueing or unknown, tested in this order (docs/knee.md, section 7).

The generator is tested first, and named only where its own CPU was measured and full. Failures with an HTTP status are tested
before late timers: a late timer delays a reply, but makes no status. Lost time and late timers have other causes too (users that
sleep in a task, another process on the machine); where they could explain the whole slowdown, the limit is unknown.
Bottlenecks and causes name the resource or the failure; this module does not.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from ...model.intervals import ONE_SIDED_95
from ...model.stages import LimitName
from ...model.verdicts import Limit
from ..causes.generator_saturation import LAG_MOST_MS, LITTLE_MOST
from ..ladder import CYCLES_LEAST, LadderLevel, Little
from ..statistics import BEYOND, LOST_LEAST, RELEVANT, upper_median, weighted_mean
from .knee_lines import REPLIED_LEAST, KneeLines

LITTLE_LOW_LEAST = 1.05
"""The lower bound of that ratio must exceed this as well."""

WAITS_AGREE = 0.10
"""If the baseline has one level, Z0 is the declared wait if it agrees this well with the measured one: a task may make many
requests, and then it does not."""

LAG_LEAST = 0.10
"""Share by which finished work must fall behind accepted work for queue growth."""

Figures = dict[str, Any]
"""Evidence of a verdict by the names of `KneeEvidence`."""


def limit_of(lines: KneeLines) -> tuple[Limit, Figures]:
    """The limit of a knee, and the figures that show it."""
    beyond = [level for level in lines.ladder if level.users >= BEYOND * lines.users]
    baseline = lines.baseline
    if not beyond:
        return "unknown", {}
    little, lag = little_ratio(beyond, baseline), work_lag(beyond, baseline)
    more, slower = _failures_more(beyond, baseline), _slower(beyond, baseline)
    timers_late_ms = upper_median([level.loop_lag_ms for level in beyond])
    evidence: Figures = {
        "little_ratio": None if little is None else little[0],
        "work_lag_ratio": lag,
        "failure_ratio_more": more,
        "failures_replied_ratio": _replied(beyond, "replied_ratio"),
        "failures_refused_ratio": _replied(beyond, "refused_ratio"),
        "response_ratio": slower,
        "loop_lag_ms": timers_late_ms,
        "beyond_limit_ratio": max((share for _, share in beyond[0].beyond_limits or ()), default=None),
        "beyond_limit_users": beyond[0].users if beyond[0].beyond_limits else None,
    }
    return _limit_from(beyond, baseline, little, lag, more, slower, timers_late_ms or 0.0), evidence


def _limit_from(
    beyond: list[LadderLevel],
    baseline: list[LadderLevel],
    little: tuple[float, float] | None,
    lag: float | None,
    more: float | None,
    slower: float | None,
    timers_late_ms: float,
) -> Limit:
    flags = [level.generator_saturated for level in beyond if level.generator_saturated is not None]
    if flags and flags[0]:  # the first level beyond the knee: a later one did not make this knee
        return "generator"
    if lag is not None and lag > LAG_LEAST:  # counted by the service itself: a late generator does not change it
        return "queue_growth"
    if (broken := _broken(beyond[0], baseline)) is not None:
        return broken
    if _refused(beyond, baseline):
        return "errors"
    loses_time = little is not None and little[0] > LITTLE_MOST and little[0] - ONE_SIDED_95 * little[1] > LITTLE_LOW_LEAST
    timers_late = timers_late_ms > LAG_MOST_MS
    if loses_time and (timers_late or not flags):  # the generator may cause it
        return "unknown"
    if _within_lateness(beyond, baseline):
        return "unknown"
    if more is not None and more >= LOST_LEAST:
        return "errors"
    if slower is not None and slower > 1 + RELEVANT:
        return "queueing"
    return "unknown"


def _broken(first: LadderLevel, baseline: list[LadderLevel]) -> LimitName | None:
    """The limit on a single request that most requests exceed at the first level beyond the knee, more than at low load; None: no
    limit, or other failures cost more.
    """
    if not first.beyond_limits:
        return None
    usual = [(dict(level.beyond_limits or ()), level.requests or 1) for level in baseline]
    more = {
        name: share - (weighted_mean((each.get(name, 0.0), count) for each, count in usual) or 0.0)
        for name, share in first.beyond_limits
    }
    name = max(more, key=lambda name: more[name])
    return name if more[name] >= max(LOST_LEAST, _failed(first) or 0.0) else None


def may_be_generator(beyond: list[LadderLevel], baseline: list[LadderLevel]) -> bool:
    """Whether the generator may have caused the lost goodput of these levels, which then do not describe the service."""
    if any(level.generator_saturated for level in beyond[:1]):
        return True
    lag = work_lag(beyond, baseline)
    if _refused(beyond, baseline):
        return False
    return (lag is None or lag <= LAG_LEAST) and _within_lateness(beyond, baseline)


def _within_lateness(beyond: list[LadderLevel], baseline: list[LadderLevel]) -> bool:
    """Whether late timers explain the whole slowdown: a starved generator measures its own delay as response time."""
    late_ms = upper_median([level.loop_lag_ms for level in beyond]) or 0.0
    return late_ms > LAG_MOST_MS and _slowdown_ms(beyond, baseline) <= late_ms


def little_ratio(beyond: list[LadderLevel], baseline: list[LadderLevel]) -> tuple[float, float] | None:
    """(N / (X (R + Z0)) over all levels beyond the knee, its standard error); None where it cannot be computed."""
    think = _think_s(baseline)
    if think is None:
        return None
    think_s, think_error_s = think
    found, variance = Little(0.0, 0.0), 0.0
    for level in beyond:
        throughput_rps, response_s = level.throughput_rps, level.response_s
        if throughput_rps is None or not throughput_rps or response_s is None:
            continue
        cycle_s = response_s + think_s
        if level.seconds is not None and level.seconds < CYCLES_LEAST * cycle_s:
            continue
        found += Little(level.users, throughput_rps * cycle_s)
        own = throughput_rps * cycle_s * level.goodput_error_rps / max(level.goodput_rps, level.goodput_error_rps)
        slow = throughput_rps * response_s * (level.latency_error_ms or 0.0) / (level.latency_ms or 1.0)
        variance += own**2 + slow**2
    if not found.accounted:
        return None
    shared = think_error_s * sum(level.throughput_rps or 0.0 for level in beyond)
    return found.ratio, found.ratio * math.sqrt(variance + shared**2) / found.accounted


def _think_s(baseline: list[LadderLevel]) -> tuple[float, float] | None:
    """(Z0, its standard error): the part of a cycle outside the response at low load, over all baseline levels together.

    Computed as user-seconds over requests; a mean of the levels' cycles would be biased by levels with few requests.
    """
    users = requests = response = variance = 0.0
    known = [(level, level.response_s, level.throughput_rps) for level in baseline]
    measured = [(level, response_s, rate) for level, response_s, rate in known if response_s is not None and rate]
    for level, response_s, rate in measured:
        seconds = level.seconds or 1.0
        users += level.users * seconds
        requests += rate * seconds
        response += response_s * rate * seconds
        variance += (seconds * rate * level.goodput_error_rps / max(level.goodput_rps, level.goodput_error_rps)) ** 2
    if not requests:
        return None
    cycle_s, think_s = users / requests, (users - response) / requests
    if len(measured) == 1:  # one level alone proves nothing
        declared = measured[0][0].wait_s
        if declared is None or abs(think_s - declared) > WAITS_AGREE * max(declared, think_s):
            return None
        return declared, WAITS_AGREE / 3 * declared
    return max(think_s, 0.0), cycle_s * math.sqrt(variance) / requests


def work_lag(beyond: list[LadderLevel], baseline: list[LadderLevel]) -> float | None:
    """Share by which finished work fell behind accepted work, compared with the baseline; None if the target counts no work."""
    before, after = _finished_share(baseline), _finished_share(beyond)
    return None if not before or after is None else 1 - after / before


def _finished_share(levels: list[LadderLevel]) -> float | None:
    """Finished work for each accepted piece; if the target does not report what it accepted, for each successful request."""
    finished = accepted = 0.0
    for level in levels:
        taken = level.accepted_rps
        if taken is None and level.throughput_rps is not None:
            taken = level.throughput_rps * (1 - (level.failure_ratio or 0.0))
        if level.work_is_metric and taken is not None:
            finished += level.goodput_rps
            accepted += taken
    return finished / accepted if accepted else None


def _failures_more(beyond: list[LadderLevel], baseline: list[LadderLevel]) -> float | None:
    """Failure ratio beyond the knee minus the baseline's; None if not known."""
    before, after = _failures(baseline), _failures(beyond)
    return None if after is None else after - (before or 0.0)


def _refused(beyond: list[LadderLevel], baseline: list[LadderLevel]) -> bool:
    """Whether requests fail beyond the knee, nearly all of them by replies with an HTTP status."""
    more, replied = _failures_more(beyond, baseline), _replied(beyond, "replied_ratio")
    return more is not None and more >= LOST_LEAST and replied is not None and replied >= REPLIED_LEAST


def _replied(levels: list[LadderLevel], kind: Literal["replied_ratio", "refused_ratio"]) -> float | None:
    """Share of their failed requests with a reply of that kind; None without failures."""
    return weighted_mean((getattr(level, kind), _failed(level) or 0.0) for level in levels)


def _failures(levels: list[LadderLevel]) -> float | None:
    return weighted_mean((_failed(level), level.throughput_rps or level.goodput_rps or 1.0) for level in levels)


def _failed(level: LadderLevel) -> float | None:
    """The share of its requests that failed, without those beyond a limit on a single request."""
    return None if level.failure_ratio is None else level.failure_ratio - level.beyond_limits_ratio


def _slowdown_ms(beyond: list[LadderLevel], baseline: list[LadderLevel]) -> float:
    """How many ms longer responses beyond the knee take than the baseline's; infinite if not known."""
    before = upper_median([level.response_s for level in baseline])
    after = upper_median([level.response_s for level in beyond])
    return math.inf if before is None or after is None else (after - before) * 1000


def _slower(beyond: list[LadderLevel], baseline: list[LadderLevel]) -> float | None:
    """Response time beyond the knee divided by that of the baseline; medians, so that one outlier does not decide."""
    before = upper_median([level.response_s for level in baseline])
    after = upper_median([level.response_s for level in beyond])
    return None if not before or after is None else after / before
