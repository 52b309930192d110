"""Levels of one offered rate are compared by their latency where both queues were in a steady state."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.rate_level import RateLevel, on_ladder, steady_latency_error_ms

from .levels import level


def at(from_plan_ms: float, rate: float = 50.0, good: float | None = None, **known: Any) -> RateLevel:
    return level(rate, good, from_plan_ms=from_plan_ms, from_plan_se_ms=0.1, **known)


USUAL = at(20.0)


@pytest.mark.parametrize(
    ("now", "is_steady"),
    [
        (at(45.0), True),
        (at(45.0, good=49), False),  # the queue grows, or is the rest of a backlog
        (at(45.0, good=48, failed=2), False),  # clients give up
        (at(45.0, good=48, dropped=2), False),
        (at(45.0, at_cap=True), False),  # it waited for the generator
        (at(45.0, generator_saturated=True), False),
        (at(45.0, left_out=True), False),
        (at(45.0, ramp=True), False),
    ],
)
def test_a_level_has_a_latency_to_compare_only_where_nothing_else_explains_it(now: RateLevel, is_steady: bool) -> None:
    assert (on_ladder(now).steady_latency_error_ms is not None) is is_steady


def test_the_standard_error_of_latency_is_that_of_a_correlated_m_m_1_queue() -> None:
    n = 1000
    assert steady_latency_error_ms(USUAL) == pytest.approx(2 * (1 + 1.0) / n**0.5 * 20.0)
    assert steady_latency_error_ms(replace(USUAL, from_plan_ms=None)) is None
