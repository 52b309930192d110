"""Figures of a level at an offered rate, and levels of the same rate merged into one."""

from __future__ import annotations

import math

import pytest

from capexplorer.analysis.rates.rate_level import pooled

from .levels import level


def test_iterations_that_neither_ended_nor_were_dropped_count_as_growth() -> None:
    assert level(100, 80, failed=5, dropped=5).growth == 200


def test_the_error_of_goodput_is_at_least_that_of_a_poisson_count() -> None:
    assert level(100, goodput_se_per_s=0.001).goodput_error_per_s == pytest.approx(math.sqrt(2000) / 20)
    assert level(10_000).goodput_error_per_s == pytest.approx(200)  # 2%: the machine's speed


def test_levels_of_one_rate_are_pooled_into_one_with_the_sums_of_their_counts() -> None:
    one, other = pooled([level(200), level(100, p95_ms=30), level(101, p95_ms=50, service_ms=40, seconds=10)])
    assert (one.due, one.seconds, one.p95_ms) == (3010, 30, 50)
    assert one.service_ms == pytest.approx((20 * 2000 + 40 * 1010) / 3010)
    assert other.rate_per_s == 200
