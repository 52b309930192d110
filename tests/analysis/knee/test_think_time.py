"""Goodput at low load is corrected for the think times that users happened to draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from capexplorer.analysis.knee.crossing import crossing, curve_of
from capexplorer.analysis.knee.think_time import common_think_time, corrected
from capexplorer.analysis.ladder import LadderLevel, pooled
from trials.simulation.ladders import climb
from trials.simulation.queues import System
from trials.simulation.shown import level_of

SECONDS = 20.0


def level(users: int, think_s: float, response_s: float = 0.1, *, drawn_s: float | None = None) -> LadderLevel:
    """A level with exponential think times of `think_s`, of which its users drew a mean of `drawn_s`."""
    drawn_s = think_s if drawn_s is None else drawn_s
    rate = users / (drawn_s + response_s)
    requests = round(rate * SECONDS)
    return LadderLevel(
        users=users, goodput_rps=rate, goodput_se_rps=rate / requests**0.5, throughput_rps=rate, requests=requests,
        seconds=SECONDS, response_ms=1000 * response_s, latency_ms=1000 * response_s, latency_se_ms=1.0,
        wait_s=drawn_s, wait_se_s=think_s / requests**0.5,
    )  # fmt: skip


def test_a_level_whose_users_drew_long_think_times_is_corrected_to_the_mean_of_all() -> None:
    lucky = level(5, 0.5, drawn_s=0.55)
    common = common_think_time([lucky, level(20, 0.5), level(40, 0.5), level(80, 0.5)])
    assert common is not None
    assert common.mean_s == pytest.approx(0.5, rel=0.01)
    assert common.variation == pytest.approx(1.0, rel=0.05)
    found = corrected(lucky, common)
    assert found is not None
    assert found[0] == pytest.approx(5 / 0.6, rel=0.01)
    assert found[1] < lucky.goodput_error_rps / 2


@pytest.mark.parametrize(
    "levels",
    [
        [level(5, 0.5), level(20, 0.4, 0.2), level(40, 0.1, 0.5), level(80, 0.02, 0.98)],
        [level(5, 0.5), level(20, 0.5)],
        [replace(level(users, 0.5), wait_se_s=None) for users in (5, 20, 40)],
        [replace(level(users, 0.5), wait_se_s=0.0) for users in (5, 20, 40)],
        [replace(level(users, 0.5), ramp=True) for users in (5, 20, 40)],
    ],
    ids=["they depend on the load", "two levels", "declared, not measured", "constant", "a ramp"],
)
def test_nothing_is_corrected_where_think_times_are_not_one_distribution(levels: list[LadderLevel]) -> None:
    assert common_think_time(levels) is None


def test_a_level_that_is_known_as_well_without_it_is_not_corrected() -> None:
    sure = replace(level(400, 0.5, drawn_s=0.51), goodput_se_rps=0.0)
    common = common_think_time([level(5, 0.5), level(20, 0.5), sure])
    assert common is not None and corrected(sure, common) is None


def test_the_slope_of_simulated_services_varies_less_by_a_third() -> None:
    system = System(service_s=0.08, think_s=0.5, servers=4)
    slopes = []
    for seed in range(40):
        levels = [level_of(each) for each in climb(system, [3, 6, 9, 15, 40, 60, 80], np.random.default_rng(seed), level_s=10)]
        blind = [replace(each, wait_se_s=None) for each in levels]
        slopes.append([crossing(curve_of(pooled(ladder))).rps_per_user for ladder in (levels, blind)])
    spread, spread_without = np.std(slopes, axis=0)
    assert spread < spread_without * 2 / 3
    assert np.mean(slopes, axis=0)[0] == pytest.approx(1 / 0.58, rel=0.01)
