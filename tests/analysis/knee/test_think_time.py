"""Goodput at low load without the chance of the think times that users happened to draw."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.knee_lines import KneeLines
from capexplorer.analysis.knee.think_time import Correction, common_think_time, correction
from capexplorer.analysis.ladder import LadderLevel
from lab.simulation.ladders import climb, level_of
from lab.simulation.queues import System

SECONDS = 20.0


def level(
    users: int, think_s: float, response_s: float = 0.1, *, drawn_s: float | None = None, lost_s: float = 0.0
) -> LadderLevel:
    """A level with exponential think times of `think_s`, of which its users drew a mean of `drawn_s`. Each request loses `lost_s`
    outside response and think time."""
    drawn_s = think_s if drawn_s is None else drawn_s
    rate = users / (drawn_s + response_s + lost_s)
    requests = round(rate * SECONDS)
    return LadderLevel(
        users=users, goodput_rps=rate, goodput_se_rps=rate / requests**0.5, throughput_rps=rate, requests=requests,
        seconds=SECONDS, response_ms=1000 * response_s, latency_ms=1000 * response_s, latency_se_ms=1.0,
        wait_s=drawn_s, wait_se_s=think_s / requests**0.5, failure_ratio=0.0,
    )  # fmt: skip


def lines_of(levels: list[LadderLevel]) -> KneeLines:
    lines = KneeLines.of(levels)
    assert lines is not None
    return lines


def corrected(levels: list[LadderLevel]) -> Correction:
    found = correction(levels)
    assert found is not None
    return found


def test_a_level_whose_users_drew_long_think_times_gets_the_goodput_of_the_mean_think_time() -> None:
    found = corrected([level(5, 0.5, drawn_s=0.55), level(20, 0.5), level(40, 0.5), level(80, 0.5)])
    assert found.at_low_load[0] is not None
    rate, error = found.at_low_load[0]
    assert rate == pytest.approx(5 / 0.6, rel=0.01)
    assert error == pytest.approx(0.02 * rate)
    assert 0.01 < found.shared_error < 0.03


def test_think_times_in_common_have_a_mean_an_error_and_a_variation() -> None:
    common = common_think_time([level(5, 0.5), level(20, 0.5), level(40, 0.5)])
    assert common is not None
    assert common.mean_s == pytest.approx(0.5)
    assert common.error_s == pytest.approx(0.5 / 2167**0.5, rel=0.01)
    assert common.variation == pytest.approx(1.0, rel=0.01)


def test_time_that_is_lost_at_low_load_stays_in_the_goodput_of_all_levels() -> None:
    found = corrected([level(5, 0.5, drawn_s=0.55, lost_s=0.06), *(level(users, 0.5, lost_s=0.06) for users in (20, 40, 80))])
    assert found.at_low_load[0] is not None
    assert found.at_low_load[0][0] == pytest.approx(5 / 0.66, rel=0.02)


def test_a_level_that_loses_more_time_than_those_at_low_load_is_left_as_it_is() -> None:
    found = corrected([level(5, 0.5), level(20, 0.5), level(40, 0.5), level(80, 0.5, lost_s=0.3)])
    assert found.at_low_load[-1] is None
    assert found.at_low_load[1] is not None and found.at_low_load[1][0] == pytest.approx(20 / 0.6, rel=0.01)


def test_levels_may_be_given_in_any_order() -> None:
    levels = [level(5, 0.5), level(20, 0.5), level(40, 0.5), level(80, 0.5, lost_s=0.3)]
    assert corrected(levels[::-1]).at_low_load == corrected(levels).at_low_load[::-1]


def test_failed_requests_are_no_goodput_of_a_corrected_level() -> None:
    failing = replace(level(20, 0.5), failure_ratio=0.01, goodput_rps=0.99 * 20 / 0.6)
    found = corrected([level(5, 0.5), failing, level(40, 0.5)])
    assert found.at_low_load[1] is not None and found.at_low_load[1][0] == pytest.approx(0.99 * 20 / 0.6, rel=0.005)


def test_a_level_that_fails_is_left_as_it_is() -> None:
    failing = replace(level(60, 0.5), failure_ratio=0.3, goodput_rps=70.0)
    assert corrected([level(5, 0.5), level(20, 0.5), level(40, 0.5), failing]).at_low_load[-1] is None


@pytest.mark.parametrize(
    "levels",
    [
        [level(5, 0.5), level(20, 0.4, 0.2), level(40, 0.1, 0.5), level(80, 0.02, 0.98)],
        [level(5, 0.5), level(20, 0.5)],
        [replace(level(users, 0.5), wait_se_s=None) for users in (5, 20, 40)],
        [replace(level(users, 0.5), wait_se_s=0.0) for users in (5, 20, 40)],
        [replace(level(users, 0.5), wait_se_s=1e-17) for users in (5, 20, 40)],
        [replace(level(users, 0.5), ramp=True) for users in (5, 20, 40)],
        [replace(level(users, 0.5), goodput_se_rps=0.0, throughput_rps=None) for users in (5, 20, 40)],
    ],
    ids=[
        "they depend on the load",
        "two levels",
        "declared, not measured",
        "constant",
        "constant but for rounding",
        "a ramp",
        "rates are not known",
    ],
)
def test_nothing_is_corrected_where_think_times_are_not_one_distribution_or_figures_are_missing(
    levels: list[LadderLevel],
) -> None:
    assert correction(levels) is None


def test_one_user_who_drew_long_think_times_does_not_end_the_line() -> None:
    # recorded: 17 requests in 7 s with 9.2 s of think time, since the end of the level cut off the last one
    alone = replace(
        level(1, 0.4, 0.002), seconds=7.0, requests=17, goodput_rps=2.43, throughput_rps=2.43, goodput_se_rps=0.41, wait_s=0.54
    )
    levels = [alone, *(level(users, 0.4, 0.002) for users in (3, 6, 12, 24))]
    assert lines_of(levels).knees.rps_per_user == pytest.approx(1 / 0.402, rel=0.02)


def test_the_correction_reduces_the_spread_of_the_slopes_of_a_simulated_service() -> None:
    system = System(service_s=0.08, think_s=0.5, servers=4)
    slopes = []
    for seed in range(40):
        levels = [level_of(each) for each in climb(system, [3, 6, 9, 15, 40, 60, 80], np.random.default_rng(seed), level_s=10)]
        uncorrected = [replace(each, wait_se_s=None) for each in levels]
        slopes.append([lines_of(ladder).knees.rps_per_user for ladder in (levels, uncorrected)])
    spread, spread_without = np.std(slopes, axis=0)
    assert spread < 0.65 * spread_without
    assert np.mean(slopes, axis=0)[0] == pytest.approx(1 / 0.58, rel=0.01)


def test_a_generator_that_is_the_limit_keeps_its_knee() -> None:
    system = System(service_s=0.01, think_s=0.3, servers=8, generator_s=0.02)
    levels = [level_of(each) for each in climb(system, range(2, 33, 3), np.random.default_rng(1), level_s=10)]
    truth = (0.01 + 0.3 + 0.02) / 0.02
    assert lines_of(levels).users == pytest.approx(truth, rel=0.1)
