"""A sum of histograms equals one histogram of all values; a copy allocates its counters only when they are read."""

from __future__ import annotations

from capexplorer.model.histogram import MOST_WAITING, HistogramSum, LatencyHistogram


def second(value_us: float) -> LatencyHistogram:
    histogram = LatencyHistogram()
    histogram.record_us([value_us])
    return histogram


def test_a_sum_of_more_seconds_than_may_wait_to_be_merged_has_all_their_values() -> None:
    total = HistogramSum()
    for number in range(MOST_WAITING + 3):
        total.add(second(1.0 + number % 7).encode())
    assert total.histogram.count == MOST_WAITING + 3


def test_a_copy_is_independent_and_has_no_counters_until_they_are_read() -> None:
    total = HistogramSum()
    total.add(second(5.0).encode())
    twin = total.copy()
    total.add(second(7.0).encode())
    assert twin.copy().histogram == second(5.0)
    assert twin._merged is None
    assert twin.histogram == second(5.0)
    assert total.histogram.count == 2


def test_a_copy_of_nothing_has_no_counters() -> None:
    empty = HistogramSum()
    assert empty.copy()._merged is None
    assert empty._merged is None
