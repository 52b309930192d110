"""The capacity as a rate: levels in, verdict out."""

from __future__ import annotations

import pytest

from capexplorer.analysis.knee.rate_capacity import judge_rates

from .levels import SERVED, judged, level


def test_without_levels_there_is_no_capacity() -> None:
    assert judge_rates([]) is None
    assert judge_rates([level(5, seconds=6)]) is None  # too few arrivals


def test_a_service_that_keeps_up_at_all_rates_is_reported_up_to_the_highest() -> None:
    found = judged(SERVED)
    assert (found.kind, found.per_s, found.confidence, found.limit) == ("keeps_up", 75, "high", None)


def test_a_rate_at_which_most_iterations_queued_for_long_is_near_the_capacity() -> None:
    most = [level(75, seconds=10, from_plan_ms=25), level(75, seconds=60, from_plan_ms=400)]
    found = judged([level(25, from_plan_ms=20), level(50, from_plan_ms=22), *most])
    assert (found.kind, found.confidence) == ("keeps_up", "medium")
    assert found.slower_times == pytest.approx(17.3, rel=0.01)


def test_a_queue_that_grows_without_bound_gives_the_capacity_and_its_interval() -> None:
    found = judged([*SERVED, level(125, 100, service_ms=900), level(150, 101, service_ms=2000)])
    assert (found.kind, found.limit, found.confidence, found.kept_per_s) == ("capacity", "queue_growth", "high", 75)
    assert found.per_s == pytest.approx(100.5, rel=0.01)
    assert found.low_per_s is not None
    assert found.high_per_s is not None
    assert found.low_per_s < 97 < 105 < found.high_per_s
    overload = found.overload
    assert overload is not None
    assert (overload.kind, overload.fall_ratio) == ("queues", None)
    assert overload.growth_per_s == pytest.approx(49, rel=0.01)


def test_the_limit_of_a_service_that_refuses_requests_is_errors() -> None:
    found = judged([*SERVED, level(125, 100, failed=25, failed_ms=1), level(150, 100, failed=50, failed_ms=1)])
    assert (found.kind, found.limit) == ("capacity", "errors")
    assert found.overload is not None
    assert found.overload.kind == "refuses"
    assert found.overload.failure_ratio == pytest.approx(1 / 3)


def test_after_a_collapse_in_one_step_the_highest_rate_served_in_full_is_reported() -> None:
    found = judged([*SERVED, level(150, 20, failed=130, failed_ms=1)])
    assert (found.kind, found.per_s, found.high_per_s) == ("capacity", 75, 150)


def test_a_lowest_rate_that_failed_once_does_not_hide_higher_rates_that_were_served() -> None:
    failing = level(25, 15, failed=10)
    found = judged([failing, level(50), level(75), level(125, 100, service_ms=900), level(150, 101, service_ms=2000)])
    assert (found.kind, found.kept_per_s, found.contradicted, found.confidence) == ("capacity", 75, True, "low")
    found = judged([failing, level(50), level(75)])
    assert (found.kind, found.per_s, found.contradicted, found.confidence) == ("keeps_up", 75, True, "low")


def test_a_lowest_rate_that_failed_once_is_no_bound_of_higher_goodput() -> None:
    few = {"seconds": 8}
    found = judged(
        [level(9, 3, failed=6, **few), level(20, **few), level(125, 100, service_ms=900), level(150, 101, service_ms=2000)]
    )
    assert (found.kind, found.contradicted, found.confidence) == ("capacity", True, "low")


def test_with_few_refusals_the_maximum_of_goodput_was_not_reached() -> None:
    found = judged([*SERVED, level(90, 85, failed=5, failed_ms=1)])
    assert (found.kind, found.per_s, found.kept_per_s) == ("departs", 90, 75)


def test_where_no_rate_was_served_in_full_the_capacity_is_below() -> None:
    found = judged([level(125, 100, service_ms=900), level(150, 100, service_ms=2000)])
    assert (found.kind, found.high_per_s, found.confidence) == ("at_or_below", 125, "low")


def test_one_rate_at_which_some_iterations_fail_shows_neither_that_it_is_served_nor_that_load_is_the_cause() -> None:
    assert judge_rates([level(84, 70, failed=14)]) is None
    assert judge_rates([level(84, 50, failed=34)]) is None


def test_the_same_share_of_failures_at_every_rate_is_no_bound_of_the_capacity() -> None:
    assert judge_rates([level(rate, 0.6 * rate, failed=0.4 * rate) for rate in (50, 100, 150)]) is None
    few_fail = judged([level(rate, 0.9 * rate, failed=0.1 * rate) for rate in (50, 100, 150)])
    assert (few_fail.kind, few_fail.per_s) == ("keeps_up", 150)


def test_a_share_of_failures_that_grows_with_the_rate_shows_that_the_capacity_is_below() -> None:
    found = judged([level(84, 72, failed=12, failed_ms=1), level(100, 72, failed=28, failed_ms=1)])
    assert (found.kind, found.high_per_s, found.limit) == ("at_or_below", 84, "errors")


def test_a_limit_of_the_generator_is_not_reported_as_capacity() -> None:
    found = judged([*SERVED, level(125, 100, generator_saturated=True), level(150, 60, dropped=90, at_cap=True)])
    assert (found.kind, found.per_s, found.limit) == ("keeps_up", 75, "generator")


def test_single_drops_by_the_generator_do_not_hide_the_capacity_of_a_service_that_refuses() -> None:
    one = {"dropped": 0.05, "dropped_by_generator": 1, "failed_ms": 1}
    found = judged([level(20), level(40), level(60), level(120, 80, failed=40, **one), level(160, 80, failed=80, **one)])
    assert (found.kind, found.limit, found.confidence) == ("capacity", "errors", "high")
    assert found.per_s == pytest.approx(80, rel=0.01)


def test_few_refusals_of_the_arrivals_that_the_generator_did_not_drop_are_no_maximum() -> None:
    dropped = {"dropped": 10.0, "dropped_by_generator": 200}
    assert judged([*SERVED, level(120, 98, failed=12, failed_ms=1, **dropped)]).kind == "departs"


def test_a_capacity_seen_only_with_a_full_pool_of_users_has_lower_confidence() -> None:
    full_pool = {"at_cap": True, "service_ms": 500.0}
    found = judged([*SERVED, level(125, 100, dropped=25, **full_pool), level(150, 100, dropped=50, **full_pool)])
    assert (found.kind, found.confidence) == ("capacity", "medium")


def test_a_capacity_at_which_a_full_pool_waits_for_a_hardly_slower_service_has_low_confidence() -> None:
    full_pool = {"at_cap": True, "service_ms": 30.0}
    found = judged([*SERVED, level(125, 100, dropped=25, **full_pool), level(150, 100, dropped=50, **full_pool)])
    assert (found.kind, found.confidence) == ("capacity", "low")


def test_a_higher_rate_that_was_served_contradicts_a_lower_one_that_was_not() -> None:
    found = judged([*SERVED, level(125, 100, service_ms=900), level(175)])
    assert found.contradicted
    assert found.confidence == "low"


def test_with_one_level_of_each_kind_the_confidence_is_lower() -> None:
    assert judged([level(50), level(150, 100, service_ms=900)]).confidence == "low"
