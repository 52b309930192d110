"""LoadTarget, user errors and the header's versions."""

from __future__ import annotations

import pytest
from load.patched import Played, play


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("run.scenes.load_target")


def test_without_a_rate_a_step_takes_a_second_at_most_100_users_a_second_and_zero_is_at_once(seen: Played) -> None:
    assert seen["rates"]["None"] == [10.0, 1.0, 100.0, 100.0, 1.0, 50.0, 700.0, 1.0]


def test_a_given_rate_holds_for_all_steps_but_those_to_zero(seen: Played) -> None:
    assert seen["rates"]["5.0"] == [5.0, 5.0, 5.0, 5.0, 5.0, 50.0, 700.0, 1.0]


def test_a_rate_is_held_within_the_bounds_of_profiles(seen: Played) -> None:
    assert seen["clamped_rates"] == [0.001, 100_000.0, 7.0, None]


def test_the_requested_users_are_kept_while_there_is_no_service(seen: Played) -> None:
    assert seen["shut_and_open"] == [3.0, 8.0, True, 8, False]


def test_user_errors_are_one_mark_with_revisions(seen: Played) -> None:
    marks = seen["user_errors"]
    assert [mark and (mark.get("revision", 1), mark["state"]) for mark in marks] == [
        None, None, (1, "open"), (2, "updated"), None, (3, "closed"), (4, "open"), (5, "updated"),
    ]  # fmt: skip
    first = marks[2]
    assert (first["key"], first["severity"], first["epoch"]) == ("cause:user_code_error", "error", 1)
    assert first["finding"] == {
        "kind": "cause", "name": "user_code_error", "count": 2, "first_s": 20.0, "last_s": 20.0, "rate_per_s": 2.0,
        "readings": {"users_replaced": 3}, "example": "KeyError: 'x' (users.py:7 in buy)",
    }  # fmt: skip
    last = marks[-1]["finding"]
    assert (last["count"], last["first_s"], last["last_s"], last["readings"]) == (8, 20.0, 70.0, {"users_replaced": 4})


def test_the_header_names_the_versions_that_shape_the_figures(seen: Played) -> None:
    found, expected, all_known = seen["known_versions"]
    assert found == expected
    assert all_known
