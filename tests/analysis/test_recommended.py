"""The load to operate at and the settings that follow from it, on sessions whose figures are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from kit.scenario import Scenario, header
from msgspec.structs import replace

from capexplorer.analysis.recommended import OPERATING_SHARE, recommended
from capexplorer.model.events import Answered, Explained, Mark, Target, Verdict
from capexplorer.model.experiments import Explanation, Inference
from capexplorer.model.figures import LevelEndpoint, LevelFigures
from capexplorer.model.findings import Bottleneck
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.intervals import Latency
from capexplorer.model.load import OfferedFigures, Rate, Users
from capexplorer.model.readings import TargetReading
from capexplorer.model.recommended import Estimate, Recommended
from capexplorer.model.requirements import CapacityAnswer, CapacityRequired, KneeAnswer, KneeRequired
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import (
    CapacityVerdict,
    CurveFit,
    KneeVerdict,
    RateCapacity,
    RateLevelVerdict,
    RateObjective,
    RateVerdict,
    SloVerdict,
    Verification,
)

KNEE = KneeVerdict(kind="knee", users=24.0, users_low=20.0, users_high=26.0, capacity_rps=100.0, limit="queueing")
FIT = CurveFit(low_load_rps_per_user=4.17, low_load_se=0.02, baseline_users=(4.0,), capacity_rps=100.0, capacity_se_rps=2.0)
VERDICT = Verdict(t_s=1000.0, capacity=CapacityVerdict(knee=KNEE, curve=FIT))


def level(rps: float, ms: float = 40.0, replies: int = 4000, *, settled_s: float = 20.0, **fields: Any) -> dict[str, Any]:
    """What `Scenario.measured` gets for a level whose latencies are evenly spread over 0.5 to 1.5 times `ms`."""
    latencies = LatencyHistogram()
    latencies.record_us(1000 * ms * np.linspace(0.5, 1.5, replies))
    usual: dict[str, Any] = {
        "settled": True, "settled_seconds": settled_s, "requests": replies, "goodput_rps": rps, "goodput_se_rps": 0.01 * rps,
        "throughput_rps": rps, "failure_ratio": 0.0, "response_ms": ms, "latency_se_ms": 0.01 * ms,
        "latency_ms": Latency(mean=ms, p95=1.45 * ms),
    }  # fmt: skip
    endpoint = LevelEndpoint(name="/", method="GET", requests=replies, failures=0, latency=latencies.encode())
    return {"figures": LevelFigures(**(usual | fields)), "endpoints": (endpoint,)}


LEVELS: Mapping[int, Mapping[str, Any]] = {
    4: level(16.6), 12: level(50.0, 41.0), 15: level(62.0, 42.0), 30: level(100.0, 100.0), 48: level(100.0, 280.0),
}  # fmt: skip


def session(verdict: Verdict = VERDICT, levels: Mapping[int, Mapping[str, Any]] = LEVELS, *more: Any, **head: Any) -> Timeline:
    made = Scenario(header(**head))
    for users, given in levels.items():
        made.measured(users, **given)
    return made.add(*more, verdict).timeline


def the(timeline: Timeline) -> Recommended:
    (found,) = recommended(timeline, 0)
    return found


def ends(found: Estimate | None) -> tuple[float | None, ...]:
    return () if found is None else (found.low, found.value, found.high)


def with_knee(**fields: Any) -> Verdict:
    return Verdict(t_s=1000.0, capacity=CapacityVerdict(knee=replace(KNEE, **fields), curve=FIT))


# -- the operating load


def test_a_measured_load_just_below_the_headroom_is_recommended_with_its_own_figures() -> None:
    found = the(session()).operating
    assert (found.load, found.measured) == (Users(15), True)  # 80% of 20 users is 16
    assert ends(found.goodput_per_s) == pytest.approx((60.7476, 62.0, 63.2524))
    assert found.p95_ms is not None and found.p95_ms.low is not None and found.p95_ms.high is not None
    assert found.p95_ms.low < found.p95_ms.value < found.p95_ms.high
    assert found.p95_ms.value == pytest.approx(1.45 * 42.0, rel=0.01)


def test_a_load_is_verified_as_the_knee_is() -> None:
    verified = with_knee(verification=Verification(state="verified", steps=()))
    assert (the(session(verified)).operating.verified, the(session()).operating.verified) == (True, False)


def test_of_the_measured_loads_near_it_the_longest_is_recommended() -> None:
    found = the(session(levels={**LEVELS, 14: level(58.0, settled_s=600.0)})).operating
    assert found.load == Users(14)


def test_between_loads_it_promises_no_more_than_the_chord() -> None:
    levels = {users: given for users, given in LEVELS.items() if users != 15}
    found = the(session(levels=levels)).operating
    assert (found.load, found.measured) == (Users(16), False)
    assert found.goodput_per_s is not None and found.p95_ms is not None
    at = (16 - 12) / (30 - 12)
    assert found.goodput_per_s.value == pytest.approx(50.0 + at * 50.0)
    assert found.p95_ms.value == pytest.approx(1.45 * (41.0 + at * 59.0), rel=0.01)
    assert found.p95_ms.low is not None and found.p95_ms.low < 1.45 * 41.0


def test_below_all_levels_goodput_is_that_of_the_chord_from_no_load_and_p95_is_not_known() -> None:
    levels = {users: given for users, given in LEVELS.items() if users > 16}
    found = the(session(levels=levels)).operating
    assert found.goodput_per_s is not None
    assert found.goodput_per_s.value == pytest.approx(100.0 * 16 / 30)
    assert found.p95_ms is None


def test_more_dependent_replies_make_the_interval_of_p95_wider() -> None:
    narrow, wide = (
        the(session(levels={**LEVELS, 15: level(62.0, 42.0, latency_se_ms=error_ms)})).operating.p95_ms for error_ms in (0.1, 2.0)
    )
    assert narrow is not None and wide is not None and narrow.low is not None and wide.low is not None
    assert wide.low < narrow.low


def test_if_too_few_replies_bound_p95_the_next_load_does() -> None:
    found = the(session(levels={**LEVELS, 15: level(62.0, 42.0, replies=30)})).operating.p95_ms
    assert found is not None and found.high is not None
    assert found.high > 1.5 * 42.0


@pytest.mark.parametrize(
    "verdict",
    [
        with_knee(verification=Verification(state="contradicted", steps=())),
        with_knee(kind="bend"),
        with_knee(kind="no_knee"),
        with_knee(kind="at_or_below", users_low=None),
        with_knee(users_low=1.2),
        Verdict(
            t_s=1000.0,
            capacity=VERDICT.capacity,
            slo=(SloVerdict(name="p95_ms", limit=1.0, state="broken", users_high=4.0),),
        ),
    ],
    ids=["contradicted", "bend", "no knee", "at or below", "less than a user", "broken objective"],
)
def test_no_load_is_recommended(verdict: Verdict) -> None:
    assert recommended(session(verdict), 0) == ()


def test_an_objective_lowers_the_load_and_is_named() -> None:
    slo = SloVerdict(name="p95_ms", limit=60.0, state="crossed", users=14.0, users_low=12.4, users_high=15.0)
    found = the(session(Verdict(t_s=1000.0, capacity=VERDICT.capacity, slo=(slo,)))).operating
    assert (found.load, found.objective) == (Users(12), slo)


def test_levels_that_the_verdict_does_not_count_promise_nothing() -> None:
    left_out = Verdict(t_s=1000.0, capacity=VERDICT.capacity, left_out_levels=(2,))
    assert the(session(left_out)).operating.load == Users(16)
    returned = Verdict(t_s=1000.0, capacity=VERDICT.capacity, recovery_levels=(2,))
    assert the(session(returned)).operating.load == Users(15)


def rates(**more: Any) -> Timeline:
    """20/s and 40/s are served; 60/s is not; then 38/s while a backlog is worked off."""
    made = Scenario(header())
    judged = []
    for index, (per_s, p95) in enumerate(((20.0, 30.0), (40.0, 80.0), (60.0, 4000.0), (38.0, 9000.0))):
        offered = OfferedFigures(
            offered_per_s=per_s, finished=80, finished_per_s=per_s, finished_se_per_s=0.5, from_plan_ms=Latency(p95=p95)
        )
        made.measured(figures=LevelFigures(settled=True, settled_seconds=8.0, offered=offered), offered_per_s=per_s)
        judged.append(
            RateLevelVerdict(
                level=index, offered_per_s=per_s, goodput_per_s=per_s, goodput_se_per_s=0.5,
                state="queue_grows" if per_s > 50 else "kept", failure_ratio=0.0, dropped_ratio=0.0, growth_per_s=0.0,
                why="recovery" if per_s == 38.0 else None,
            )
        )  # fmt: skip
    capacity = RateCapacity(kind="capacity", per_s=51.0, low_per_s=50.0, high_per_s=52.0)
    verdict = Verdict(t_s=1000.0, rates=RateVerdict(capacity=capacity, levels=tuple(judged), **more))
    return made.add(verdict).timeline


def test_a_rate_is_recommended_by_the_levels_that_were_served_without_a_backlog() -> None:
    found = the(rates()).operating
    assert (found.load, found.measured) == (Rate(40.0), True)
    assert found.p95_ms == Estimate(value=80.0)


def test_an_objective_at_rates_lowers_the_rate() -> None:
    objective = RateObjective(name="p95_ms", limit=60.0, state="crossed", per_s=30.0, low_per_s=25.0, high_per_s=35.0)
    found = the(rates(objectives=(objective,))).operating
    assert (found.load, found.objective, found.measured) == (Rate(25.0), objective, False)


@pytest.mark.parametrize(("low_per_s", "load"), [(98.1875, 78.5), (0.0123456, 0.00987), (12_345.0, 9870.0), (125.0, 100.0)])
def test_a_rate_between_levels_has_three_digits_and_is_not_above_its_bound(low_per_s: float, load: float) -> None:
    capacity = RateCapacity(kind="capacity", per_s=2 * low_per_s, low_per_s=low_per_s, high_per_s=3 * low_per_s)
    made = Scenario(header()).add(Verdict(t_s=1.0, rates=RateVerdict(capacity=capacity)))
    assert the(made.timeline).operating.load == Rate(load)


# -- settings


def bottleneck(name: str, **finding: Any) -> Mark:
    blame = Bottleneck(name=name, **finding)
    return Mark(t_s=999.0, key=name, state="open", severity="warning", users=30.0, confidence="high", finding=blame)


def test_by_littles_law_the_requests_in_flight_and_those_that_are_worked_on() -> None:
    found = the(session())
    assert found.in_flight is not None and found.busy is not None
    assert found.in_flight.value == pytest.approx(62 * 0.042 + (24 - 15) / 15 * (100 * 0.1 - 62 * 0.042))
    assert found.in_flight.low is not None and found.in_flight.high is not None
    assert found.in_flight.low < found.in_flight.value < found.in_flight.high
    assert found.busy.value == pytest.approx(100.0 * 0.04)
    assert found.busy.low is not None and found.busy.low < 4.0


def test_where_the_lowest_load_had_too_few_replies_the_next_one_shows_the_time_alone_if_it_is_low() -> None:
    few = level(4.0, latency_se_ms=None)
    found = the(session(levels={1: few, 3: level(12.0, 50.0), **LEVELS}))
    assert found.busy is not None and found.busy.value == pytest.approx(100.0 * 0.05)
    assert the(session(levels={1: few, 12: LEVELS[12], 15: LEVELS[15], 30: LEVELS[30]})).busy is None


@pytest.mark.parametrize(
    ("limit", "params", "named"),
    [
        ("lock_or_pool_limit", {"pool": 4, "cache": 64, "debug": True, "mode": "4"}, "pool"),
        ("worker_pool_exhausted", {"threads": 4}, "threads"),
        ("lock_or_pool_limit", {"pool": 4, "threads": 4}, None),
        ("lock_or_pool_limit", {"pool": 8}, None),
        ("target_cpu_saturated", {"pool": 4}, None),
        ("lock_or_pool_limit", {}, None),
    ],
)
def test_a_parameter_with_the_value_of_the_requests_worked_on_at_once_is_named(
    limit: str, params: dict[str, Any], named: str | None
) -> None:
    found = the(session(VERDICT, LEVELS, bottleneck(limit), target={"params": params}))
    assert found.parameter == named


def test_the_parameter_is_that_of_the_first_start_in_the_epoch_which_later_ones_change_for_experiments() -> None:
    starts = (
        Target(t_s=900.0, state="starting", params={"pool": 4}),
        Target(t_s=901.0, state="starting", params={"pool": 8}),
        Target(t_s=902.0, state="starting", epoch=1, params={"pool": 9}),
    )
    limit = bottleneck("lock_or_pool_limit")
    assert the(session(VERDICT, LEVELS, limit, *starts, target={"params": {"pool": 8}})).parameter == "pool"
    assert the(session(VERDICT, LEVELS, limit, *starts[1:], target={"params": {"pool": 4}})).parameter is None


POOL_OF_4 = Inference(reason="slots_do_not_matter", levels=(9,), param="pool")


@pytest.mark.parametrize(
    ("known", "named"),
    [
        (Explanation(users=40, causes=("lock", "pool"), left=("lock", "pool")), "pool"),
        (Explanation(users=40, causes=("lock", "pool"), left=("lock",)), None),
        (Explanation(users=40, causes=("lock", "pool"), left=("lock", "pool"), inferences=(POOL_OF_4,)), None),
        (Explanation(users=40, causes=("lock", "pool"), left=("lock",), unsteady=True), "pool"),
    ],
    ids=["a pool is left", "ruled out", "another number changed nothing", "the experiments tell nothing"],
)
def test_a_parameter_is_not_named_if_experiments_rule_it_out(known: Explanation, named: str | None) -> None:
    explained = Explained(t_s=999.0, explanation=known)
    found = the(session(VERDICT, LEVELS, bottleneck("lock_or_pool_limit"), explained, target={"params": {"pool": 4}}))
    assert found.parameter == named


def test_goodput_that_is_other_work_says_nothing_of_requests_in_flight() -> None:
    found = the(session(levels={users: level(50.0, goodput_rps=5.0) for users in LEVELS}))
    assert (found.in_flight, found.busy) == (None, None)


@pytest.mark.parametrize(
    "mark",
    [bottleneck("lock_waits", part="db"), bottleneck("rate_limit"), bottleneck("generator_cpu_saturated")],
    ids=["a part", "a rate limiter", "the generator"],
)
def test_a_limit_elsewhere_leaves_what_the_service_needs_unknown(mark: Mark) -> None:
    found = the(session(VERDICT, LEVELS, mark))
    assert (found.in_flight, found.busy, found.workers, found.cpu_target_ratio) == (None, None, None, None)
    assert found.rate_limit_per_s == found.operating.goodput_per_s


def test_replicas_for_the_rate_that_is_required_carry_its_lower_bound_each() -> None:
    knee = KneeAnswer(required=KneeRequired(users=4.0), state="met")
    answers = Answered(t_s=999.0, answers=(knee, CapacityAnswer(required=CapacityRequired(per_s=500.0), state="not_met")))
    found = the(session(VERDICT, LEVELS, answers))
    assert (found.replicas, found.wanted_per_s) == (9, 500.0)  # 60.7/s each
    elsewhere = the(session(VERDICT, LEVELS, answers, bottleneck("lock_waits", part="db")))
    assert elsewhere.replicas is None


def with_cpu(share_of_two_cores: float, host: Mapping[str, Any] | None = None, **reading: Any) -> Timeline:
    """Levels with seconds, in which the service uses CPU in proportion to its replies, at most that share of two cores."""
    made = Scenario(header(host={"cpus": 2, **(host or {})}))
    for users, rps in ((4, 17), (12, 50), (15, 62), (30, 100), (48, 100)):
        cpu = 2 * share_of_two_cores * rps / 100
        made.level(users, 20, rps=rps, p99_ms=40.0, targets=(TargetReading(pid=7, cpu_ratio=cpu, **reading),))
    return made.timeline


def judged(timeline: Timeline, *more: Any) -> Recommended:
    for event in (*more, VERDICT):
        timeline.apply(event)
    return the(timeline)


def test_a_service_that_cpu_limits_has_a_target_for_an_autoscaler_and_no_next_limit() -> None:
    found = judged(with_cpu(1.0), bottleneck("target_cpu_saturated"))
    assert found.cpu_target_ratio is not None
    assert found.cpu_target_ratio.value == pytest.approx(0.62)
    assert found.cpu_cores == pytest.approx(2.0)
    assert found.next_limit_per_s is None


def test_workers_are_counted_up_to_where_the_cpu_is_full() -> None:
    found = judged(with_cpu(0.5), bottleneck("worker_pool_exhausted"))
    assert found.next_limit_per_s is not None and found.workers is not None and found.busy is not None
    assert found.next_limit_per_s.value == pytest.approx(200.0)
    assert found.workers.value == pytest.approx(2 * found.busy.value)
    assert not found.by_process


def test_processes_are_counted_up_to_where_the_cpu_is_full() -> None:
    found = judged(with_cpu(0.5), bottleneck("gil_bound"))
    assert found.workers is not None and found.by_process
    assert found.workers.value == pytest.approx(2.0)


def test_a_next_limit_is_not_told_under_a_quota_whose_size_is_not_read() -> None:
    found = judged(with_cpu(0.5, throttled_ratio=0.0), bottleneck("worker_pool_exhausted"))
    assert found.next_limit_per_s is None
    half = judged(with_cpu(0.5, host={"cgroup_cpus": 1.2}), bottleneck("worker_pool_exhausted"))
    assert half.next_limit_per_s is not None and half.next_limit_per_s.value == pytest.approx(120.0)


def test_a_next_limit_is_not_extrapolated_from_an_idle_cpu() -> None:
    found = judged(with_cpu(0.1), bottleneck("worker_pool_exhausted"))
    assert (found.next_limit_per_s, found.workers) == (None, None)


def test_a_limit_that_is_the_generators_gives_the_operating_load_alone() -> None:
    found = the(session(with_knee(limit="generator")))
    assert found.operating.generator_limited
    assert (found.in_flight, found.busy, found.replicas) == (None, None, None)


@pytest.mark.parametrize(("replies", "quantile"), [(40_000, 0.999), (6_000, 0.99), (60, None)])
def test_a_timeout_is_of_the_farthest_tail_that_the_replies_suffice_for(replies: int, quantile: float | None) -> None:
    found = the(session(levels={**LEVELS, 15: level(62.0, 42.0, replies, settled_s=replies / 62, latency_se_ms=0.001)}))
    assert found.timeout_quantile == quantile
    assert (found.timeout_ms is None) is (quantile is None)


def test_a_load_that_was_not_measured_gives_no_timeout() -> None:
    found = the(session(levels={users: given for users, given in LEVELS.items() if users != 15}))
    assert found.timeout_ms is None


def test_the_share_is_that_of_the_lower_end() -> None:
    levels = {users: given for users, given in LEVELS.items() if users not in (12, 15)}
    load = the(session(levels=levels)).operating.load
    assert load == Users(int(OPERATING_SHARE * 20))


def test_estimates_combine_relative_errors() -> None:
    one, other = Estimate(value=10.0, low=9.0, high=11.0), Estimate(value=2.0, low=1.8, high=2.2)
    product, ratio = one.by(other), one.over(other)
    assert (product.value, ratio.value) == (20.0, 5.0)
    assert ends(product) == pytest.approx((20 - 20 * 0.02**0.5, 20.0, 20 + 20 * 0.02**0.5))
    assert one.by(Estimate(value=2.0)) == Estimate(value=20.0)
    assert one.times(2.0) == Estimate(value=20.0, low=18.0, high=22.0)
