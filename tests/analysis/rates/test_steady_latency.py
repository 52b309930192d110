"""Levels of one offered rate are compared by their latency where both queues were in a steady state."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from capexplorer.analysis.epoch.regime import latency_differs
from capexplorer.analysis.knee.rate_level import RateLevel, on_ladder, steady_latency_error_ms

from .levels import level


def at(from_plan_ms: float, rate: float = 50.0, good: float | None = None, **known: Any) -> RateLevel:
    return level(rate, good, from_plan_ms=from_plan_ms, from_plan_se_ms=0.1, **known)


USUAL = at(20.0)


@pytest.mark.parametrize(
    ("now", "differs"),
    [
        (at(45.0), True),
        (at(9.0), True),
        (at(25.0), False),  # less than a shift is
        (at(45.0, rate=60.0), False),  # another load
        (at(45.0, seconds=2), False),
        (replace(at(45.0), from_plan_se_ms=15.0), False),  # its own seconds vary more than those of M/M/1
        (at(45.0, good=49), False),  # the queue grows, or is the rest of a backlog
        (at(45.0, good=48, failed=2), False),  # clients give up
        (at(45.0, good=48, dropped=2), False),
        (at(45.0, at_cap=True), False),  # it waited for the generator
        (at(45.0, generator_saturated=True), False),
        (at(45.0, left_out=True), False),
        (at(45.0, ramp=True), False),
    ],
)
def test_latency_of_one_rate_differs_only_where_nothing_else_explains_it(now: RateLevel, differs: bool) -> None:
    assert latency_differs(on_ladder(now), on_ladder(USUAL)) is differs
    assert latency_differs(on_ladder(USUAL), on_ladder(now)) is differs


def test_latencies_near_the_capacity_are_not_compared_since_a_level_is_too_short() -> None:
    assert not latency_differs(on_ladder(at(600.0)), on_ladder(at(200.0)))


def test_other_processes_or_a_late_generator_explain_a_slower_level() -> None:
    slow = at(45.0)
    assert not latency_differs(on_ladder(slow, disturbed=True), on_ladder(USUAL))
    assert not latency_differs(on_ladder(slow, loop_lag_ms=30.0), on_ladder(USUAL))


def test_the_standard_error_of_latency_is_that_of_a_correlated_m_m_1_queue() -> None:
    n = 1000
    assert steady_latency_error_ms(USUAL) == pytest.approx(2 * (1 + 1.0) / n**0.5 * 20.0)
    assert steady_latency_error_ms(replace(USUAL, from_plan_ms=None)) is None
