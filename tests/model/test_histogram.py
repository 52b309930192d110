"""The histogram of latencies: what is recorded, merged, encoded, and read as percentiles; and sums of encoded ones."""

from __future__ import annotations

import gc
import math
import random
import weakref

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from capexplorer.model.histogram import (
    HIGHEST_US,
    MOST_WAITING,
    HistogramSum,
    LatencyHistogram,
    _highest_us,
    _index,
    _lowest_us,
    merged,
    percentiles_ms,
)

QUANTILES = (0.001, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
latencies_us = st.lists(st.integers(1, HIGHEST_US), max_size=200)


def recorded(values: object) -> LatencyHistogram:
    histogram = LatencyHistogram()
    histogram.record_us(np.asarray(values))
    return histogram


def library_with(values: list[int]) -> HdrHistogram:
    histogram = HdrHistogram(1, HIGHEST_US, 3)
    for value in values:
        histogram.record_value(value)
    return histogram


def exact_ms(values: NDArray[np.int64], q: float) -> float:
    return float(np.sort(values)[max(math.ceil(round(q * len(values), 6)), 1) - 1]) / 1000


def bucket_boundaries() -> list[int]:
    doublings = [2048 << k for k in range(21)]
    around = [value + step for value in doublings for step in (-1, 0, 1)]
    return sorted({value for value in [1, 2, 1023, 1024, *around, HIGHEST_US - 1, HIGHEST_US] if value <= HIGHEST_US})


def test_indices_are_those_of_the_library_at_every_bucket_boundary() -> None:
    library = HdrHistogram(1, HIGHEST_US, 3)
    values = bucket_boundaries()
    assert _index(np.array(values)).tolist() == [library.get_counts_array_index(value) for value in values]


@given(st.lists(st.integers(1, HIGHEST_US), min_size=1, max_size=200))
def test_indices_and_equivalent_values_are_those_of_the_library(values: list[int]) -> None:
    library = HdrHistogram(1, HIGHEST_US, 3)
    indices = _index(np.array(values))
    assert indices.tolist() == [library.get_counts_array_index(value) for value in values]
    assert _lowest_us(indices).tolist() == [library.get_lowest_equivalent_value(value) for value in values]
    assert _highest_us(indices).tolist() == [library.get_highest_equivalent_value(value) for value in values]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["log-uniform", "lognormal", "bimodal"]))
def test_percentiles_of_100_000_values_from_50_us_to_60_s_are_within_0_2_percent(seed: int, shape: str) -> None:
    rng = np.random.default_rng(seed)
    n = 100_000
    drawn = {
        "log-uniform": np.exp(rng.uniform(np.log(50), np.log(60e6), n)),
        "lognormal": rng.lognormal(rng.uniform(5, 15), rng.uniform(0.1, 2), n),
        "bimodal": np.where(rng.random(n) < 0.97, rng.normal(400, 50, n), rng.normal(30e6, 9e6, n)),
    }[shape]
    values = np.clip(drawn, 50, 60_000_000).astype(np.int64)
    histogram = recorded(values)
    for q, found in zip(QUANTILES, histogram.percentiles_ms(QUANTILES), strict=True):
        assert found == pytest.approx(exact_ms(values, q), rel=0.002)
    assert histogram.min_ms == values.min() / 1000
    assert histogram.max_ms == values.max() / 1000


@given(st.lists(latencies_us, max_size=12))
def test_merging_seconds_equals_recording_at_once(seconds: list[list[int]]) -> None:
    added = LatencyHistogram()
    for second in seconds:
        added.add(recorded(second))
    at_once = recorded([value for second in seconds for value in second])
    assert added == at_once
    assert (added.min_ms, added.max_ms) == (at_once.min_ms, at_once.max_ms)
    assert added.percentiles_ms(QUANTILES) == at_once.percentiles_ms(QUANTILES)
    assert added.encode() == at_once.encode()


@given(latencies_us)
def test_encoding_and_decoding_gives_an_equal_histogram(values: list[int]) -> None:
    histogram = recorded(values)
    again = LatencyHistogram.decode(histogram.encode())
    assert again == histogram
    assert again.count == len(values)
    assert again.encode() == histogram.encode()
    for before, after in zip(histogram.percentiles_ms(QUANTILES), again.percentiles_ms(QUANTILES), strict=True):
        assert after == (None if before is None else pytest.approx(before, rel=0.001))


@given(latencies_us)
def test_histograms_are_exchanged_with_the_hdrhistogram_library_in_both_directions(values: list[int]) -> None:
    ours, theirs = recorded(values), library_with(values)
    read_by_library = HdrHistogram.decode(ours.encode())
    assert read_by_library.get_total_count() == len(values)
    assert list(read_by_library.counts) == list(theirs.counts)
    assert LatencyHistogram.decode(theirs.encode().decode("ascii")) == ours


def test_values_outside_1_us_to_1_h_are_clamped_and_counted() -> None:
    histogram = LatencyHistogram()
    assert histogram.record_us([-5, 0, 0.4, 1, 1000, HIGHEST_US, HIGHEST_US + 1, math.inf, math.nan]) == 6
    assert histogram.count == 9
    assert histogram.min_ms == 0.001
    assert histogram.max_ms == HIGHEST_US / 1000
    assert histogram.percentile_ms(1.0) == HIGHEST_US / 1000


def test_floats_are_rounded_to_whole_microseconds() -> None:
    assert recorded([50.4, 50.6]) == recorded([50, 51])


def test_a_percentile_is_the_nearest_rank_and_never_above_the_maximum() -> None:
    histogram = recorded([1_000, 2_000, 3_000, 1_000_001])
    assert histogram.percentiles_ms((0, 0.25, 0.5, 0.51, 1)) == (1.0, 1.0, 2.0, 3.001, 1000.001)
    hundred = recorded([1_000 * k for k in range(1, 101)])
    assert hundred.percentile_ms(0.07) == pytest.approx(7, rel=0.001)


def test_an_empty_histogram_has_no_figures() -> None:
    empty = LatencyHistogram()
    assert empty.record_us([]) == 0
    assert (empty.count, empty.min_ms, empty.max_ms) == (0, None, None)
    assert empty.percentiles_ms((0.5, 0.99)) == (None, None)
    assert LatencyHistogram.decode(empty.encode()) == empty


def test_a_copy_is_independent_and_a_cleared_histogram_is_empty() -> None:
    histogram = recorded([10, 20])
    twin = histogram.copy()
    histogram.record_us([30])
    assert (twin.count, histogram.count) == (2, 3)
    histogram.clear()
    assert histogram == LatencyHistogram()
    histogram.record_us([10, 20])
    assert histogram == twin
    assert histogram.max_ms == 0.02


@pytest.mark.parametrize("text", ["", "x", "not base64 at all!", "AAAA", "HISTFAAAAB", "é" * 40, "A" * 4000])
def test_text_that_is_not_a_histogram_raises_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a "):
        LatencyHistogram.decode(text)


def test_a_histogram_of_another_layout_is_refused() -> None:
    text = HdrHistogram(1, 1_000_000, 2).encode().decode("ascii")
    with pytest.raises(ValueError, match="another layout"):
        LatencyHistogram.decode(text)


@given(st.data())
def test_a_damaged_histogram_is_decoded_or_raises_a_value_error(data: st.DataObject) -> None:
    text = list(recorded(range(1, 5000, 7)).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.sampled_from("ABCxyz019+/"))
    try:
        LatencyHistogram.decode("".join(text))
    except ValueError:
        pass


def test_a_histogram_without_references_is_freed_without_a_garbage_collection() -> None:
    gc.disable()  # 190 KB each: a hundred would wait for a collection
    try:
        histogram = LatencyHistogram()
        histogram.record_us([5.0])
        library = weakref.ref(histogram._hdr)
        histogram = LatencyHistogram.decode(histogram.encode())
        assert library() is None
    finally:
        gc.enable()


def histograms() -> list[LatencyHistogram]:
    """Nine histograms of 0 to 40,000 values; three are empty and two are the same."""
    rng = np.random.default_rng(5)
    created = [recorded(rng.lognormal(10, 2.5, count)) for count in (0, 1, 2, 0, 7, 300, 40_000, 0)]
    return [*created, created[6]]


@pytest.mark.parametrize("seed", range(12))
def test_merging_many_histograms_equals_decoding_and_adding_each(seed: int) -> None:
    texts = [histogram.encode() for histogram in random.Random(seed).sample(histograms(), 9)]
    added = LatencyHistogram()
    for text in texts:
        added.add(LatencyHistogram.decode(text))
    all_at_once = merged(texts)
    assert all_at_once == added
    assert all_at_once.count == added.count
    assert (all_at_once.min_us, all_at_once.max_us) == (added.min_us, added.max_us)
    assert all_at_once.percentiles_ms((0.0, 0.5, 0.99, 1.0)) == added.percentiles_ms((0.0, 0.5, 0.99, 1.0))


def test_counts_that_need_several_bytes_are_merged() -> None:
    histogram = recorded(np.full(3_000_000, 1_234.0))
    assert merged([histogram.encode()] * 3).count == 9_000_000


@pytest.mark.parametrize("bad", ["", "HIST", "HISTFAAAB", "not base64 ✂", "AAAA" * 9])
def test_invalid_histograms_are_left_out_of_a_merge(bad: str) -> None:
    good = recorded([1_000.0, 2_000.0])
    assert merged([good.encode(), bad, good.encode()]).count == 4


def test_merging_no_histograms_or_an_empty_one_gives_an_empty_histogram() -> None:
    assert merged([]).count == merged([LatencyHistogram().encode()]).count == 0


def test_a_sum_of_more_seconds_than_may_wait_to_be_merged_has_all_their_values() -> None:
    total = HistogramSum()
    for number in range(MOST_WAITING + 3):
        total.add(recorded([1.0 + number % 7]).encode())
    assert total.histogram.count == MOST_WAITING + 3


def test_a_copy_is_independent_and_has_no_counters_until_they_are_read() -> None:
    total = HistogramSum()
    total.add(recorded([5.0]).encode())
    twin = total.copy()
    total.add(recorded([7.0]).encode())
    assert twin.copy().histogram == recorded([5.0])
    assert twin._merged is None
    assert twin.histogram == recorded([5.0])
    assert total.histogram.count == 2


def test_a_copy_of_nothing_has_no_counters() -> None:
    empty = HistogramSum()
    assert empty.copy()._merged is None
    assert empty._merged is None


@given(st.lists(latencies_us, max_size=4))
def test_percentiles_of_texts_are_those_of_their_sum(parts: list[list[int]]) -> None:
    encoded = [recorded(values).encode() for values in parts]
    assert percentiles_ms(encoded, QUANTILES) == merged(encoded).percentiles_ms(QUANTILES)


def test_percentiles_of_texts_leave_out_what_is_no_histogram() -> None:
    assert percentiles_ms([recorded([5_000]).encode(), "no histogram"], (0.5,)) == merged(
        [recorded([5_000]).encode()]
    ).percentiles_ms((0.5,))
