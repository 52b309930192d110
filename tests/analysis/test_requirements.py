"""Answers to requirements, from levels of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from kit.scenario import Scenario

from capexplorer.analysis.requirements import (
    LOWER_BOUNDS,
    Requirements,
    deciding_hits,
    seen_effect,
    share_interval,
    share_state,
    slow_replies,
)
from capexplorer.model.events import Sample, Verdict
from capexplorer.model.load import Drops, OfferedTick, Rate, Users
from capexplorer.model.readings import GeneratorReading, NeighboursReading
from capexplorer.model.requirements import (
    Answer,
    CapacityRequired,
    FailuresRequired,
    KneeRequired,
    PercentileAnswer,
    PercentileRequired,
    Requirement,
    State,
)
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeVerdict, RateCapacity, RateVerdict

P95 = PercentileRequired(95.0, 100.0, Users(8))
FAILURES = FailuresRequired(0.05, Users(8))


def answers(scenario: Scenario, *required: Requirement) -> Sequence[Answer]:
    """The answers after all events, asked before the first one."""
    timeline, asked = Timeline(), Requirements()
    for each in required:
        asked.require(each, timeline)
    for event in scenario.events:
        timeline.apply(event)
        if isinstance(event, Sample):
            asked.add(event, timeline)
    return asked.answers(timeline)


# -- shares


@pytest.mark.parametrize(
    ("hits", "requests", "state"), [(0, 400, "met"), (20, 400, "undecided"), (60, 400, "not_met"), (0, 20, "undecided")]
)
def test_a_share_is_decided_once_its_interval_is_on_one_side(hits: float, requests: float, state: State) -> None:
    assert share_state(hits, requests, 1.0, 0.05) == state
    low, high = share_interval(hits, requests, 1.0)
    assert low <= hits / requests <= high
    assert (high <= 0.05, low > 0.05) == (state == "met", state == "not_met")


def test_a_greater_design_effect_widens_the_interval() -> None:
    independent, alike = share_interval(20, 400, 1.0), share_interval(20, 400, 4.0)
    assert alike[0] < independent[0] and alike[1] > independent[1]


@pytest.mark.parametrize("effect", [1.0, 3.0])
def test_the_hits_that_decide_are_those_at_which_the_interval_touches_the_bound(effect: float) -> None:
    met, not_met = deciding_hits(1000, effect, 0.05)
    assert met is not None and not_met is not None and met < 50 < not_met
    assert share_interval(met, 1000, effect)[1] == pytest.approx(0.05, rel=1e-3)
    assert share_interval(not_met, 1000, effect)[0] == pytest.approx(0.05, rel=1e-3)


def test_too_few_requests_decide_nothing() -> None:
    assert deciding_hits(10, 1.0, 0.01)[0] is None


def test_independent_hits_are_decided_wrongly_as_rarely_as_promised() -> None:
    """300 services at the bound, looked at every 20 requests: at most 2% each way."""
    rng, wrong = np.random.default_rng(7), {"met": 0, "not_met": 0, "undecided": 0}
    for _ in range(300):
        hits = np.cumsum(rng.binomial(20, 0.05, 60))
        states = [share_state(float(seen), 20.0 * looked, 1.0, 0.05) for looked, seen in enumerate(hits, 1)]
        wrong[next((state for state in states if state != "undecided"), "undecided")] += 1
    assert wrong["met"] <= 12 and wrong["not_met"] <= 12


def test_hits_in_bursts_have_a_design_effect_of_their_size() -> None:
    rng = np.random.default_rng(3)
    requests, hits = np.full(600, 100.0), np.where(rng.random(600) < 0.1, 50.0, 0.0)
    assert seen_effect(hits, requests, 0.05) == pytest.approx(50, rel=0.3)
    assert seen_effect(rng.binomial(100, 0.05, 600).astype(float), requests, 0.05) < 2.5


# -- percentiles and failures at a load


def steady(load: Users, *, latency_ms: float, seconds: int, failed: int = 0) -> Scenario:
    each = {"rps": 100, "latency_ms": latency_ms, "p99_ms": latency_ms, "failed": failed}
    return Scenario().ready().level(users=load.users, seconds=[each] * seconds)


@pytest.mark.parametrize(("latency_ms", "state"), [(50.0, "met"), (200.0, "not_met")])
def test_a_percentile_is_decided_by_the_replies_at_its_load(latency_ms: float, state: State) -> None:
    (found,) = answers(steady(Users(8), latency_ms=latency_ms, seconds=60), P95)
    assert found.state == state


@pytest.mark.parametrize(("ttft_ms", "state"), [(50.0, "met"), (400.0, "not_met")])
def test_a_percentile_of_a_stage_is_decided_by_its_values(ttft_ms: float, state: State) -> None:
    each = {"rps": 100, "latency_ms": 900.0, "p99_ms": 900.0, "stages": {"ttft": ttft_ms}}
    scenario = Scenario().ready().level(users=8, seconds=[each] * 60)
    assert answers(scenario, PercentileRequired(95.0, 100.0, Users(8), "ttft"))[0].state == state


def test_replies_at_another_load_say_nothing() -> None:
    (found,) = answers(steady(Users(9), latency_ms=50.0, seconds=60), P95)
    assert found.state == "undecided" and getattr(found, "replies", None) == 0


SATURATED = {"generator": GeneratorReading(cpu_ratio=0.99)}
STARVED = {
    "generator": GeneratorReading(cpu_ratio=0.06, run_delay_ratio=0.9, loop_lag_p99_ms=95.0, loop_lag_p50_ms=50.0),
    "neighbours": NeighboursReading(cpu_ratio=1.9),
}


@pytest.mark.parametrize("readings", [SATURATED, STARVED])
def test_slow_replies_of_a_generator_without_cpu_do_not_show_that_the_service_is_slow(readings: dict[str, Any]) -> None:
    each = {"rps": 100, "latency_ms": 200.0, "p99_ms": 200.0, **readings}
    scenario = Scenario().ready().level(users=8, seconds=[each] * 60)
    slow, quick = answers(scenario, P95, PercentileRequired(95.0, 400.0, Users(8)))
    assert (slow.state, quick.state) == ("undecided", "met")


@pytest.mark.parametrize(
    ("dropped", "state"), [(Drops(target=40), "not_met"), (Drops(starting=10, late=10, max_users=10, stopped=10), "met")]
)
def test_iterations_that_the_generator_dropped_are_no_failures_of_the_service(dropped: Drops, state: State) -> None:
    offered = OfferedTick(offered_per_s=100.0, planned=100, finished=60, dropped=dropped)
    scenario = Scenario().ready().level(offered_per_s=100.0, seconds=[{"rps": 60, "offered": offered}] * 60)
    assert answers(scenario, FailuresRequired(0.05, Rate(100.0)))[0].state == state


@pytest.mark.parametrize(("failed", "state"), [(0, "met"), (40, "not_met")])
def test_failures_are_decided_by_their_share(failed: int, state: State) -> None:
    (found,) = answers(steady(Users(8), latency_ms=50.0, seconds=60, failed=failed), FAILURES)
    assert found.state == state


@pytest.mark.parametrize("most_ms", [400.0, 2_000.0, 60_000.0])
def test_a_bound_far_above_all_replies_is_kept_as_soon_as_anything_is_decided(most_ms: float) -> None:
    (found,) = answers(steady(Users(8), latency_ms=50.0, seconds=12), PercentileRequired(95.0, most_ms, Users(8)))
    assert found.state == "met"


def test_latencies_that_drift_by_little_do_not_delay_a_bound_far_above() -> None:
    """Four requests a second of 101 to 105 ms, slower for some seconds and quicker for others."""
    drifting_ms = 103.0 + 2.0 * np.sin(np.arange(40) / 5)
    none_is_slow, four = np.zeros((40, len(LOWER_BOUNDS))), np.full(40, 4.0)
    state, kept_ms, _ = slow_replies(none_is_slow, four, 4 * drifting_ms, 2.0, 0.05, 2_000.0)
    assert state == "met" and kept_ms == 500.0


def test_the_interval_of_a_percentile_is_on_the_side_that_was_decided() -> None:
    kept, missed = (
        answers(steady(Users(8), latency_ms=50.0, seconds=60), PercentileRequired(95.0, most_ms, Users(8)))[0]
        for most_ms in (80.0, 20.0)
    )
    assert isinstance(kept, PercentileAnswer) and kept.high_ms is not None and kept.high_ms <= 80.0
    assert isinstance(missed, PercentileAnswer) and missed.low_ms is not None and missed.low_ms > 20.0


def test_the_first_seconds_decide_nothing() -> None:
    (found,) = answers(steady(Users(8), latency_ms=200.0, seconds=9), P95)
    assert found.state == "undecided"


# -- knee and capacity, by the verdict


def stated(scenario: Scenario, verdict: Verdict, required: Requirement) -> Answer:
    (found,) = answers(scenario.add(verdict), required)
    return found


def one_level() -> Scenario:
    return Scenario().ready().level(users=4, rps=90, seconds=[{"rps": 90}] * 20)


@pytest.mark.parametrize(
    ("knee", "state"),
    [
        (KneeVerdict(kind="knee", users=50.0, users_low=41.0, users_high=60.0), "met"),
        (KneeVerdict(kind="knee", users=50.0, users_low=39.0, users_high=60.0), "undecided"),
        (KneeVerdict(kind="knee", users=30.0, users_low=26.0, users_high=39.0), "not_met"),
        (KneeVerdict(kind="knee", users=30.0, users_low=26.0, users_high=39.0, limit="generator"), "undecided"),
        (KneeVerdict(kind="at_or_below", users_high=10.0), "not_met"),
        (KneeVerdict(kind="no_knee", users=64.0, confidence="high"), "met"),
        (KneeVerdict(kind="no_knee", users=64.0, confidence="low"), "undecided"),
        (KneeVerdict(kind="bend", users=30.0, users_low=20.0, users_high=35.0), "undecided"),
        (None, "undecided"),
    ],
)
def test_a_knee_is_required_by_its_interval(knee: KneeVerdict | None, state: State) -> None:
    verdict = Verdict(t_s=30.0, capacity=CapacityVerdict(knee=knee))
    assert stated(one_level(), verdict, KneeRequired(40.0)).state == state


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (RateCapacity(kind="capacity", per_s=110.0, low_per_s=104.0, high_per_s=116.0), "met"),
        (RateCapacity(kind="capacity", per_s=101.0, low_per_s=97.0, high_per_s=105.0), "undecided"),
        (RateCapacity(kind="capacity", per_s=90.0, low_per_s=85.0, high_per_s=96.0), "not_met"),
        (RateCapacity(kind="keeps_up", per_s=120.0, kept_per_s=120.0), "undecided"),
        (RateCapacity(kind="departs", per_s=90.0, kept_per_s=70.0, high_per_s=85.0, rises=True), "undecided"),
        (RateCapacity(kind="at_or_below", per_s=50.0, high_per_s=60.0), "not_met"),
    ],
)
def test_a_capacity_is_required_by_the_interval_of_offered_rates(found: RateCapacity, state: State) -> None:
    verdict = Verdict(t_s=30.0, rates=RateVerdict(capacity=found))
    assert stated(one_level(), verdict, CapacityRequired(100.0)).state == state


def of_users(capacity_rps: float) -> CapacityVerdict:
    knee = KneeVerdict(kind="knee", users=50.0, users_low=41.0, users_high=60.0, capacity_rps=capacity_rps)
    curve = CurveFit(
        low_load_rps_per_user=2.0, low_load_se=0.01, baseline_users=(4,), capacity_rps=capacity_rps, capacity_se_rps=1.0
    )
    return CapacityVerdict(knee=knee, curve=curve)


@pytest.mark.parametrize(("capacity_rps", "state"), [(120.0, "met"), (100.5, "undecided"), (95.0, "not_met")])
def test_a_capacity_of_users_is_required_by_that_of_their_curve(capacity_rps: float, state: State) -> None:
    verdict = Verdict(t_s=30.0, capacity=of_users(capacity_rps))
    assert stated(one_level(), verdict, CapacityRequired(100.0)).state == state


def test_a_level_with_more_goodput_shows_a_capacity_before_any_knee() -> None:
    levels = one_level().level(users=60, seconds=[{"rps": 130}] * 20)
    assert stated(levels, Verdict(t_s=60.0), CapacityRequired(100.0)).state == "met"
