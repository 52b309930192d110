"""The figures of a level, folded from its settled seconds, and of the bins of a ramp; what was not measured stays None."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.model.events import EndpointTick
from capexplorer.model.figures import LevelFigures
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.intervals import Latency
from capexplorer.model.level import RAMP_BINS, LevelFold, RampFold
from capexplorer.model.slice import batch_error

from .fold_samples import endpoint, folded, reading, second


def test_a_level_has_the_rates_means_and_ratios_of_its_seconds() -> None:
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


def test_a_tick_of_two_seconds_has_twice_the_weight() -> None:
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
    assert [each.requests for each in fold.merged.endpoint_figures()] == [1]


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


def test_a_level_whose_requests_all_failed_has_a_response_time_but_no_latency() -> None:
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


def test_under_limits_on_a_single_request_goodput_is_those_within_and_figures_say_what_was_served() -> None:
    late = endpoint([1] * 10, within_limits=7, beyond_ttft=1, beyond_tpot=3, within_limits_tokens=70)
    figures = folded(second(1.0, late, work=7.0, work_beyond_limits=3.0)).figures()
    assert (figures.goodput_rps, figures.served_rps, figures.throughput_rps) == (7.0, 10.0, 10.0)
    assert figures.beyond_limits == {"ttft": 0.1, "tpot": 0.3}
    assert figures.goodput_tokens_per_s == 70.0


def test_the_standard_error_is_that_of_six_batch_means() -> None:
    # batches of two seconds: means 10, 12, 14, 16, 18, 20; centre 15; squares 25+9+1+1+9+25 = 70; sqrt(70 / 5 / 6)
    seconds = [second(t, work=float(work)) for t, work in enumerate([9, 11, 11, 13, 13, 15, 15, 17, 17, 19, 19, 21], start=1)]
    assert folded(*seconds).figures().goodput_se_rps == pytest.approx(math.sqrt(70 / 30))


def test_the_standard_error_of_latency_weighs_each_batch_by_its_requests() -> None:
    # six batches of one second: means 100, 100, 100, 100, 100, 160 ms; centre 110; squares 5 * 100 + 2500 = 3000
    seconds = [second(t, endpoint([100] * t)) for t in range(1, 6)] + [second(6, endpoint([160] * 3))]
    assert folded(*seconds).figures().latency_se_ms == pytest.approx(math.sqrt(3000 / 5 / 6))


def test_the_standard_error_of_think_time_weighs_waits_and_sleeps_of_each_batch_by_its_requests() -> None:
    # per request: 0.5 s five times, then 1.1 s; centre 0.6; squares 5 * 0.01 + 0.25 = 0.3
    seconds = [second(t, endpoint([10] * t), waits=t, wait_sum_s=0.4 * t, sleep_sum_s=0.1 * t) for t in range(1, 6)]
    figures = folded(*seconds, second(6, endpoint([10] * 3), waits=3, wait_sum_s=3.0, sleep_sum_s=0.3)).figures()
    assert figures.think_se_s == pytest.approx(math.sqrt(0.3 / 5 / 6))


def test_in_a_log_without_sleeps_the_standard_error_of_think_time_is_not_known() -> None:
    assert folded(*(second(t, endpoint([10]), waits=1, wait_sum_s=0.5) for t in range(6))).figures().think_se_s is None


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
    again = [LatencyHistogram.decode(each.latency or "") for each in merged.merged.endpoint_figures(with_histogram=True)]
    assert [each.count for each in again] == [2400, 400]


def test_figures_of_an_open_level_include_its_seconds_so_far() -> None:
    fold = LevelFold()
    seen = []
    for t in range(1, 4):
        fold.add(second(t, endpoint([t, 200.0])))
        seen.append((fold.figures().requests, fold.figures().latency_ms.p50))
    assert seen == [(2, 1.0), (4, 2.0), (6, pytest.approx(3, rel=0.001))]


def test_a_level_that_ends_at_a_shift_has_the_figures_of_its_own_seconds_alone() -> None:
    own = [second(1.0, endpoint([10], warmup_failures=1), warm_users=9), second(2.0, endpoint([20]), warm_users=9)]
    later = [second(3.0, endpoint([900], failures=2), warm_users=10), second(4.0, settled=False, warm_users=10)]
    alone, cut = folded(*own).figures(), folded(*own, *later).without(later).figures()
    assert cut == alone
    assert (cut.warm_ratio, cut.failures_while_unsettled) == (0.9, 1)


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


def test_each_of_few_user_counts_has_its_own_bin() -> None:
    bins = ramp([1, 1, 2, 3, 3, 3]).bins()
    assert [(each.users, each.figures.throughput_rps) for each in bins] == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]


def test_a_bin_of_several_user_counts_has_their_mean_as_its_users() -> None:
    bins = ramp(list(range(1, 49))).bins()
    assert len(bins) == 24
    assert [each.users for each in bins[:3]] == [1.5, 3.5, 5.5]


def test_bins_have_endpoints_with_histograms_when_asked() -> None:
    plain, full = ramp([2, 4]).bins(), ramp([2, 4]).bins(with_histogram=True)
    assert [each.endpoints[0].latency for each in plain] == [None, None]
    assert [LatencyHistogram.decode(each.endpoints[0].latency or "").count for each in full] == [2, 4]


def test_a_ramp_without_a_second_has_no_bins() -> None:
    assert RampFold().bins() == ()


def test_each_bin_of_a_ramp_has_the_readings_of_its_seconds() -> None:
    fold = RampFold()
    for t, users in enumerate([1, 1, 2, 60, 60], start=1):
        fold.add(reading(t, settled=False, users=users, queue=t))
    assert [each.figures.readings["target.listen_queue"] for each in fold.bins()] == [2.0, 4.5]


def test_metrics_of_a_locustfile_are_folded_beside_the_endpoints_and_change_no_figure() -> None:
    seconds = [second(t_s, endpoint([100.0, 200.0]), metrics=(endpoint([7.0, 9.0], "ttft"),)) for t_s in (1.0, 2.0, 3.0)]
    fold = folded(*seconds)
    assert fold.figures() == folded(*(msgspec.structs.replace(each, metrics=()) for each in seconds)).figures()
    [found] = fold.without(seconds[2:]).merged.metric_figures()
    assert (found.name, found.requests, found.latency_ms.mean) == ("ttft", 4, 8.0)


def test_metrics_of_a_ramp_are_those_of_its_bins() -> None:
    ramp = RampFold()
    for users in (1, 2, 2):
        ramp.add(second(float(users), endpoint([100.0]), users=users, metrics=(endpoint([7.0], "ttft"),)))
    assert [(part.users, part.metrics[0].requests) for part in ramp.bins()] == [(1, 1), (2, 2)]
