"""Figures of a level at an offered rate, and levels of the same rate merged into one."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.rate_level import pooled

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


def test_the_time_from_plan_of_pooled_levels_is_the_mean_over_their_finished_iterations() -> None:
    short, long = level(80, seconds=10, from_plan_ms=25, from_plan_se_ms=3), level(80, seconds=60, from_plan_ms=400)
    (one,) = pooled([short, long])
    assert one.from_plan_ms == pytest.approx((25 * 800 + 400 * 4800) / 5600)
    assert one.from_plan_se_ms is None  # that of one level is not known
    (one,) = pooled([short, replace(long, from_plan_se_ms=4)])
    assert one.from_plan_se_ms == pytest.approx(math.hypot(3 * 800, 4 * 4800) / 5600)


def test_bins_of_a_ramp_are_pooled_with_their_time_from_plan() -> None:
    (one,) = pooled([level(10, seconds=4, ramp=True, from_plan_ms=20), level(20, seconds=4, ramp=True, from_plan_ms=50)])
    assert one.from_plan_ms == pytest.approx(40)


def test_the_share_of_refusals_of_pooled_levels_is_that_among_their_failures() -> None:
    (one,) = pooled([level(80, 70, failed=10, refused_ratio=1.0), level(80, 50, failed=30, refused_ratio=0.0)])
    assert one.refused_ratio == pytest.approx(0.25)
