"""Levels of recovery from overload, and the verdict on them."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.detector import analyse, recovery_of, split
from capexplorer.analysis.ladder import LadderLevel

from ..ladders import ideal, rates


def users_of(levels: tuple[LadderLevel, ...]) -> list[float]:
    return [level.users for level in levels]


def test_levels_on_the_way_down_from_overload_are_left_out_of_the_fit() -> None:
    fit, recovery = split(ideal([10, 20, 40, 60, 100, 60, 30, 40, 120]))
    assert users_of(recovery) == [60, 30]
    assert users_of(fit) == [10, 20, 40, 60, 100, 40, 120]


def test_going_down_without_overload_is_not_recovery() -> None:
    assert split(ideal([10, 20, 30, 20, 10]))[1] == ()


def test_a_level_with_fewer_users_than_all_earlier_ones_is_in_the_fit() -> None:
    assert users_of(split(ideal([60, 80, 100, 40, 20]))[0]) == [60, 80, 100, 40, 20]
    assert analyse(ideal([60, 80, 100, 40, 20])).knee is not None


def test_a_recovery_level_with_low_goodput_does_not_move_the_knee_if_the_service_recovers() -> None:
    levels = ideal([10, 20, 30, 40, 60, 80])
    broken = replace(levels[2], goodput_rps=2.0, throughput_rps=2.0)
    knee = analyse([*levels, broken, levels[1]]).knee
    assert knee is not None
    assert knee.users == pytest.approx(50, rel=0.02)


@pytest.mark.parametrize(
    ("back", "kind"),
    [((7, 9.9), "bend"), ((7, 22.4), "knee"), ((16, 30.0), "knee")],
    ids=["less than half", "as before", "too near to the top to show low load"],
)
def test_any_load_far_below_the_top_that_has_less_goodput_on_its_return_shows_that_there_is_no_knee(
    back: tuple[float, float], kind: str
) -> None:
    """Recorded: a service without a limit, whose responses grew from 100 to 500 ms between 30 and 60 s; users think for 0.2 s."""
    levels = rates([(1, 3.3), (3, 9.8), (6, 19.9), (12, 34.4), (18, 34.4), (22, 34.4), back], seconds=20)
    knee = analyse([replace(level, goodput_se_rps=0.02 * level.goodput_rps) for level in levels]).knee
    assert knee is not None
    assert knee.kind == kind


@pytest.mark.parametrize("seed", range(20))
def test_with_few_requests_a_second_a_longer_average_is_needed_for_a_verdict(seed: int) -> None:
    """At 11 requests a second the mean of five seconds is sometimes below 90% of the long-term mean."""
    finished = np.random.default_rng(seed).binomial(22, 0.5, 60).astype(float).tolist()  # 0.7 of Poisson, as measured live
    before = ideal([5.5, 10, 20, 40])
    assert recovery_of(before, 40, 5.5, finished, [50.0] * 60).recovered is True
    assert recovery_of(before, 40, 5.5, finished[:4], [50.0] * 4).recovered is None


def test_recovery_takes_until_goodput_and_latency_are_back_permanently() -> None:
    before = ideal([10, 20, 30, 40, 60, 80])
    finished = [5.0] * 20 + [40.0] * 20
    latencies = [900.0] * 25 + [50.0] * 15
    found = recovery_of(before, 80, 20, finished, latencies)
    assert found.recovered is True
    assert found.after_s == pytest.approx(25, abs=5)
    assert found.goodput_ratio == pytest.approx(1.0)


def test_a_backlog_that_is_still_worked_off_is_not_recovery() -> None:
    """Measured: the task queue at 60 users after 200: it finishes 18.5 tasks/s for 75 s, of which the 60 users send 12/s."""
    before = [replace(level, work_is_metric=True) for level in rates([(20, 4.0), (60, 12.0), (90, 18.0), (200, 18.5)])]
    found = recovery_of(before, 200, 60, [18.5] * 75 + [12.0] * 45, [5.0] * 120)
    assert found.recovered is True
    assert found.after_s == pytest.approx(75, abs=15)
    assert recovery_of(before, 200, 60, [18.5] * 75, [5.0] * 75).recovered is False


def test_latency_that_is_higher_by_no_more_than_the_lag_of_the_generators_timers_has_recovered() -> None:
    """Measured: the task queue at 60 users, 3 ms instead of 2 ms while another process used the CPU."""
    before = [replace(level, latency_ms=2.0) for level in rates([(20, 4.0), (60, 12.0), (90, 18.0), (200, 18.5)])]
    after = (before, 200, 60, [12.0] * 40, [3.0] * 40)
    assert recovery_of(*after, [11.0] * 40).recovered is True
    assert recovery_of(*after, [0.5] * 40).recovered is False
    assert recovery_of(*after).recovered is False


def noisy(mean_ms: float, error_ms: float) -> list[LadderLevel]:
    """Low loads of a service whose latency varies much: a mean over eight seconds has this standard error."""
    levels = rates([(1, 2.5), (6, 14.0), (58, 59.0)], seconds=8.0)
    return [replace(level, latency_ms=mean_ms, latency_se_ms=error_ms) for level in levels]


def test_latency_at_a_return_that_differs_by_no_more_than_its_own_error_is_no_failed_recovery() -> None:
    """Recorded: one user of a service with lognormal times, 21 requests in 8 s: 83 ms, then 121 and 141 ms on its return."""
    for returned_ms in (121.0, 141.0):
        assert recovery_of(noisy(83.0, 22.0), 29, 1, [2.4] * 30, [returned_ms] * 30).recovered is not False
    assert recovery_of(noisy(83.0, 22.0), 29, 1, [2.4] * 30, [240.0] * 30).recovered is False
    assert recovery_of(noisy(83.0, 22.0), 29, 1, [2.4] * 10, [240.0] * 10).recovered is None  # too few requests
    assert recovery_of(noisy(83.0, 2.0), 29, 1, [2.4] * 30, [141.0] * 30).recovered is False


@pytest.mark.parametrize("share", [1.12, 1.5])
def test_a_return_that_is_better_than_before_is_no_failed_recovery(share: float) -> None:
    found = recovery_of(ideal([10, 20, 40, 80]), 80, 20, [40.0 * share] * 40, [50.0 / share] * 40)
    assert (found.recovered, found.after_s) == (True, 0.0)


def test_a_service_whose_figures_stay_worse_has_not_recovered() -> None:
    found = recovery_of(ideal([10, 20, 40, 80]), 80, 20, [30.0] * 40, [50.0] * 40)
    assert (found.recovered, found.after_s) == (False, None)
    assert found.goodput_ratio == pytest.approx(0.75)


def test_recovery_at_a_load_that_was_not_measured_before_is_unknown() -> None:
    assert recovery_of(ideal([40, 80]), 80, 10, [20.0] * 30, [50.0] * 30).recovered is None


def recorded(returned_ms: float) -> list[LadderLevel]:
    """A recorded session with a pool of five, 100 ms each, and exponential think times of 0.4 s. At its end it returns to one
    user, with responses of `returned_ms`."""
    figures = [  # users, seconds, requests, response in ms, mean of the think times that were drawn
        (1, 7.0, 17, 102.4, 0.313), (3, 10.0, 58, 102.1, 0.388), (6, 7.0, 79, 102.1, 0.418), (12, 7.0, 177, 104.9, 0.375),
        (24, 6.0, 288, 150.6, 0.357), (48, 7.0, 348, 557.3, 0.402), (58, 6.0, 300, 808.1, 0.380), (17, 20.0, 666, 109.7, 0.401),
        (30, 6.0, 300, 199.9, 0.401), (1, 7.0, 7, returned_ms, 0.843),
    ]  # fmt: skip
    return [
        LadderLevel(
            users=users, goodput_rps=requests / seconds, goodput_se_rps=0.3 * requests**0.5 / seconds,
            throughput_rps=requests / seconds, requests=requests, seconds=seconds, response_ms=response_ms,
            latency_ms=response_ms, latency_se_ms=1.0, wait_s=think_s, wait_se_s=0.4 / requests**0.5, failure_ratio=0.0,
            started_s=20.0 * index,
        )
        for index, (users, seconds, requests, response_ms, think_s) in enumerate(figures)
    ]  # fmt: skip


def test_a_return_with_less_goodput_because_of_long_think_times_does_not_dispute_the_knee() -> None:
    knee = analyse(recorded(101.6)).knee
    assert knee is not None and knee.kind == "knee"
    assert knee.users == pytest.approx(25, rel=0.05)


def test_a_return_with_less_goodput_because_of_slow_responses_disputes_the_knee() -> None:
    knee = analyse(recorded(1_016.0)).knee
    assert knee is not None and knee.kind == "bend"
