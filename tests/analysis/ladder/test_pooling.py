"""Levels with the same number of users are pooled into one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from capexplorer.analysis.ladder import LadderLevel, pooled

ONE = LadderLevel(
    users=10, goodput_rps=100.0, goodput_se_rps=3.0, throughput_rps=100.0, latency_ms=20.0, latency_se_ms=1.0, p95_ms=40.0,
    requests=2_000, seconds=20.0, wait_s=0.1, wait_se_s=0.01, wait_includes_sleeps=True, failure_ratio=0.0,
)  # fmt: skip


def of_two(**changes: Any) -> LadderLevel:
    (found,) = pooled([ONE, replace(ONE, **changes)])
    return found


def test_pooled_levels_are_one_per_user_count_in_ascending_order() -> None:
    levels = [replace(ONE, users=users) for users in (20, 10.3, 9.8, 0.4)]
    assert [round(level.users, 2) for level in pooled(levels)] == [0.4, 10.05, 20]


def test_the_standard_error_of_two_equal_levels_is_smaller_than_that_of_one() -> None:
    found = of_two()
    assert found.goodput_se_rps == pytest.approx(3.0 / 2**0.5)
    assert found.latency_se_ms == pytest.approx(1.0 / 2**0.5)
    assert found.wait_se_s == pytest.approx(0.01 / 2**0.5)


def test_the_level_with_the_smaller_standard_error_has_the_greater_weight() -> None:
    assert of_two(goodput_rps=110.0, goodput_se_rps=9.0).goodput_rps == pytest.approx(101.0)


@pytest.mark.parametrize(
    ("other_rps", "factor"), [(100.0, 1.0), (112.0, 2.83), (150.0, 11.79)], ids=["agree", "differ", "no relation"]
)
def test_disagreement_widens_the_error(other_rps: float, factor: float) -> None:
    assert of_two(goodput_rps=other_rps, goodput_se_rps=3.0).goodput_se_rps == pytest.approx(factor * 3.0 / 2**0.5, rel=0.01)


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"seconds": 60.0, "p95_ms": 80.0}, "p95_ms", 70.0),
        ({"seconds": 60.0}, "seconds", 80.0),
        ({"requests": 500}, "requests", 2_500),
        ({"requests": None}, "requests", 2_000),
        ({"p95_ms": None}, "p95_ms", 40.0),
        ({"wait_includes_sleeps": False}, "wait_includes_sleeps", False),
        ({"wait_se_s": None}, "wait_se_s", None),
        ({"disturbed": True}, "disturbed", True),
        ({"generator_saturated": True}, "generator_saturated", True),
        ({"generator_saturated": None}, "generator_saturated", None),
    ],
)
def test_each_field_of_two_pooled_levels_is_their_mean_their_sum_or_the_worse_of_both(
    changes: dict[str, object], field: str, expected: object
) -> None:
    assert getattr(of_two(**changes), field) == expected
