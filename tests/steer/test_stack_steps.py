"""At which loads stacks are sampled: the lowest measured one and 50% beyond the knee, or the highest rate that was served."""

from __future__ import annotations

from typing import Any

import pytest
from kit.scenario import Scenario

from capexplorer.model.events import Verdict
from capexplorer.model.load import Load, Rate, Users
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict, Peak, RateCapacity, RateVerdict
from capexplorer.steer.stack_steps import steps_at_knee, steps_here

KNEE = CapacityVerdict(knee=KneeVerdict(kind="knee", users=20.0))
RATES = RateVerdict(capacity=RateCapacity(kind="capacity", per_s=100.0, kept_per_s=90.0))


def explored(capacity: CapacityVerdict = KNEE, rates: RateVerdict | None = None, **verdict: Any) -> Timeline:
    """Levels of 2, 5 and 24 users and of 10/s and 90/s, with this verdict."""
    scenario = Scenario().ready().measured(2).measured(5).measured(24)
    scenario.measured(offered_per_s=10.0).measured(offered_per_s=90.0)
    return scenario.add(Verdict(t_s=scenario.t_s, capacity=capacity, rates=rates, **verdict)).timeline


def sampled_at(timeline: Timeline, *, by_rate: bool = False, max_users: int = 500) -> list[Load]:
    """The load before each sampling, from low to high."""
    steps = steps_at_knee(timeline, max_users, by_rate=by_rate)
    kinds = [step.kind for step in steps]
    assert kinds in ([], ["hold", "profile", "hold", "hold", "profile"])
    loads = [step.load for step in steps if step.kind == "hold"]
    assert loads[:1] == loads[1:2], "the neighbour without sampling has the same load"
    return [load for load in reversed(loads[1:]) if isinstance(load, Users | Rate)]


def test_stacks_are_sampled_at_the_lowest_load_and_50_percent_beyond_the_knee_or_20_if_goodput_falls_there() -> None:
    assert sampled_at(explored()) == [Users(2), Users(30)]
    falls = KneeVerdict(kind="knee", users=20.0, peak=Peak(users=30.0, goodput_rps=90.0, fall_ratio=0.4, shape="retrograde"))
    assert sampled_at(explored(CapacityVerdict(knee=falls))) == [Users(2), Users(24)]
    assert sampled_at(explored(), max_users=22) == [Users(2), Users(22)]


def test_a_level_that_does_not_describe_the_service_is_no_low_load() -> None:
    assert sampled_at(explored(left_out_levels=(0,))) == [Users(5), Users(30)]
    assert sampled_at(explored(recovery_levels=(0,))) == [Users(2), Users(30)]


def test_a_level_before_a_restart_with_other_parameters_is_no_low_load() -> None:
    scenario = Scenario().ready().measured(1).ready(epoch=1).measured(2, epoch=1).measured(24, epoch=1)
    scenario.add(Verdict(t_s=scenario.t_s, epoch=1, capacity=KNEE)).measured(3, epoch=1)
    assert sampled_at(scenario.timeline) == [Users(2), Users(30)]


@pytest.mark.parametrize(
    ("capacity", "by_rate", "loads"),
    [
        (KNEE, False, [Users(2), Users(30)]),
        (KNEE, True, [Rate(10.0), Rate(90.0)]),
        (CapacityVerdict(), False, [Rate(10.0), Rate(90.0)]),
    ],
)
def test_at_rates_the_high_one_is_that_which_was_served_in_full(
    capacity: CapacityVerdict, by_rate: bool, loads: list[Load]
) -> None:
    assert sampled_at(explored(capacity, RATES), by_rate=by_rate) == loads


@pytest.mark.parametrize("knee", [None, KneeVerdict(kind="at_or_below", users=2.0), KneeVerdict(kind="knee", users=1.0)])
def test_without_a_knee_above_the_lowest_load_there_are_no_steps(knee: KneeVerdict | None) -> None:
    assert sampled_at(explored(CapacityVerdict(knee=knee))) == []


def test_here_stacks_are_sampled_before_the_same_load_goes_on() -> None:
    assert [(step.kind, step.load) for step in steps_here(Rate(5.0))] == [("profile", Rate(0.0)), ("hold", Rate(5.0))]
