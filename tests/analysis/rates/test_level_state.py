"""Whether one level served the offered rate in full, and if not, why."""

from __future__ import annotations

import pytest

from capexplorer.analysis.knee.rate_level import LowLoad, RateLevel, low_load, state_of

from .levels import SECONDS, level

LOW = LowLoad(service_ms=20.0)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (level(100), "kept"),
        (level(100, 99), "kept"),
        (level(100, 104), "kept"),  # an earlier second's iterations
        (level(100, 80), "queue_grows"),
        (level(1000, 980), "kept"),  # less than 2% is a queue that has not reached its mean
        (level(100, 90, failed=10, failed_ms=2), "fails"),
        (level(100, 99, failed=1), "kept"),
        (level(100, 60, dropped=40, at_cap=True, service_ms=500), "dropped"),
        (level(10, 9, seconds=6), "unsure"),  # 60 arrivals are too few
        (level(5, seconds=10), "unsure"),
    ],
    ids=str,
)
def test_a_level_is_kept_queues_fails_drops_or_is_unsure(found: RateLevel, state: str) -> None:
    assert state_of(found, LOW) == state


@pytest.mark.parametrize(
    "found",
    [
        level(100, 80, generator_saturated=True),
        level(100, 60, dropped=40, at_cap=True, service_ms=22),  # the pool is too small: the service time has hardly changed
        level(100, 60, dropped=40, at_cap=True, service_ms=25, dropped_by_generator=20 * SECONDS),
        level(100, 60, dropped=40, at_cap=True, service_ms=500, dropped_by_generator=40 * SECONDS),
        level(100, 60, failed=10, dropped=30, dropped_by_generator=30 * SECONDS),  # it fails less than the generator drops
        level(100, 80, at_cap=True, service_ms=50),
    ],
)
def test_a_generator_at_its_limit_is_never_the_services_capacity(found: RateLevel) -> None:
    assert state_of(found, LOW) == "generator"


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (level(120, 80, failed=40, dropped=0.05, dropped_by_generator=1), "fails"),
        (level(120, 80, failed=30, dropped=10, dropped_by_generator=10 * SECONDS), "fails"),
        (level(120, 80, failed=36, dropped=4, at_cap=True), "fails"),  # a full pool causes no failures
        (level(120, 80, dropped=0.05, dropped_by_generator=1), "queue_grows"),
    ],
    ids=str,
)
def test_drops_by_the_generator_that_do_not_explain_the_loss_leave_it_to_the_service(found: RateLevel, state: str) -> None:
    assert state_of(found, LOW) == state


def test_failures_at_the_lowest_rate_are_usual_if_no_more_fail_at_a_higher_rate() -> None:
    usual = low_load([level(20, 19, failed=1), level(60, 57, failed=3)])
    assert state_of(level(100, 95, failed=5), usual) == "kept"
    assert state_of(level(100, 80, failed=20), usual) == "fails"


def test_the_share_that_may_be_missing_is_an_upper_bound_of_failures_and_drops_too() -> None:
    usual = LowLoad(failure_high=0.1)
    assert state_of(level(40, 35, failed=5, seconds=10), usual) == "kept"
    assert (
        state_of(level(40, 34.7, failed=5.3, seconds=10), usual) == "unsure"
    )  # 400 arrivals: 14.9% by growth alone, 15.3% in all


@pytest.mark.parametrize(
    "higher",
    [[], [level(88, 74, failed=14)], [level(120, 72, failed=48)], [level(120, 84, failed=36, seconds=0.25)]],
    ids=["no higher rate", "a rate too near to differ", "more fail at the higher rate", "too few arrivals at the higher rate"],
)
def test_failures_at_the_lowest_rate_are_not_usual_unless_a_higher_rate_confirms_it(higher: list[RateLevel]) -> None:
    lowest = level(84, 70, failed=14)
    assert state_of(lowest, low_load([lowest, *higher])) == "fails"


def test_a_lowest_rate_that_mostly_fails_is_no_baseline() -> None:
    assert state_of(level(100, 40, failed=60), low_load([level(50, 20, failed=30), level(100, 40, failed=60)])) == "fails"
