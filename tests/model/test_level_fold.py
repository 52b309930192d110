"""A level's seconds become its figures: settled ones alone, and nothing that was not measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.model.events import EndpointTick, Sample
from capexplorer.model.figures import Latency, LevelFigures
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.level_fold import RAMP_BINS, LevelFold, RampFold, batch_error
from capexplorer.model.reading_means import KEYS
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TargetReading, TcpReading
from capexplorer.model.second_columns import total


def endpoint(
    latencies_ms: list[float], name: str = "/a", failures: int = 0, failure_ms: float = 0.0, **more: int
) -> EndpointTick:
    histogram = LatencyHistogram()
    histogram.record_us([value * 1000 for value in latencies_ms])
    return EndpointTick(
        name=name,
        method="GET",
        requests=len(latencies_ms) + failures,
        failures=failures,
        latency=histogram.encode() if latencies_ms else None,
        latency_sum_ms=math.fsum(latencies_ms),
        failure_latency_sum_ms=failure_ms,
        **more,
    )


def second(t_s: float, *endpoints: EndpointTick, settled: bool = True, users: int = 10, **more: object) -> Sample:
    given_values: dict[str, object] = {
        "t_s": t_s, "duration_s": 1.0, "level": 0, "users": users, "wanted": users, "settled": settled,
        "phase": "settled" if settled else "settling", "endpoints": endpoints,
        "work": float(sum(each.requests - each.failures for each in endpoints)),
    }  # fmt: skip
    return Sample(**(given_values | more))  # type: ignore[arg-type]


def folded(*samples: Sample) -> LevelFold:
    fold = LevelFold()
    for sample in samples:
        fold.add(sample)
    return fold


def test_rates_means_and_ratios_of_two_hand_made_seconds() -> None:
    figures = folded(
        second(11.0, endpoint([100, 200, 300], failures=1, failure_ms=50, received_bytes=400), users=10, waits=4, wait_sum_s=2.0),
        second(12.0, endpoint([100, 500], received_bytes=200), users=20, waits=1, wait_sum_s=1.0),
    ).figures()
    assert figures.settled
    assert figures.settled_seconds == 2.0
    assert (figures.requests, figures.failures) == (6, 1)
    assert figures.failure_ratio == pytest.approx(1 / 6)
    assert figures.throughput_rps == 3.0
    assert figures.goodput_rps == 2.5
    assert figures.latency_ms.mean == pytest.approx(1200 / 5)  # of successes
    assert figures.response_ms == pytest.approx(1250 / 6)  # of all requests
    assert figures.wait_s == pytest.approx(3.0 / 5)
    assert figures.users_mean == 15.0
    assert figures.latency_ms.min == pytest.approx(100, rel=0.001)
    assert figures.latency_ms.max == pytest.approx(500, rel=0.001)


def test_seconds_that_are_longer_weigh_more() -> None:
    figures = folded(
        second(2.0, endpoint([10] * 20), duration_s=2.0, users=10), second(3.0, endpoint([10] * 40), duration_s=1.0, users=40)
    ).figures()
    assert figures.throughput_rps == 20.0
    assert figures.users_mean == 20.0


def test_only_settled_seconds_make_figures() -> None:
    fold = folded(
        second(1.0, endpoint([5000] * 9, failures=3), settled=False),
        second(2.0, endpoint([100])),
        second(3.0, endpoint([7000]), settled=False),
    )
    figures = fold.figures()
    assert (figures.requests, figures.failures, figures.settled_seconds) == (1, 0, 1.0)
    assert figures.latency_ms.max == pytest.approx(100, rel=0.001)
    assert fold.settled_s == 1.0
    assert [each.requests for each in fold.endpoint_figures()] == [1]


def test_failures_while_unsettled_are_those_of_unsettled_seconds_and_of_warm_up() -> None:
    figures = folded(
        second(1.0, endpoint([1], failures=3, warmup_failures=2), settled=False),
        second(2.0, endpoint([1], failures=5, warmup_failures=4)),
    ).figures()
    assert (figures.failures, figures.failures_while_unsettled) == (5, 9)


def test_a_level_that_never_settled_has_nothing_but_its_failures() -> None:
    figures = folded(second(1.0, endpoint([1], failures=3), settled=False)).figures()
    assert figures == LevelFigures(settled=False, failures_while_unsettled=3)
    assert (figures.throughput_rps, figures.goodput_rps, figures.latency_ms) == (None, None, Latency())


def test_settled_seconds_without_a_request_have_a_rate_of_zero_but_no_latency_and_no_ratio() -> None:
    figures = folded(*(second(t, work=0.0) for t in range(1, 8))).figures()
    assert (figures.throughput_rps, figures.goodput_rps) == (0.0, 0.0)
    assert (figures.failure_ratio, figures.response_ms, figures.wait_s) == (None, None, None)
    assert figures.latency_ms == Latency()
    assert figures.latency_se_ms is None


def test_all_requests_failed_have_a_response_time_but_no_latency_of_successes() -> None:
    figures = folded(second(1.0, endpoint([], failures=4, failure_ms=80.0))).figures()
    assert figures.response_ms == 20.0
    assert figures.latency_ms == Latency()
    assert figures.failure_ratio == 1.0


def test_work_that_was_not_measured_in_one_second_leaves_no_goodput() -> None:
    figures = folded(second(1.0, endpoint([1])), second(2.0, endpoint([1]), work=None)).figures()
    assert figures.goodput_rps is None
    assert figures.goodput_se_rps is None
    assert figures.throughput_rps == 1.0


def test_work_counts_instead_of_requests_where_the_profile_defines_it() -> None:
    figures = folded(second(1.0, endpoint([1] * 50), work=3.0)).figures()
    assert (figures.throughput_rps, figures.goodput_rps) == (50.0, 3.0)


def test_the_standard_error_is_that_of_six_batch_means() -> None:
    # batches of two seconds: means 10, 12, 14, 16, 18, 20; centre 15; squares 25+9+1+1+9+25 = 70; sqrt(70 / 5 / 6)
    seconds = [second(t, work=float(work)) for t, work in enumerate([9, 11, 11, 13, 13, 15, 15, 17, 17, 19, 19, 21], start=1)]
    assert folded(*seconds).figures().goodput_se_rps == pytest.approx(math.sqrt(70 / 30))


def test_the_standard_error_of_latency_weighs_each_batch_by_its_requests() -> None:
    # six batches of one second: means 100, 100, 100, 100, 100, 160 ms; centre 110; squares 5 * 100 + 2500 = 3000
    seconds = [second(t, endpoint([100] * t)) for t in range(1, 6)] + [second(6, endpoint([160] * 3))]
    assert folded(*seconds).figures().latency_se_ms == pytest.approx(math.sqrt(3000 / 5 / 6))


@pytest.mark.parametrize("seconds", range(6))
def test_under_six_settled_seconds_there_is_no_standard_error(seconds: int) -> None:
    assert batch_error([(1.0, 1.0)] * seconds) is None


def test_a_batch_without_a_denominator_leaves_no_standard_error() -> None:
    assert batch_error([(1.0, 1.0)] * 5 + [(0.0, 0.0)]) is None


def test_seconds_that_do_not_divide_by_six_are_all_used_once() -> None:
    # 7 seconds: batches of 1, 1, 1, 1, 1, 2
    assert batch_error([(0, 1)] * 5 + [(6, 1), (6, 1)]) == pytest.approx(math.sqrt((5 * 1 + 25) / 5 / 6))


@given(st.floats(0, 1e6), st.integers(6, 200))
def test_a_steady_rate_has_no_spread(rate: float, seconds: int) -> None:
    assert batch_error([(rate, 1.0)] * seconds) == pytest.approx(0.0, abs=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_the_standard_error_is_near_the_true_one_for_independent_seconds(seed: int) -> None:
    random = np.random.default_rng(seed)
    error = batch_error([(float(value), 1.0) for value in random.normal(100, 10, 600)])
    assert error is not None
    assert 0.02 < error / (10 / math.sqrt(600)) < 3.5  # chi with 5 degrees of freedom, far out on both sides


def test_percentiles_of_a_level_are_those_of_all_its_values_at_once() -> None:
    random = np.random.default_rng(1)
    values = [[float(v) for v in random.lognormal(4, 1, 300)] for _ in range(8)]
    merged = folded(*(second(t, endpoint(part), endpoint(part[:50], "/b")) for t, part in enumerate(values, start=1)))
    at_once = LatencyHistogram()
    at_once.record_us([v * 1000 for part in values for v in part + part[:50]])
    latency = merged.figures().latency_ms
    assert (latency.p50, latency.p95, latency.p99) == at_once.percentiles_ms((0.5, 0.95, 0.99))
    again = [LatencyHistogram.decode(each.latency or "") for each in merged.endpoint_figures(with_histogram=True)]
    assert [each.count for each in again] == [2400, 400]


def test_readings_are_means_of_the_seconds_in_which_they_were_measured_and_ports_the_greatest() -> None:
    figures = folded(
        second(1.0, host=HostReading(cpu_ratio=1.0), ports=PortsReading(used=10, capacity=100), tcp=TcpReading(sockets_in_use=4)),
        second(2.0, host=HostReading(cpu_ratio=2.0), ports=PortsReading(used=40, capacity=100), tcp=TcpReading()),
        second(3.0, generator=GeneratorReading(loop_lag_p99_ms=3.0), ports=PortsReading(used=20, capacity=100)),
    ).figures()
    assert figures.host_cpu_ratio == 1.5
    assert (figures.ports_used, figures.ports_capacity) == (40, 100)
    assert figures.open_sockets == 4
    assert figures.loop_lag_p99_ms == 3.0
    assert (figures.target_cpu_ratio, figures.disk_busy_ratio, figures.load_average_1m) == (None, None, None)


def test_targets_are_summed_and_one_that_could_not_be_read_makes_the_sum_unknown() -> None:
    known, unknown = TargetReading(pid=1, cpu_ratio=0.5), TargetReading(pid=2)
    assert folded(second(1.0, targets=(known, known))).figures().target_cpu_ratio == 1.0
    assert folded(second(1.0, targets=(known, unknown))).figures().target_cpu_ratio is None


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([None], None), ([1.0], 1.0), ([1.0, 2.0], 3.0), ([1.0, None], None), ([0.0], 0.0)]
)
def test_a_total_is_none_if_one_of_its_parts_was_not_measured(values: list[float | None], expected: float | None) -> None:
    assert total(values) == expected


def test_figures_may_be_asked_at_any_time_and_continue_growing() -> None:
    fold = LevelFold()
    seen = []
    for t in range(1, 4):
        fold.add(second(t, endpoint([t, 200.0])))
        seen.append((fold.figures().requests, fold.figures().latency_ms.p50))
    assert seen == [(2, 1.0), (4, 2.0), (6, pytest.approx(3, rel=0.001))]


# -- means of readings


def reading(
    t_s: float, *, settled: bool = True, users: int = 10, queue: int | None = None, queued: float | None = None
) -> Sample:
    return second(
        t_s,
        settled=settled,
        users=users,
        targets=(TargetReading(pid=1, listen_queue=queue, processes_ended=2),),
        tcp=TcpReading(listen_overflows=int(t_s)),
        app={} if queued is None else {"queued": queued},
    )


def test_each_reading_is_its_mean_over_the_settled_seconds_in_which_it_was_measured() -> None:
    samples = [reading(1, settled=False, queue=99), reading(2, queue=4, queued=1.0), reading(3), reading(7, queue=1, queued=4.0)]
    readings = folded(*samples).figures().readings
    assert (readings["target.listen_queue"], readings["app.queued"]) == (2.5, 2.5)
    assert (readings["tcp.listen_overflows"], readings["target.processes_ended"]) == (4.0, 2.0), "counters: growth a second"
    assert "target.fds" not in readings and "host.cpu_ratio" not in readings, "what was not measured is absent"
    assert "target.pid" not in readings


def test_a_counter_that_could_not_be_read_is_not_zero() -> None:
    unread = TargetReading(pid=1, rss_bytes=7, unread=("oom_kills", "processes_ended"))
    readings = folded(second(1, targets=(unread,)), second(2, tcp=TcpReading(unread=("listen_drops",)))).figures().readings
    assert readings["target.rss_bytes"] == 7.0
    assert not {"target.oom_kills", "target.processes_ended", "tcp.listen_drops"} & readings.keys()
    assert (readings["target.processes_started"], readings["tcp.listen_overflows"]) == (0.0, 0.0)


def test_readings_of_several_targets_are_summed_unless_another_rule_is_listed() -> None:
    one = TargetReading(pid=1, rss_bytes=5, busiest_thread_ratio=0.5, disk_free_bytes=9, threads=3)
    other = TargetReading(pid=2, rss_bytes=7, busiest_thread_ratio=0.25, disk_free_bytes=4)
    readings = folded(second(1, targets=(one, other))).figures().readings
    assert (readings["target.rss_bytes"], readings["target.busiest_thread_ratio"]) == (12.0, 0.5)
    assert readings["target.disk_free_bytes"] == 4.0
    assert "target.threads" not in readings, "a part was not measured"


def test_a_level_without_its_last_seconds_has_the_readings_that_it_had_before_them() -> None:
    early = [reading(t, queue=t % 3, queued=0.1 * t) for t in range(1, 40)]
    late = [reading(t, queue=500, queued=7.7) for t in range(40, 60)]
    assert folded(*early, *late).without(late).figures() == folded(*early).figures()
    assert folded(*early, *late).without([*early, *late]).figures().readings == {}


def test_each_bin_of_a_ramp_has_the_readings_of_its_seconds() -> None:
    fold = RampFold()
    for t, users in enumerate([1, 1, 2, 60, 60], start=1):
        fold.add(reading(t, settled=False, users=users, queue=t))
    assert [each.figures.readings["target.listen_queue"] for each in fold.bins()] == [2.0, 4.5]


def test_every_number_of_a_reading_has_a_key() -> None:
    assert {"generator.loop_lag_p99_ms", "host.conntrack", "ports.used", "tcp.memory_pages", "target.oom_kills"} <= set(KEYS)
    assert not {"ports.destination", "ports.by_state", "target.alive", "target.pid", "tcp.unread"} & set(KEYS)


# -- ramps


def ramp(users: list[int]) -> RampFold:
    fold = RampFold()
    for t, count in enumerate(users, start=1):
        fold.add(second(t, endpoint([10.0] * count), settled=False, users=count))
    return fold


@given(st.lists(st.integers(0, 3_000), min_size=1, max_size=80))
def test_a_ramp_has_at_most_24_bins_in_order_and_loses_no_request(users: list[int]) -> None:
    fold = RampFold()
    for t, count in enumerate(users, start=1):
        fold.add(second(t, EndpointTick(name="/a", method="GET", requests=count, latency_sum_ms=1.0), settled=False, users=count))
    bins = fold.bins()
    assert 1 <= len(bins) <= RAMP_BINS == 24
    assert sum(each.figures.requests for each in bins) == sum(users)
    assert sum(each.figures.settled_seconds for each in bins) == len(users)
    assert [each.users for each in bins] == sorted(each.users for each in bins)
    assert min(users) <= bins[0].users
    assert bins[-1].users <= max(users)


def test_few_user_counts_have_a_bin_each() -> None:
    bins = ramp([1, 1, 2, 3, 3, 3]).bins()
    assert [(each.users, each.figures.throughput_rps) for each in bins] == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]


def test_a_bin_of_neighbouring_counts_is_at_their_mean() -> None:
    bins = ramp(list(range(1, 49))).bins()
    assert len(bins) == 24
    assert [each.users for each in bins[:3]] == [1.5, 3.5, 5.5]


def test_bins_have_endpoints_with_histograms_when_asked() -> None:
    plain, full = ramp([2, 4]).bins(), ramp([2, 4]).bins(with_histogram=True)
    assert [each.endpoints[0].latency for each in plain] == [None, None]
    assert [LatencyHistogram.decode(each.endpoints[0].latency or "").count for each in full] == [2, 4]


def test_a_ramp_without_a_second_has_no_bins() -> None:
    assert RampFold().bins() == ()


def others(t_s: float, cpu_ratio: float | None, **processes: float) -> Sample:
    return second(t_s, endpoint([10]), neighbours=NeighboursReading(cpu_ratio=cpu_ratio, processes=processes))


OTHERS = (
    others(11.0, 1.0),
    others(12.0, 1.5, cc1plus=1.2, chrome=0.2),
    others(13.0, None),
    others(14.0, 1.1, cc1plus=0.6, make=0.1, sshd=0.05),
)


def test_other_processes_are_means_by_name_over_the_seconds_in_which_some_were_named() -> None:
    figures = folded(*OTHERS).figures()
    assert figures.readings["neighbours.cpu_ratio"] == pytest.approx(1.2)
    assert figures.other_processes == pytest.approx({"cc1plus": 0.9, "chrome": 0.1, "make": 0.05})


def test_other_processes_of_seconds_that_became_another_level_are_taken_off() -> None:
    assert folded(*OTHERS).without(OTHERS[2:]).figures().other_processes == pytest.approx({"cc1plus": 1.2, "chrome": 0.2})
    assert folded(*OTHERS).without(OTHERS[1:]).figures().other_processes == {}
