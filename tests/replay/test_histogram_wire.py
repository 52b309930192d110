"""Merging encoded latency histograms: the same result as decoding and adding each; invalid ones are left out."""

from __future__ import annotations

import random

import numpy as np
import pytest

from capexplorer.model.histogram import LatencyHistogram, merged


def histograms() -> list[LatencyHistogram]:
    """Nine histograms of 0 to 40,000 values; three are empty and two are the same."""
    rng, created = np.random.default_rng(5), []
    for count in (0, 1, 2, 0, 7, 300, 40_000, 0):
        histogram = LatencyHistogram()
        histogram.record_us(rng.lognormal(10, 2.5, count))
        created.append(histogram)
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
    histogram = LatencyHistogram()
    histogram.record_us(np.full(3_000_000, 1_234.0))
    assert merged([histogram.encode()] * 3).count == 9_000_000


@pytest.mark.parametrize("bad", ["", "HIST", "HISTFAAAB", "not base64 ✂", "AAAA" * 9])
def test_invalid_histograms_are_left_out_of_a_merge(bad: str) -> None:
    good = LatencyHistogram()
    good.record_us([1_000.0, 2_000.0])
    assert merged([good.encode(), bad, good.encode()]).count == 4


def test_merging_no_histograms_or_an_empty_one_gives_an_empty_histogram() -> None:
    assert merged([]).count == merged([LatencyHistogram().encode()]).count == 0
