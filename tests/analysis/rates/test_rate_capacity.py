"""The capacity as a rate: levels in, verdict out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from capexplorer.analysis.rates.rate_capacity import judge
from capexplorer.analysis.rates.rate_level import RateLevel
from capexplorer.model.rate_verdicts import RateCapacity

from .levels import level

SERVED = [level(rate) for rate in (25, 50, 75)]


def judged(levels: Sequence[RateLevel]) -> RateCapacity:
    found = judge(levels)
    assert found is not None
    return found


def test_without_levels_there_is_no_capacity() -> None:
    assert judge([]) is None
    assert judge([level(5, seconds=6)]) is None  # too few arrivals


def test_a_service_that_keeps_up_at_all_rates_is_reported_up_to_the_highest() -> None:
    found = judged(SERVED)
    assert (found.kind, found.per_s, found.confidence, found.limit) == ("keeps_up", 75, "high", None)


def test_a_queue_without_bound_and_its_capacity() -> None:
    found = judged([*SERVED, level(125, 100, service_ms=900), level(150, 101, service_ms=2000)])
    assert (found.kind, found.limit, found.confidence, found.kept_per_s) == ("capacity", "queue_growth", "high", 75)
    assert found.per_s == pytest.approx(100.5, rel=0.01)
    assert found.low_per_s is not None and found.high_per_s is not None
    assert found.low_per_s < 97 < 105 < found.high_per_s
    overload = found.overload
    assert overload is not None and (overload.kind, overload.fall_ratio) == ("queues", None)
    assert overload.growth_per_s == pytest.approx(49, rel=0.01)


def test_a_service_that_sheds_differs_in_the_verdict() -> None:
    found = judged([*SERVED, level(125, 100, failed=25, failed_ms=1), level(150, 100, failed=50, failed_ms=1)])
    assert (found.kind, found.limit) == ("capacity", "errors")
    assert found.overload is not None and found.overload.kind == "refuses"
    assert found.overload.failure_ratio == pytest.approx(1 / 3)


@pytest.mark.parametrize(("replied", "kind"), [(None, "times_out"), (0.0, "times_out"), (1.0, "refuses")])
def test_late_failures_are_timeouts_unless_they_are_replies(replied: float | None, kind: str) -> None:
    late: dict[str, Any] = {"failed_ms": 1000.0, "service_ms": 600.0, "replied_ratio": replied}
    found = judged([*SERVED, level(125, 90, failed=35, **late), level(150, 80, failed=70, **late)])
    assert found.overload is not None and found.overload.kind == kind


def test_goodput_that_falls_while_more_is_offered_is_reported() -> None:
    found = judged([*SERVED, level(125, 100, failed=25, failed_ms=1), level(200, 30, failed=170, failed_ms=1)])
    assert found.overload is not None and found.overload.collapses
    assert found.overload.fall_ratio == pytest.approx(0.7, abs=0.02)
    assert found.per_s == pytest.approx(100)


def test_after_a_collapse_in_one_step_the_highest_rate_served_in_full_is_reported() -> None:
    found = judged([*SERVED, level(150, 20, failed=130, failed_ms=1)])
    assert (found.kind, found.per_s, found.high_per_s) == ("capacity", 75, 150)


def test_few_refusals_are_a_departure_whose_maximum_was_not_reached() -> None:
    found = judged([*SERVED, level(90, 85, failed=5, failed_ms=1)])
    assert (found.kind, found.per_s, found.kept_per_s) == ("departs", 90, 75)


def test_where_no_rate_was_served_in_full_the_capacity_is_below() -> None:
    found = judged([level(125, 100, service_ms=900), level(150, 100, service_ms=2000)])
    assert (found.kind, found.high_per_s, found.confidence) == ("at_or_below", 125, "low")


def test_a_limit_of_the_generator_is_not_reported_as_capacity() -> None:
    found = judged([*SERVED, level(125, 100, generator_saturated=True), level(150, 60, dropped=90, at_cap=True)])
    assert (found.kind, found.per_s, found.limit) == ("keeps_up", 75, "generator")


def test_a_capacity_seen_only_with_a_full_pool_of_users_has_lower_confidence() -> None:
    held = {"at_cap": True, "service_ms": 500.0}
    found = judged([*SERVED, level(125, 100, dropped=25, **held), level(150, 100, dropped=50, **held)])
    assert (found.kind, found.confidence) == ("capacity", "medium")


def test_a_higher_rate_that_was_served_contradicts_a_lower_one_that_was_not() -> None:
    found = judged([*SERVED, level(125, 100, service_ms=900), level(175)])
    assert found.contradicted and found.confidence == "low"


def test_with_one_level_of_each_kind_the_confidence_is_lower() -> None:
    assert judged([level(50), level(150, 100, service_ms=900)]).confidence == "low"
