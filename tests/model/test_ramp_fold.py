"""A ramp is folded into bins by users, each with the figures of its seconds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from capexplorer.model.events import EndpointTick
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.level import RAMP_BINS, RampFold

from .fold_samples import endpoint, reading, second


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
