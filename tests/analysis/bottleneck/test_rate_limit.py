"""A rate limiter is distinguished from a lock or a pool by constant output and by responses at low load; else both are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from kit.scenario import HEADER

from analysis.loads import FACTS
from capexplorer.analysis.bottleneck import bottlenecks
from capexplorer.analysis.bottleneck.measured_level import measured_levels
from capexplorer.analysis.bottleneck.rate_limit import reply_rate_of
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.events import EndpointTick, Event, FailureSignature, FailureTick, LevelOpened, Mark, Sample, Target
from capexplorer.model.findings import Bottleneck
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.readings import GeneratorReading, HostReading, TargetReading
from capexplorer.model.timeline import Timeline

SECONDS = 12
WAIT_S = 0.2
USERS = (5, 10, 15, 32, 42)


def poisson(rate: float, seed: int) -> Sequence[int]:
    return [int(count) for count in np.random.default_rng(seed).poisson(rate, SECONDS)]


def clocked(rate: float, seed: int) -> Sequence[int]:
    """Replies at constant intervals, counted in each second."""
    ends = [int(rate * second + seed % 3 / 3) for second in range(SECONDS + 1)]
    return [after - before for before, after in zip(ends, ends[1:], strict=False)]


def explored(
    capacity_rps: float,
    low_load_ms: float,
    count_replies: Callable[[float, int], Sequence[int]],
    *,
    refused: int | None = None,
    slowdown: float = 0.0,
    cpu_ratio: float = 0.05,
    run_delay_ratio: float = 0.0,
) -> Timeline:
    """Levels of users with a think time of 0.2 s, on a service with little CPU. `refused`: the status of requests beyond the
    capacity, which else wait in a queue. `slowdown`: the share of the capacity that is lost at the last level."""
    events: list[Event] = [msgspec.structs.replace(HEADER, host=FACTS), Target(t_s=0.5, state="ready", pid=7, program="server")]
    t_s = 1.0
    for index, users in enumerate(USERS):
        most_rps = capacity_rps * (1 - slowdown * (users == USERS[-1]))
        offered = users / (WAIT_S + low_load_ms / 1000)
        rate = min(offered, most_rps)
        waiting_ms = low_load_ms if refused else max(low_load_ms, 1000 * (users / most_rps - WAIT_S))
        refused_count = round(offered - rate) if refused else 0
        events.append(LevelOpened(t_s=t_s, index=index, users=users, spawn_rate=10.0, by="plan"))
        for count in count_replies(rate, 100 * index + 1):
            t_s += 1.0
            events.append(_second(t_s, index, users, count, waiting_ms, refused_count, refused, cpu_ratio, run_delay_ratio))
        events.append(Timeline(events).levels[-1].ending(t_s))
    return Timeline(events)


def _second(
    t_s: float,
    level: int,
    users: int,
    count: int,
    ms: float,
    refused_count: int,
    status: int | None,
    cpu_ratio: float,
    run_delay_ratio: float,
) -> Sample:
    histogram = LatencyHistogram()
    histogram.record_us([1000 * ms] * count)
    tick = EndpointTick(
        name="/work", requests=count + refused_count, failures=refused_count, latency=histogram.encode() if count else None,
        latency_sum_ms=ms * count, failure_latency_sum_ms=ms * refused_count,
    )  # fmt: skip
    signature = FailureSignature(types=("LocustBadStatusCode",), status=status)
    return Sample(
        t_s=t_s, duration_s=1.0, level=level, users=users, wanted=users, phase="settled", settled=True, endpoints=(tick,),
        work=float(count), waits=count + refused_count, wait_sum_s=WAIT_S * (count + refused_count),
        failures=(FailureTick(name="/work", method="GET", signature=signature, count=refused_count),) if refused_count else (),
        generator=GeneratorReading(cpu_ratio=0.1, run_delay_ratio=0.01, loop_lag_p99_ms=2.0, loop_lag_p50_ms=0.1),
        targets=(TargetReading(pid=7, cpu_ratio=cpu_ratio, busiest_thread_ratio=cpu_ratio, listen_queue=0,
                               run_delay_ratio=run_delay_ratio),),
        host=HostReading(cpu_ratio=0.3, disk_busy_ratio=0.0),
    )  # fmt: skip


def limits(timeline: Timeline) -> dict[str, Mark]:
    """Marks of what limits the service, by id."""
    marks = bottlenecks.marks(epoch_of(timeline, 0))
    return {mark.id: mark for mark in marks if mark.id not in ("think_time_limited", "not_saturated")}


def finding(mark: Mark) -> Bottleneck:
    assert isinstance(mark.finding, Bottleneck)
    return mark.finding


def test_a_constant_output_that_workers_could_not_give_is_a_rate_limit() -> None:
    marked = limits(explored(100, 5.0, clocked))
    assert list(marked) == ["rate_limit"]
    mark = marked["rate_limit"]
    assert mark.confidence == "medium"
    assert finding(mark).competing == ("lock_or_pool_limit",)
    assert finding(mark).readings["how"] == "delays"
    assert finding(mark).reading("output_rps") == pytest.approx(100)
    assert finding(mark).reading("low_load_p50_ms") == pytest.approx(5.0, rel=0.01)


def disturbed(rate: float, seed: int) -> Sequence[int]:
    """At the last level other processes disturb the first seconds."""
    steady = clocked(rate, seed)
    return [40, 100, 160, 100, *steady[4:]] if seed > 100 * (len(USERS) - 1) else steady


def slow_at_the_knee(rate: float, seed: int) -> Sequence[int]:
    return clocked(0.985 * rate if 300 < seed < 400 else rate, seed)


DELAYS, REFUSES = ("rate_limit", ("lock_or_pool_limit",), "medium"), ("rate_limit", (), "high")
POOL, POOL_OR_LIMIT = ("lock_or_pool_limit", (), "high"), ("lock_or_pool_limit", ("rate_limit",), "medium")

Replies = Callable[[float, int], Sequence[int]]

CASES: list[tuple[str, tuple[float, float, Replies], dict[str, Any], tuple[str, tuple[str, ...], str] | None]] = [
    ("constant, as of no worker", (100, 5.0, clocked), {}, DELAYS),
    ("constant, as of one worker", (100, 10.0, clocked), {}, POOL_OR_LIMIT),
    ("constant, as of one worker that slows down a little", (100, 9.0, clocked), {}, POOL_OR_LIMIT),
    ("constant, as of five workers", (100, 50.0, clocked), {}, POOL_OR_LIMIT),
    ("as uneven as arrivals", (100, 5.0, poisson), {}, POOL),
    ("constant but for a level that other processes disturb", (100, 5.0, disturbed),
     {}, ("rate_limit", ("lock_or_pool_limit",), "low")),
    ("constant, a little lower just beyond the knee", (130, 5.0, slow_at_the_knee), {}, DELAYS),
    ("constant, and falls with more users", (100, 5.0, clocked), {"slowdown": 0.04}, POOL),
    ("constant, of a busy service", (100, 5.0, clocked), {"cpu_ratio": 3.9}, ("target_cpu_saturated", (), "high")),
    ("429", (100, 5.0, clocked), {"refused": 429}, REFUSES),
    ("429, and uneven", (100, 5.0, poisson), {"refused": 429}, REFUSES),
    ("429, of a busy service", (100, 5.0, clocked), {"cpu_ratio": 3.9, "refused": 429}, None),
    ("429, and it seldom waits for a core", (100, 0.7, clocked), {"refused": 429, "run_delay_ratio": 0.03}, REFUSES),
    ("429, and it often waits for a core", (100, 0.7, clocked), {"refused": 429, "run_delay_ratio": 0.5}, None),
    ("503, and constant", (100, 5.0, clocked), {"refused": 503}, ("rate_limit", ("load_shedding",), "medium")),
    ("503, and uneven", (100, 5.0, poisson), {"refused": 503}, None),
    ("503, as of one worker", (100, 10.0, clocked), {"refused": 503}, None),
    ("500", (100, 5.0, clocked), {"refused": 500}, None),
]  # fmt: skip


@pytest.mark.parametrize(("why", "service", "more", "expected"), CASES, ids=[each[0] for each in CASES])
def test_a_rate_limit_is_told_from_workers_by_its_output_and_its_refusals(
    why: str,
    service: tuple[float, float, Replies],
    more: dict[str, Any],
    expected: tuple[str, tuple[str, ...], str] | None,
) -> None:
    marked = [(id_, finding(mark).competing, mark.confidence) for id_, mark in limits(explored(*service, **more)).items()]
    assert marked == ([] if expected is None else [expected])


def test_the_bound_of_the_dispersion_of_poisson_replies_is_well_above_that_of_constant_ones() -> None:
    bounds_high = list[float]()
    for base in range(20):

        def count_replies(rate: float, seed: int, base: int = base) -> Sequence[int]:
            return poisson(rate, seed + base)

        bounds_high.append(dispersion_high(explored(100, 5.0, count_replies)))
    assert min(bounds_high) > 0.1


def test_the_reply_rate_of_a_part_of_a_level_is_that_of_its_own_seconds() -> None:
    def halved_at_last(rate: float, seed: int) -> Sequence[int]:
        steady = clocked(rate, seed)
        return [*steady[:6], *(count // 2 for count in steady[6:])] if seed > 100 * (len(USERS) - 1) else steady

    timeline = explored(100, 5.0, halved_at_last)
    ladder = epoch_of(timeline, 0)
    *_, first_part = measured_levels(ladder)
    (second_part,) = measured_levels(ladder, unexplained=True)
    rates = [reply_rate_of(timeline, part, (), None) for part in (first_part, second_part)]
    assert [rate is not None and (round(rate.rate_rps), rate.is_constant) for rate in rates] == [(100, True), (50, True)]


def dispersion_high(timeline: Timeline) -> float:
    *_, top = measured_levels(epoch_of(timeline, 0))
    output = reply_rate_of(timeline, top, (), None)
    assert output is not None
    return output.dispersion_high
