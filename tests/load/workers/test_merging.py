"""Workers' seconds merged: the same tick as if one process had recorded every request."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from capexplorer.load.bounded_keys import BYTES_A_TICK
from capexplorer.load.workers.merging import Merging
from capexplorer.load.workers.messages import WorkerSecond
from capexplorer.model.events import ClientTick, FailureSignature, FailureTick
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.stages import StageTick

from .seconds import endpoint, second

REFUSED = FailureSignature(types=("ConnectionRefusedError",), errno=111, text="connection refused")


def test_the_histogram_of_several_workers_is_that_of_all_requests_together() -> None:
    chance = random.Random(7)
    latencies_ms = [chance.lognormvariate(2.0, 1.0) for _ in range(3_000)]
    parts = [latencies_ms[:100], latencies_ms[100:1_500], latencies_ms[1_500:]]
    tick = Merging().merge([second(10.0, endpoint("/a", *part)) for part in parts], 10.0)
    whole = LatencyHistogram()
    whole.record_us([value * 1000 for value in latencies_ms])
    found = tick.endpoints[0]
    assert found.latency is not None
    assert LatencyHistogram.decode(found.latency) == whole
    assert (tick.p50_ms, tick.p95_ms, tick.p99_ms) == whole.percentiles_ms((0.50, 0.95, 0.99))
    assert tick.max_ms == pytest.approx(whole.max_ms, rel=0.001)
    assert found.latency_sum_ms == pytest.approx(sum(latencies_ms))


def test_counts_and_sums_of_workers_are_added() -> None:
    one = second(
        10.0, endpoint("/a", 1.0, 2.0, failures=1), endpoint("/b", 5.0), connects=3, waits=2, wait_sum_s=1.5, sleeps=1,
        sleep_sum_s=0.5, tasks=4, task_sum_s=2.0, users_stopped=1, clients=ClientTick(started=3, reported=2),
    )  # fmt: skip
    two = second(
        9.9, endpoint("/a", 3.0), connects=1, waits=1, wait_sum_s=0.5, tasks=1, task_sum_s=1.0, users_stopped=2, users=3,
        warm_users=3, clients=ClientTick(started=4, abandoned=1),
    )  # fmt: skip
    tick = Merging().merge([one, two], 10.0)
    assert (tick.t_s, tick.users) == (10.0, 5)
    assert tick.duration_s == pytest.approx(1.1)
    assert tick.clients == ClientTick(started=7, reported=2, abandoned=1)
    assert [(each.name, each.requests, each.failures, each.received_bytes) for each in tick.endpoints] == [
        ("/a", 4, 1, 30),
        ("/b", 1, 0, 10),
    ]
    assert (tick.all_requests, tick.connects, tick.warm_users, tick.users_stopped) == (5, 4, 5, 3)
    assert (tick.waits, tick.wait_sum_s, tick.sleeps, tick.sleep_sum_s, tick.tasks, tick.task_sum_s) == (3, 2.0, 1, 0.5, 5, 3.0)


def test_metrics_of_workers_are_added_and_are_no_requests() -> None:
    tick = Merging().merge(
        [second(10.0, metrics=(endpoint("ttft", 1.0, 2.0),)), second(10.0, metrics=(endpoint("ttft", 5.0),))], 10.0
    )
    assert [(each.name, each.requests, each.latency_sum_ms) for each in tick.metrics] == [("ttft", 3, 8.0)]
    assert (tick.endpoints, tick.all_requests, tick.max_ms) == ((), 0, None)


def test_the_stages_of_workers_are_added() -> None:
    one = replace(endpoint("/a", 90.0), tokens=5, stages={"ttft": stage(20.0), "itl": stage(10.0, 12.0)})
    two = replace(endpoint("/a", 80.0), tokens=2, stages={"ttft": stage(30.0, 40.0)})
    (found,) = Merging().merge([second(10.0, one), second(10.0, two), second(10.0, endpoint("/a", 5.0))], 10.0).endpoints
    assert found.tokens == 7
    assert found.stages == {"ttft": stage(20.0, 30.0, 40.0), "itl": stage(10.0, 12.0)}


def stage(*values_ms: float) -> StageTick:
    histogram = LatencyHistogram()
    histogram.record_us([value * 1000 for value in values_ms])
    text = LatencyHistogram.decode(histogram.encode()).encode()  # as the sum of decoded ones writes its greatest value
    return StageTick(latency=text, sum_ms=sum(values_ms))


def test_one_worker_that_does_not_know_its_warm_users_leaves_them_unknown() -> None:
    assert Merging().merge([second(10.0), second(10.0, warm_users=None)], 10.0).warm_users is None


def _failing(count: int, name: str = "/a", text: str = REFUSED.text) -> WorkerSecond:
    signature = FailureSignature(types=REFUSED.types, errno=REFUSED.errno, text=text)
    return second(10.0, failures=(FailureTick(name=name, method="GET", signature=signature, count=count, example=f"[{count}]"),))


def test_equal_failures_of_workers_are_added_and_the_first_example_is_kept() -> None:
    merging = Merging()
    tick = merging.merge([_failing(2), _failing(5)], 10.0)
    assert [(each.count, each.example) for each in tick.failures] == [(7, "[2]")]
    assert [(each.count, each.example) for each in merging.merge([_failing(1)], 11.0).failures] == [(1, None)]


def test_failures_of_many_workers_stay_within_the_bytes_of_one_tick_and_none_is_lost() -> None:
    import msgspec

    merging, counted = Merging(), 0
    seconds = [_failing(1, name=f"/{worker}", text=f"refused {worker}") for worker in range(100)]
    ticks = [merging.merge(seconds, 10.0)]
    while ticks[-1].failures:
        counted += sum(each.count for each in ticks[-1].failures)
        assert sum(len(msgspec.json.encode(each)) for each in ticks[-1].failures) <= BYTES_A_TICK
        ticks.append(merging.merge([], 10.0))
    assert counted == 100
