"""The posterior over knees: exact curves of queues give their knee back, and the interval is as wide as the levels are noisy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.curve import SIZES, Knees, _of_queue
from capexplorer.analysis.knee.knee_lines import KneeLines
from capexplorer.analysis.ladder import LadderLevel
from lab.simulation import exact
from lab.simulation.ladders import climb, level_of
from lab.simulation.queues import System

from ..ladders import ideal, rates

SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 1.8)


def knees_of(levels: list[LadderLevel]) -> Knees:
    lines = KneeLines.of(levels)
    assert lines is not None
    return lines.knees


def queue(servers: int, think_s: float, service_s: float = 0.1, error: float = 0.005) -> list[LadderLevel]:
    """M/M/c//N without noise, in levels of these shares of its knee."""
    knee = exact.knee(think_s, servers, service_s)
    users = sorted({max(1, round(share * knee)) for share in SHARES})
    found = [(count, exact.throughput_rps(count, think_s, exact.servers(servers, service_s))) for count in users]
    return [replace(level, goodput_se_rps=error * level.goodput_rps) for level in rates(found, seconds=30)]


@pytest.mark.parametrize("servers", [1, 2, 8])
@pytest.mark.parametrize("think_s", [0.5, 5.0])
def test_an_exact_queue_gives_its_knee(servers: int, think_s: float) -> None:
    knees = knees_of(queue(servers, think_s))
    truth = exact.knee(think_s, servers, 0.1)
    assert knees.median == pytest.approx(truth, rel=0.03)
    assert knees.interval[0] < truth < knees.interval[1]


def test_a_service_of_equal_times_has_an_interval_of_two_percent() -> None:
    exactly = [replace(level, goodput_se_rps=0.0) for level in ideal([5, 10, 20, 30, 40, 48, 52, 60, 80])]
    knees = knees_of(exactly)
    assert knees.median == pytest.approx(50, rel=0.01)
    assert knees.half_width < 0.02


def test_noise_widens_the_interval() -> None:
    widths = [knees_of(queue(1, 5.0, error=error)).half_width for error in (0.005, 0.02, 0.06)]
    assert widths == sorted(widths)
    assert widths[-1] > 2 * widths[0]


def test_below_the_knee_only_its_lower_bound_is_known() -> None:
    knees = knees_of(ideal([5, 10, 20, 30]))
    assert knees.interval[0] > 30
    assert knees.chance_below(30) < 0.05


def test_goodput_that_has_surely_fallen_bounds_the_knee() -> None:
    collapsed = knees_of([*ideal([10, 20, 30]), *rates([(40, 0.0)], seconds=20)])
    assert collapsed.interval[1] <= 40
    assert 29 < collapsed.interval[0]


def test_slow_ends_of_service_times_widen_the_interval_and_do_not_shift_it() -> None:
    """Lognormal service times of one server: just beyond the knee goodput is well below the capacity."""
    system = System(service_s=0.1, think_s=1.5, service_spread="lognormal", think_spread="exponential")
    errors, widths, held = [], [], 0
    for seed in range(12):
        levels = [level_of(each) for each in climb(system, [2, 4, 8, 12, 16, 20, 24], np.random.default_rng(seed), level_s=30)]
        knees = knees_of(levels)
        errors.append(math.log(knees.median / 16))
        widths.append(knees.half_width)
        held += knees.interval[0] <= 16 <= knees.interval[1]
    assert abs(float(np.mean(errors))) < 0.04
    assert held >= 9
    assert float(np.median(widths)) > 0.04


def test_a_further_error_widens_the_interval_alone() -> None:
    knees = knees_of(ideal([10, 20, 30, 40, 60, 80, 100]))
    wider = knees.blurred(0.1)
    assert wider.median == pytest.approx(knees.median, rel=0.01)
    assert wider.half_width == pytest.approx(math.hypot(knees.half_width, 0.164), rel=0.05)
    assert wider.chances.sum() == pytest.approx(1.0)


def test_the_shapes_are_those_of_closed_queues() -> None:
    for size in SIZES[:4]:
        think_s = 0.1 * (size - 1)
        share = np.array([users / size for users in range(1, 3 * size)])
        found = [exact.throughput_rps(users, think_s, exact.servers(1, 0.1)) * 0.1 for users in range(1, 3 * size)]
        assert _of_queue(size, share) == pytest.approx(found, rel=1e-6)
