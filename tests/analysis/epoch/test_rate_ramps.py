"""Ramps of an offered rate: bins in, capacity out; and sessions of simulated services."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from msgspec.structs import replace

from capexplorer.analysis.epoch.measured_rates import chronological, growth_of_rate, rate_ladder, split
from capexplorer.analysis.knee.rate_capacity import judge_rates
from capexplorer.analysis.knee.rate_level import RateLevel, pooled
from capexplorer.analysis.ladder import LevelPart, Measured
from capexplorer.model.figures import LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.load import OfferedFigures
from capexplorer.model.verdicts import RateVerdict
from lab.simulation.moving import ramped_rates
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import System
from lab.simulation.virtual import VirtualRates

from ..rates.levels import level

SEED = 220_000
RISING = (5.0, 15.0, 25.0, 35.0, 45.0, 55.0)


def bins(goodput: Sequence[float], *, seconds: float = 12, failing: bool = False) -> list[RateLevel]:
    """Bins of a ramp over the rates RISING with this goodput; all other iterations failed, or are in flight."""
    return [
        level(rate, good, failed=rate - good if failing else 0.0, seconds=seconds, ramp=True)
        for rate, good in zip(RISING, goodput, strict=True)
    ]


@pytest.mark.parametrize(
    ("ramp", "kind", "per_s"),
    [
        (bins(RISING), "keeps_up", 55),
        (bins((5, 15, 25, 29, 30, 30)), "capacity", 30),
        (bins((5, 15, 25, 25, 25, 25), failing=True), "capacity", 25),
        (bins((2, 2, 2, 2, 2, 2)), "at_or_below", 2),
        (bins(RISING, seconds=0.5), None, None),
    ],
    ids=["all served", "a queue grows", "it refuses", "overload from the first bin on", "too few arrivals"],
)
def test_bins_are_judged_as_levels_are(ramp: list[RateLevel], kind: str | None, per_s: float | None) -> None:
    found = judge_rates(ramp)
    assert (found.kind if found else None) == kind
    assert found is None or found.per_s == pytest.approx(per_s, rel=0.05)


def test_the_interval_of_a_short_ramp_is_wider() -> None:
    def width(seconds: float) -> float:
        found = judge_rates(bins((5, 15, 25, 30, 30, 30), seconds=seconds))
        assert found is not None and found.low_per_s is not None and found.high_per_s is not None
        return found.high_per_s - found.low_per_s

    assert width(12) > 1.5 * width(60)


def test_a_bin_with_high_goodput_before_one_with_low_goodput_is_no_collapse() -> None:
    high = [level(24.0, 24.0, seconds=15, ramp=True), level(29.5, 29.5, seconds=10, ramp=True)]
    found = judge_rates([level(18.0, seconds=15, ramp=True), *high, level(32.0, 23.4, seconds=9, ramp=True)])
    assert found is not None
    assert found.kind == "capacity"
    assert 23.4 < found.per_s < 29.5


def test_bins_with_few_arrivals_are_pooled_with_their_neighbours_until_they_have_enough() -> None:
    found = pooled(bins(RISING, seconds=3))
    assert [round(each.rate_per_s) for each in found] == [20, 50]
    assert found[0].due == 3 * (5 + 15 + 25 + 35)
    assert found[0].ramp


def test_a_level_of_one_rate_is_pooled_with_no_bin() -> None:
    found = pooled([level(20, seconds=3), *bins(RISING, seconds=12)])
    assert [round(each.rate_per_s) for each in found] == [10, 20, 25, 35, 45, 55]


def test_work_in_flight_that_grows_with_the_rate_is_no_queue() -> None:
    """Little's law: 10/s more within each bin, and 3 s in the service, are 30 more in flight."""
    served = [level(rate, rate - 30 / 12, seconds=12, ramp=True, growth_of_rate=30.0) for rate in RISING]
    found = judge_rates(served)
    assert found is not None
    assert (found.kind, found.per_s) == ("keeps_up", 55)


def _bin(rate: float) -> LevelPart:
    """A bin of 10 s with iterations of 2 s."""
    offered = OfferedFigures(offered_per_s=rate, finished=100, from_plan_ms=Latency(mean=2000.0))
    return LevelPart(0.0, LevelFigures(settled=True, settled_seconds=10.0, offered=offered), 0.0, 60.0)


def test_a_ramp_down_runs_from_its_highest_bin_and_its_work_in_flight_shrinks() -> None:
    parts = [_bin(5.0), _bin(15.0)]
    ran = chronological(parts, -1.0)
    assert [part.figures.offered.offered_per_s for part in ran if part.figures.offered] == [15.0, 5.0]
    assert growth_of_rate(ran, -1.0) == [-20.0, -20.0]


def test_bins_on_the_way_down_from_overload_are_recovery_and_not_in_the_curve() -> None:
    up = bins((5, 15, 25, 25, 25, 25), failing=True)
    down = [level(rate, 0.0, failed=rate, seconds=12, ramp=True, index=1) for rate in (50.0, 40.0, 20.0, 3.0)]
    fit, recovering = split([*up, *down])
    assert fit == up
    assert recovering == down


@cache
def ramped(system: System, to_per_s: float, seconds: int, *, after_per_s: float = 0.0) -> VirtualRates:
    session = VirtualRates(OpenRun(system, np.random.default_rng(SEED)), objectives={"p95_ms": 200.0})
    session.ramp(to_per_s, seconds)
    if after_per_s:
        session.climb([after_per_s], 16)
    session.end()
    return session


def verdict(session: VirtualRates) -> RateVerdict:
    found = session.timeline.verdict
    assert found is not None
    assert found.rates is not None
    return found.rates


def test_a_ramp_beyond_the_capacity_gives_capacity_interval_limit_and_objective() -> None:
    session = ramped(System(1 / 50, 0), 100, 120)
    found = verdict(session)
    assert found.capacity is not None
    assert found.capacity.kind == "capacity"
    assert found.capacity.limit == "queue_growth"
    assert found.capacity.per_s == pytest.approx(50, rel=0.06)
    assert found.objectives[0].state == "crossed"
    assert 20 < (found.objectives[0].per_s or 0) < 52


def test_a_ramp_that_stays_below_the_capacity_was_served_in_full_and_users_in_long_tasks_are_no_queue() -> None:
    slow = System(3.0, 0, linear=True, service_spread="constant")  # 3 s in each task, as many as come
    found = verdict(ramped(slow, 60, 60)).capacity
    assert found is not None
    assert found.kind == "keeps_up"
    assert found.per_s == pytest.approx(58, rel=0.1)


def test_the_limit_of_a_service_that_refuses_requests_is_errors_and_not_queue_growth() -> None:
    found = verdict(ramped(System(1 / 50, 0, queue_limit=20), 120, 90, after_per_s=20)).capacity
    assert found is not None
    assert found.kind == "capacity"
    assert found.limit == "errors"
    assert found.overload is not None
    assert found.overload.kind == "refuses"
    assert found.per_s == pytest.approx(50, rel=0.08)


def test_a_bin_near_zero_without_arrivals_is_no_fault() -> None:
    """The first bin of this ramp has no arrival; the constant rate after the ramp is served without failures."""
    found = ramped_rates("linear", 900_027).verdict
    assert found is not None
    assert [regime.began_s for regime in found.regimes if regime.inside] == []


def test_a_bin_without_failures_on_the_way_down_makes_no_fault_of_failing_bins_on_the_way_up() -> None:
    found = ramped_rates("timeouts", 900_018).verdict
    assert found is not None
    assert [regime.began_s for regime in found.regimes if regime.inside] == []


def test_a_bin_that_other_processes_disturbed_is_left_out_alone() -> None:
    timeline = _ramped(System(1 / 100, 0), 160.0).timeline
    ladder = rate_ladder(timeline, 0, timeline.levels)
    crowded = {index for index, rate in enumerate(ladder.rates) if rate.rate_per_s > 140}
    measured = [_crowded(each) if index in crowded else each for index, each in enumerate(ladder.measured)]
    assert [rate for index, rate in enumerate(ladder.rates) if index not in crowded and rate.due] == (
        replace(ladder, measured=tuple(measured)).usable
    )


def _ramped(system: System, to_per_s: float) -> VirtualRates:
    session = VirtualRates(OpenRun(system, np.random.default_rng(SEED)))
    session.step(1.0)
    session.ramp(to_per_s, 60)
    session.end()
    return session


def _crowded(each: Measured) -> Measured:
    return replace(each, ladder_level=replace(each.ladder_level, disturbed=True, goodput_disturbed=True))
