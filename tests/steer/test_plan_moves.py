"""A plan as the driver of a run: which step is due at which time; shares of the knee, spikes, ramps and rates."""

from __future__ import annotations

import pytest
from analysis.loads import Second, held_session, sample

from capexplorer.model.events import Verdict
from capexplorer.model.load import NO_LOAD, Load, Rate, Users
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict, RateCapacity, RateVerdict
from capexplorer.steer.plan import parse
from capexplorer.steer.plan_moves import CannotGoOn, LetAutopilot, Move, PlanDriver, SampleHere


def plan_of(text: str, knee: KneeVerdict | None = None) -> PlanDriver:
    """The driver of this plan, in a session in which this knee has been found; at most 500 users."""
    timeline = Timeline()
    if knee is not None:
        timeline.apply(Verdict(t_s=1.0, capacity=CapacityVerdict(knee=knee)))
    return PlanDriver(parse(text, "--plan", 500), timeline, 500)


def take_step(plan: PlanDriver, now_s: float, before: Load) -> Move | LetAutopilot | SampleHere | CannotGoOn | None:
    """The step that is due now; its users run at once, so that its duration begins."""
    move = plan.due(now_s, before)
    plan.spawned(now_s)
    return move


KNEE = KneeVerdict(kind="knee", users=47.0)


def test_a_share_of_the_knee_is_rounded_and_within_1_and_the_maximum() -> None:
    assert take_step(plan_of("60% knee:10s", KNEE), 0.0, NO_LOAD) == Move(Users(28))
    assert take_step(plan_of("50:1s, 1% knee:1s", KNEE), 0.0, NO_LOAD) == Move(Users(50))
    assert take_step(plan_of("1% knee:1s", KNEE), 0.0, NO_LOAD) == Move(Users(1))
    most = plan_of("1000% knee:1s", KneeVerdict(kind="knee", users=90.0))
    assert take_step(most, 0.0, NO_LOAD) == Move(Users(500))  # the maximum number of users


def test_a_share_of_a_knee_that_was_not_found_ends_the_plan() -> None:
    for knee in (None, KneeVerdict(kind="no_knee", users=60.0), KneeVerdict(kind="bend", users=60.0)):
        plan = plan_of("60% knee:10s, 5:1s", knee)
        move = take_step(plan, 0.0, NO_LOAD)
        assert isinstance(move, CannotGoOn), f"the knee is {knee}"
        assert "60% of the knee" in move.why


@pytest.mark.parametrize(("text", "move"), [("60:10s, verify", LetAutopilot("verify")), ("60:10s, 50% knee:5s", Move(Users(24)))])
def test_a_step_that_needs_the_knee_waits_until_the_open_level_has_enough_seconds(text: str, move: Move | LetAutopilot) -> None:
    timeline = held_session((60, [Second()] * 5))
    plan = PlanDriver(parse(text, "--plan", 500), timeline, 500)
    assert take_step(plan, 0.0, NO_LOAD) == Move(Users(60))
    assert plan.due(10.0, Users(60)) is None
    assert plan.next_s == 11.0, "it is checked again after a second"
    timeline.apply(sample(7.0, 0, 60, Second()))
    timeline.apply(Verdict(t_s=7.0, capacity=CapacityVerdict(knee=KNEE)))
    assert plan.due(11.0, Users(60)) == move


def test_verify_ends_the_plan_if_the_level_has_enough_seconds_and_no_knee_is_found() -> None:
    plan = PlanDriver(parse("60:10s, verify", "--plan", 500), held_session((60, [Second()] * 6)), 500)
    take_step(plan, 0.0, NO_LOAD)
    assert isinstance(plan.due(10.0, Users(60)), CannotGoOn)


def test_a_ramp_is_linear_in_time_and_ends_at_its_users() -> None:
    plan = plan_of("10:1s, ramp to 50 40s, 50:1s")
    take_step(plan, 0.0, NO_LOAD)
    assert take_step(plan, 1.0, Users(10)) == Move(Users(50), over_s=40.0)
    assert [plan.ramping(now_s) for now_s in (1.0, 11.0, 21.0, 41.0, 99.0)] == [Users(users) for users in (10, 20, 30, 50, 50)]
    assert plan.due(40.9, Users(49)) is None
    assert take_step(plan, 41.0, Users(50)) == Move(Users(50))
    assert plan.ramping(41.0) is None


def test_a_plan_waits_while_the_autopilot_searches_for_the_knee() -> None:
    plan = plan_of("find knee, 5:10s")
    assert take_step(plan, 0.0, NO_LOAD) == LetAutopilot("knee")
    assert plan.next_s is None
    assert take_step(plan, 500.0, Users(30)) is None
    plan.ended(510.0)
    assert plan.next_s is not None
    assert take_step(plan, 510.0, Users(30)) == Move(Users(5))


def test_a_plan_waits_while_stacks_are_sampled() -> None:
    plan = plan_of("30:1s, profile 10s, 5:10s")
    take_step(plan, 0.0, NO_LOAD)
    assert take_step(plan, 1.0, Users(30)) == SampleHere(10.0)
    plan.spawned(1.0)
    assert take_step(plan, 500.0, Users(30)) is None
    plan.ended(510.0)
    assert take_step(plan, 510.0, Users(30)) == Move(Users(5))


def test_verify_starts_the_autopilot_if_a_knee_is_known_and_ends_the_plan_otherwise() -> None:
    plan = plan_of("verify, 5:10s", KNEE)
    assert take_step(plan, 0.0, NO_LOAD) == LetAutopilot("verify")
    plan.ended(60.0)
    assert take_step(plan, 60.0, Users(3)) == Move(Users(5))
    assert take_step(plan_of("verify"), 0.0, NO_LOAD) == CannotGoOn(
        "the plan asks to verify the knee, but no knee has been found"
    )


def test_a_spike_returns_to_the_users_or_the_rate_before_it() -> None:
    plan = plan_of("20:10s, spike 80/s 5s, rate 10/s 1s, spike 50 2s")
    assert take_step(plan, 0.0, NO_LOAD) == Move(Users(20))
    assert take_step(plan, 10.0, Users(20)) == Move(Rate(80.0))
    assert take_step(plan, 15.0, Rate(80.0)) == Move(Users(20), at_once=True)
    assert take_step(plan, 20.0, Users(20)) == Move(Rate(10.0))
    assert take_step(plan, 21.0, Rate(10.0)) == Move(Users(50), at_once=True)
    assert take_step(plan, 23.0, Users(50)) == Move(Rate(10.0))
    assert take_step(plan, 25.0, Rate(10.0)) is None
    assert plan.is_over


def test_a_ramp_of_rates_begins_at_the_rate_before_it_or_at_zero() -> None:
    plan = plan_of("ramp to 400/s 40s, ramp to 100/s 10s")
    assert take_step(plan, 0.0, Users(20)) == Move(Rate(400.0), over_s=40.0)
    assert [plan.ramping(now_s) for now_s in (0.0, 10.0, 99.0)] == [Rate(0.0), Rate(100.0), Rate(400.0)]
    assert take_step(plan, 40.0, Rate(400.0)) == Move(Rate(100.0), over_s=10.0)
    assert plan.ramping(45.0) == Rate(250.0)


def test_a_ramp_ends_as_planned_after_a_suspension() -> None:
    plan = plan_of("ramp to 400/s 40s, 5:20s")
    take_step(plan, 0.0, NO_LOAD)
    plan.suspended(10.0, 3.0)
    assert plan.next_s == 40.0
    take_step(plan, 40.0, Rate(400.0))
    plan.suspended(50.0, 3.0)
    assert plan.next_s == 63.0


def test_a_share_of_the_capacity_needs_a_capacity_as_a_rate() -> None:
    plan = plan_of("60% capacity:10s", KNEE)
    move = take_step(plan, 0.0, NO_LOAD)
    assert isinstance(move, CannotGoOn)
    assert "60% of the capacity" in move.why
    found = Timeline([Verdict(t_s=1.0, rates=RateVerdict(capacity=RateCapacity(kind="capacity", per_s=200.0)))])
    assert PlanDriver(parse("rate 60% capacity 10s", "--plan", 500), found, 500).due(0.0, Users(0)) == Move(Rate(120.0))
