"""Ramps whose bins are short or empty: errors by counts, the weight of long holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capexplorer.analysis.knee.detector import judge
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.model.verdicts import KneeVerdict


def ramp_bin(
    users: float, rate: float, seconds: float, *, response_s: float | None = None, arrivals_per_s: float = 0.0
) -> LadderLevel:
    """A bin of a ramp."""
    return LadderLevel(
        users=users,
        goodput_rps=rate,
        throughput_rps=rate,
        seconds=seconds,
        requests=round(rate * seconds),
        response_ms=None if response_s is None else 1000 * response_s,
        failure_ratio=0.0 if rate else None,
        ramp=True,
        arrivals_per_s=arrivals_per_s,
    )


def hold(users: float, rate: float, seconds: float, *, se: float, response_s: float | None = None) -> LadderLevel:
    return LadderLevel(
        users=users,
        goodput_rps=rate,
        goodput_se_rps=se,
        throughput_rps=rate,
        seconds=seconds,
        requests=round(rate * seconds),
        response_ms=None if response_s is None else 1000 * response_s,
        failure_ratio=0.0,
    )


def knee_of(levels: list[LadderLevel]) -> KneeVerdict:
    knee = judge(levels).knee
    assert knee is not None
    return knee


SLOW_RAMP = [
    *(ramp_bin(users, 0.0, 1.0) for users in (3, 6, 9)),
    ramp_bin(12, 1.0, 2.0, response_s=2.2),
    ramp_bin(15, 2.0, 2.0, response_s=2.4),
    ramp_bin(18, 2.5, 2.0, response_s=3.5),
    ramp_bin(22, 2.5, 2.0, response_s=5.0),
    ramp_bin(26, 2.0, 2.0, response_s=6.5),
    ramp_bin(30, 2.5, 2.0, response_s=8.0),
    ramp_bin(35, 2.5, 2.0, response_s=9.5),
    ramp_bin(40, 2.0, 2.0, response_s=11.5),
    ramp_bin(45, 2.5, 2.0, response_s=13.0),
    hold(50, 2.4, 60.0, se=0.05, response_s=18.8),
]
"""10 users reach the capacity of 2.4/s; the ramp was faster than the first responses. At its top 45 of 50 users wait for one."""


def test_the_standard_error_of_a_bin_without_requests_is_one_request() -> None:
    assert ramp_bin(3, 0.0, 2.0).goodput_error_rps == 0.5
    assert hold(3, 0.0, 20.0, se=0.0).goodput_error_rps == pytest.approx(1 / 20)


def test_the_standard_error_of_a_short_bin_is_that_of_its_count_and_of_a_few_seconds() -> None:
    assert ramp_bin(30, 100.0, 1.0).goodput_error_rps == pytest.approx(math.hypot(10.0, 10.0))


def test_empty_bins_at_the_start_of_a_ramp_do_not_hide_that_it_is_saturated() -> None:
    found = knee_of(SLOW_RAMP)
    assert found.kind != "no_knee"
    assert found.users is not None
    assert found.users < 50


@pytest.mark.parametrize("seconds", [1.0, 2.0, 3.0])
def test_two_short_bins_with_high_goodput_do_not_outweigh_a_long_hold(seconds: float) -> None:
    line = [ramp_bin(users, 2.1 * users, 2.0) for users in (20, 40, 60, 80, 100, 120, 140)]
    high = [ramp_bin(160, 396.0, seconds), ramp_bin(170, 396.0, seconds)]
    found = knee_of([*line, *high, hold(200, 317.0, 60.0, se=4.0)])
    assert found.capacity_rps == pytest.approx(317, rel=0.1)


def test_many_bins_that_agree_are_not_outweighed_by_a_hold_after_the_collapse() -> None:
    line = [ramp_bin(users, 0.4 * users, 1.0) for users in range(20, 260, 20)]
    collapsed = [ramp_bin(users, 35.0, 1.0) for users in range(300, 500, 20)]
    found = knee_of([*line, *collapsed, hold(500, 40.0, 56.0, se=2.0)])
    assert found.capacity_rps is not None
    assert found.capacity_rps > 80


def test_the_interval_of_a_ramp_contains_the_knee_despite_poisson_scatter_of_its_bins() -> None:
    """A line to 100 users and 100/s, then 40 bins that scatter around 100/s as counts of one second do."""
    random = np.random.default_rng(1)
    covered = []
    for _ in range(20):
        rates = [min(users, 100.0) for users in range(5, 305, 5)]
        bins = [ramp_bin(5.0 * (index + 1), float(random.poisson(rate)), 1.0) for index, rate in enumerate(rates)]
        found = knee_of(bins)
        assert found.users is not None
        assert found.users_low is not None
        assert found.users_high is not None
        assert found.users_low <= found.users <= found.users_high
        covered.append(found.users_low <= 100 <= found.users_high)
    assert sum(covered) >= 17


def test_users_who_wait_for_a_response_add_no_first_request_to_the_rate() -> None:
    """Renewal theory: a new user's first request adds half a request, less the share of its cycle that it waits for responses."""
    quick = ramp_bin(100, 50.0, 2.0, response_s=0.01, arrivals_per_s=5.0)
    slow = ramp_bin(100, 50.0, 2.0, response_s=1.9, arrivals_per_s=5.0)
    assert quick.steady_rps == pytest.approx(50 - 0.6 * 5, rel=0.01)
    assert slow.steady_rps == 50.0
