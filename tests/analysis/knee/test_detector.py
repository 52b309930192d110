"""Verdicts of the knee detector on curves whose knee is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from capexplorer.analysis.knee.detector import judge
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.model.verdicts import KneeVerdict

from ..ladders import ideal, rates


def knee_of(levels: list[LadderLevel]) -> KneeVerdict:
    knee = judge(levels).knee
    assert knee is not None
    return knee


def test_the_knee_is_where_the_low_load_line_meets_the_capacity_line() -> None:
    knee = knee_of(ideal([10, 20, 30, 40, 50, 60, 80, 100]))
    assert knee.kind == "knee"
    assert knee.users == pytest.approx(50, rel=0.01)
    assert knee.users_low is not None
    assert knee.users_high is not None
    assert knee.users_low < 50 < knee.users_high
    assert knee.capacity_rps == pytest.approx(100, rel=0.01)
    assert (knee.limit, knee.confidence, knee.provisional, knee.soft) == ("queueing", "high", True, False)


def test_the_same_levels_give_the_same_verdict_in_any_order() -> None:
    levels = ideal([10, 20, 30, 40, 60, 80])
    assert judge(levels) == judge(levels[::-1]) == judge(levels)


def test_the_capacity_is_not_the_lower_goodput_of_levels_beyond_the_knee() -> None:
    falling = rates([(6, 6), (12, 13), (24, 25.3), (27, 27), (34, 24), (40, 5)])
    falling = [replace(level, goodput_se_rps=0.07 * level.goodput_rps) for level in falling]
    knee = knee_of(falling)
    assert knee.kind == "knee"
    assert knee.capacity_rps is not None
    assert knee.capacity_rps > 24.5


def test_the_capacity_is_not_below_what_a_level_has_surely_shown() -> None:
    levels = [
        replace(level, goodput_se_rps=2.0) for level in rates([(8, 25), (16, 50), (32, 100), (48, 93), (64, 93)], seconds=20)
    ]
    knee = knee_of(levels)
    assert knee.capacity_rps is not None
    assert knee.capacity_rps >= 100 - 1.64 * 2.0


def test_two_levels_give_no_knee_and_say_which_levels_are_missing() -> None:
    verdict = judge(ideal([10, 100]))
    assert verdict.knee is None
    assert [(missing.kind, missing.count) for missing in verdict.missing] == [("levels", 1)]


def test_without_levels_or_goodput_there_is_no_knee() -> None:
    assert judge([]).knee is None
    assert judge(rates([(10, 0), (20, 0), (30, 0)])).knee is None


def test_a_straight_line_has_no_knee_up_to_its_top() -> None:
    knee = knee_of(ideal([5, 10, 20, 30, 40]))
    assert (knee.kind, knee.users, knee.confidence) == ("no_knee", 40, "high")


@pytest.mark.parametrize(
    ("top_rps", "users", "top_users"),
    [(59.0, 30.0, None), (55.0, 25.0, 30.0)],
    ids=["98% of the line", "92% of the line"],
)
def test_no_knee_is_claimed_up_to_the_last_level_that_it_is_surely_above_only(
    top_rps: float, users: float, top_users: float | None
) -> None:
    climb = rates([(5, 10.0), (10, 20.0), (15, 30.0), (20, 40.0), (25, 50.0), (30, top_rps)], seconds=20)
    knee = knee_of([replace(level, goodput_se_rps=0.01 * level.goodput_rps) for level in climb])
    assert (knee.kind, knee.users, knee.evidence.top_users) == ("no_knee", users, top_users)


def test_linear_scaling_over_a_narrow_span_of_users_has_low_confidence() -> None:
    assert knee_of(ideal([30, 31, 32])).confidence == "low"


def test_a_curve_without_a_maximum_flattens_and_gives_a_lower_bound_of_the_knee() -> None:
    knee = knee_of(rates([(10, 20), (20, 40), (30, 60), (40, 74), (50, 86), (60, 98)]))
    assert (knee.kind, knee.users, knee.evidence.top_users) == ("no_knee", 40, 60)
    assert knee.evidence.top_efficiency == pytest.approx(0.82, abs=0.03)


def test_a_curve_that_may_have_its_knee_nearly_anywhere_is_a_bend() -> None:
    few = [
        replace(level, goodput_se_rps=0.5 * level.goodput_rps)
        for level in rates([(1, 2), (4, 8), (32, 20), (400, 21)], seconds=6)
    ]
    knee = knee_of(few)
    assert (knee.kind, knee.users) == ("bend", 1)
    assert knee.evidence.knee_not_below_users == pytest.approx(10, rel=0.3)


def test_levels_that_all_lie_beyond_the_knee_give_a_knee_at_or_below_them_and_ask_for_lower_ones() -> None:
    verdict = judge(ideal([60, 80, 100, 120]))
    assert verdict.knee is not None
    assert (verdict.knee.kind, verdict.knee.users, verdict.knee.users_low) == ("at_or_below", 60, None)
    assert verdict.missing[0].kind == "lower_levels"


def test_a_flat_curve_over_a_narrow_span_gives_a_knee_at_or_below_it() -> None:
    assert knee_of(rates([(50, 100), (55, 100), (60, 100)])).kind == "at_or_below"


def test_failed_requests_do_not_count_as_capacity() -> None:
    levels = [replace(level, throughput_rps=2.0 * level.users, failure_ratio=0.5) for level in ideal([60, 80, 100])]
    knee = knee_of(ideal([10, 20, 30, 40]) + levels)
    assert knee.users == pytest.approx(50, rel=0.02)


def test_a_single_dip_is_not_a_knee() -> None:
    levels = ideal([10, 20, 30, 35, 40, 45])
    levels[2] = replace(levels[2], goodput_rps=30.0, throughput_rps=30.0)
    assert knee_of(levels).kind == "no_knee"


def test_a_first_level_of_few_requests_does_not_bend_the_line() -> None:
    few_requests = replace(ideal([1])[0], goodput_rps=3.0, goodput_se_rps=0.8)
    assert knee_of([few_requests, *ideal([2, 5, 10, 20, 30, 40, 60, 80])]).users == pytest.approx(50, rel=0.05)


def test_first_requests_of_a_ramp_do_not_pull_the_knee_down() -> None:
    plain = ideal([10, 20, 30, 40, 50, 60, 80, 100])
    biased = [replace(level, ramp=True, arrivals_per_s=10.0, goodput_rps=min(level.goodput_rps + 6, 100)) for level in plain]
    assert knee_of(biased).users == pytest.approx(50, rel=0.06)
    assert (knee_of([replace(level, arrivals_per_s=0.0) for level in biased]).users or 0) < 46


def test_latency_that_rises_permanently_gets_its_own_mark() -> None:
    levels = [replace(level, latency_ms=50.0 if level.users < 30 else 120.0) for level in ideal([5, 10, 20, 30, 40])]
    verdict = judge(levels)
    assert verdict.knee is not None
    assert verdict.knee.kind == "no_knee"
    assert verdict.latency_knee is not None
    assert (verdict.latency_knee.users, verdict.latency_knee.users_low) == (30, 20)
    levels[2] = replace(levels[2], latency_ms=130.0)
    levels[3:] = [replace(level, latency_ms=50.0) for level in levels[3:]]
    assert judge(levels).latency_knee is None


@pytest.mark.parametrize(
    ("why", "beyond", "doubtful"),
    [
        ("timers that are on time", {"loop_lag_ms": 3.0}, False),
        ("late timers that explain the slower responses", {"loop_lag_ms": 46.0}, True),
        ("late timers, and responses that are slower by more", {"loop_lag_ms": 46.0, "response_ms": 150.0}, False),
        ("a saturated generator", {"loop_lag_ms": 3.0, "generator_saturated": True}, True),
        ("late timers, and accepted work that is not finished", {"loop_lag_ms": 46.0, "accepted_rps": 110.0}, False),
    ],
)
def test_a_bend_that_the_generator_may_have_caused_is_reported_as_such(why: str, beyond: dict[str, Any], doubtful: bool) -> None:
    """Users that sleep in their task, an idle service, a busy machine: 23 ms to 41 ms beside a loop lag of 46 ms (measured)."""
    levels = [
        replace(level, response_ms=23.0, work_is_metric="accepted_rps" in beyond)
        for level in rates([(10, 20), (20, 40), (30, 60), (40, 74), (50, 76), (60, 76)])
    ]
    levels[3:] = [replace(level, **{"response_ms": 41.0} | beyond) for level in levels[3:]]
    knee = judge(levels, disputed=True).knee
    assert knee is not None
    assert (knee.kind, knee.limit) == ("bend", "generator" if doubtful else None)


@given(
    st.lists(
        st.tuples(st.floats(0.5, 5_000), st.floats(0, 1e6), st.one_of(st.none(), st.floats(0, 1e5)), st.floats(0, 1)), max_size=15
    )
)
def test_any_levels_give_a_verdict_without_an_error(rows: list[tuple[float, float, float | None, float]]) -> None:
    levels = [
        LadderLevel(users=users, goodput_rps=rate * (1 - failed), throughput_rps=rate, latency_ms=latency, failure_ratio=failed)
        for users, rate, latency, failed in rows
    ]
    knee = judge(levels).knee
    if knee is not None and knee.kind == "knee":
        assert knee.users is not None
        assert knee.users_low is not None
        assert knee.users_high is not None
        assert 0 < knee.users_low <= knee.users_high
