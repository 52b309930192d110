"""Which further levels would make the verdict more precise, the most useful first. The ideal service has its knee at 50 users."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.detector import judge

from ..ladders import ideal


@pytest.mark.parametrize(
    ("users", "kinds"),
    [
        ([], ["levels"]),
        ([10], ["levels"]),
        ([10, 20, 30], ["higher_levels"]),
        ([60, 80, 100], ["lower_levels"]),
        ([10, 20, 30, 40, 60], []),
    ],
    ids=["no levels", "one level", "linear scaling", "at or below", "a precise knee"],
)
def test_the_advice_names_the_kinds_of_missing_levels_in_order(users: list[float], kinds: list[str]) -> None:
    assert [each.kind for each in judge(ideal(users)).missing] == kinds


@pytest.mark.parametrize(("users", "count"), [([], 3), ([10], 2), ([10, 20], 1)])
def test_below_three_user_counts_the_advice_states_how_many_are_missing(users: list[float], count: int) -> None:
    (found,) = judge(ideal(users)).missing
    assert found.count == count


def test_linear_scaling_asks_for_a_level_of_half_as_many_users_more() -> None:
    (found,) = judge(ideal([10, 20, 30])).missing
    assert found.users_above == 45


@pytest.mark.parametrize(
    ("users", "kind", "below"), [([10, 60, 80, 100], "longer_levels", None), ([10, 20, 80, 100], "lower_levels", 10)]
)
def test_the_level_that_would_narrow_a_wide_interval_most_is_named(users: list[float], kind: str, below: float | None) -> None:
    """Each level has an error of 6%, so what is known least is the low-load line."""
    noisy = [replace(level, goodput_se_rps=0.06 * level.goodput_rps) for level in ideal(users)]
    (found,) = judge(noisy).missing
    assert (found.kind, found.users_below) == (kind, below)


@pytest.mark.parametrize("users", [[1, 2, 4], [1, 2, 4, 8], [2, 4, 8], [3, 6, 12]])
def test_no_more_lower_levels_are_asked_for_than_there_are_user_counts(users: list[float]) -> None:
    for found in judge(ideal(users, per_user=100.0, capacity=50.0)).missing:
        assert found.users_below is None or 1 <= found.count <= found.users_below
