"""Sentences about what is recommended: the load to operate at, and settings for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..analysis.epoch_view import reported
from ..analysis.recommended import OPERATING_SHARE, recommended
from ..model.load import Users
from ..model.recommended import Estimate, OperatingLoad, Recommended
from ..model.timeline import Timeline
from ..model.verdicts import SloVerdict
from . import numbers, quantities
from .knee_sentences import objective_name
from .rate_sentences import rate_objective_name
from .verdict import before_restart, epoch_name, epoch_title

NOTED_FAILURES_LEAST = 0.0005
"""Share of failures at the operating load from which it is named: less would be printed as 0.0%."""


class Setting(NamedTuple):
    """A row of the table of settings."""

    name: str
    value: str
    why: str


def operating(found: OperatingLoad) -> str:
    """`18 users or fewer, 53/s: p95 67 ms [61–74 ms]`; of a rate `38/s or less: p95 from plan 30 ms`."""
    by_users = isinstance(found.load, Users)
    load = quantities.at_most(found.load)
    per_s = f", {quantities.rate(found.goodput_per_s.value)}" if by_users and found.goodput_per_s is not None else ""
    name = "p95" if by_users else "p95 from plan"
    p95 = found.p95_ms
    if p95 is None:
        return f"{load}{per_s}"
    if found.measured:
        return f"{load}{per_s}: {name} {interval(p95, quantities.latency)}"
    if p95.low is None or p95.high is None:
        return f"{load}{per_s}: {name} about {quantities.latency(p95.value)}, not measured there"
    return f"{load}{per_s}: {name} between {quantities.latencies((p95.low, p95.high), ' and ')}, not measured there"


def operating_in_full(found: OperatingLoad) -> str:
    """`Stay at 18 users or fewer, 53/s: p95 67 ms [61–74 ms]. That is a measured load of at most 80% of the knee's lower end.`"""
    notes = [_why(found)]
    if found.failure_ratio is not None and found.failure_ratio >= NOTED_FAILURES_LEAST:
        notes.append(f"{numbers.percent(found.failure_ratio)} of requests fail there")
    if isinstance(found.load, Users) and not found.verified:
        notes.append("the knee is not verified")
    if found.generator_limited:
        notes.append("the generator is the limit, so the service may carry more")
    return f"Stay at {operating(found)}. {'; '.join(notes)}."


def _why(found: OperatingLoad) -> str:
    match found.objective:
        case None:
            end = "the knee's" if isinstance(found.load, Users) else "the capacity's"
            return f"{'A measured load, at most ' * found.measured}{OPERATING_SHARE:.0%} of {end} lower end"
        case SloVerdict():
            return f"Up to there {objective_name(found.objective)} is met"
        case _:
            return f"Up to there {rate_objective_name(found.objective)} is met"


def operating_loads(timeline: Timeline) -> list[str]:
    """The sentences of all epochs; empty if no load can be recommended. May contain untrusted text."""
    found = [(each.operating, epoch_title(timeline, each.epoch)) for each in _all(timeline)]
    return [f"{name}: {_lower_first(operating_in_full(each))}" if name else operating_in_full(each) for each, name in found]


def operating_now(timeline: Timeline) -> str:
    """By the verdict on the latest epoch with one, for the present kind of load: `45 users or fewer, 85/s: p95 99 ms`, or `before
    the restart, pool=3: 45 users ...`; empty if no load can be recommended. Foreign text.
    """
    for epoch in sorted(timeline.verdicts, reverse=True):
        for each in recommended(timeline, epoch):
            if isinstance(each.operating.load, type(timeline.load)):
                words, before = operating(each.operating), before_restart(timeline, epoch)
                return f"{before}{epoch_name(timeline, epoch)}: {words}" if before else words
    return ""


def settings(timeline: Timeline) -> list[Setting]:
    """Those that can be derived, of all epochs. May contain untrusted text."""
    return [
        each._replace(name=f"{each.name}, {name}") if (name := epoch_name(timeline, found.epoch)) else each
        for found in _all(timeline)
        for each in settings_of(found)
    ]


def _all(timeline: Timeline) -> list[Recommended]:
    return [found for epoch in reported(timeline) for found in recommended(timeline, epoch)]


def _lower_first(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:]}"


def settings_of(found: Recommended) -> Iterator[Setting]:
    """Those of one knee or capacity."""
    load = quantities.requested(found.operating.load)
    if found.rate_limit_per_s is not None:
        yield Setting("rate limit", interval(found.rate_limit_per_s, quantities.rate), f"what it completes at {load}")
    if found.in_flight is not None:
        most = found.in_flight.value if found.in_flight.high is None else found.in_flight.high
        words = f"{interval(found.in_flight, numbers.users)} at the knee, by Little's law: more would only wait"
        yield Setting("requests in flight, at most", f"{math.ceil(most):,}", words)
    if found.busy is not None:
        words = "by Little's law, at the response time of the lowest load: so many workers or connections are needed"
        words += f"; the parameter {found.parameter} has this value, and may be the limit" * (found.parameter is not None)
        yield Setting("requests worked on at once", interval(found.busy, numbers.number), words)
    if found.workers is not None:
        name = "processes" if found.by_process else "workers"
        yield Setting(f"{name}, at most", interval(found.workers, numbers.number), f"the CPU is full with so many {name}")
    if found.replicas is not None:
        words = f"each at {load}, if nothing that they share is the limit"
        yield Setting(f"replicas for {quantities.rate(found.wanted_per_s)}", f"{found.replicas:,}", words)
    if found.cpu_target_ratio is not None and found.cpu_cores is not None:
        words = f"at {load}, of a request of {numbers.several(numbers.number(found.cpu_cores), 'core')}"
        yield Setting("CPU target of an autoscaler", interval(found.cpu_target_ratio, numbers.percent), words)
    if found.timeout_ms is not None and found.timeout_quantile is not None:
        tail = interval(found.timeout_ms, quantities.latency)
        words = f"{100 * found.timeout_quantile:g}% of the replies at {load} take up to {tail}"
        yield Setting("timeout, at least", quantities.latency(found.timeout_ms.high), words)
    if found.next_limit_per_s is not None:
        full = interval(found.next_limit_per_s, quantities.rate)
        yield Setting("next limit", f"CPU at {full}", "the service would use all of its cores, if the present limit were removed")


def interval(found: Estimate, words: Callable[[float], str]) -> str:
    """`67 ms [61–74 ms]`; without the interval where it is narrower than the digits."""
    if found.low is not None and found.high is not None and words(found.low) == words(found.high):
        return words(found.value)
    return numbers.with_interval(found.value, found.low, found.high, words)
