"""Many histograms at once are what they are one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from capexplorer.model.histogram import LatencyHistogram, merged


def histograms() -> list[LatencyHistogram]:
    chance, made = np.random.default_rng(5), []
    for count in (0, 1, 2, 0, 7, 300, 40_000, 0):
        histogram = LatencyHistogram()
        histogram.record_us(chance.lognormal(10, 2.5, count))
        made.append(histogram)
    return [*made, made[6]]


@pytest.mark.parametrize("seed", range(12))
def test_merging_many_histograms_equals_decoding_and_adding_each(seed: int) -> None:
    texts = [histogram.encode() for histogram in random.Random(seed).sample(histograms(), 9)]
    one_by_one = LatencyHistogram()
    for text in texts:
        one_by_one.add(LatencyHistogram.decode(text))
    together = merged(texts)
    assert together == one_by_one
    assert (together.count, together.min_us, together.max_us) == (one_by_one.count, one_by_one.min_us, one_by_one.max_us)
    assert together.percentiles_ms((0.0, 0.5, 0.99, 1.0)) == one_by_one.percentiles_ms((0.0, 0.5, 0.99, 1.0))


def test_a_great_count_takes_several_bytes() -> None:
    histogram = LatencyHistogram()
    histogram.record_us(np.full(3_000_000, 1_234.0))
    assert merged([histogram.encode()] * 3).count == 9_000_000


@pytest.mark.parametrize("bad", ["", "HIST", "HISTFAAAB", "not base64 ✂", "AAAA" * 9])
def test_invalid_histograms_are_left_out_of_a_merge(bad: str) -> None:
    good = LatencyHistogram()
    good.record_us([1_000.0, 2_000.0])
    assert merged([good.encode(), bad, good.encode()]).count == 4


def test_nothing_is_an_empty_histogram() -> None:
    assert merged([]).count == merged([LatencyHistogram().encode()]).count == 0
