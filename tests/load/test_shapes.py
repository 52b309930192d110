"""Load shapes of Locust in the load thread: their steps, their end, and errors in them."""

from __future__ import annotations

import pytest

from .patched import Played, play

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.shaped")


def test_a_shape_steps_and_ends(seen: Played) -> None:
    assert seen["a_shape_steps_and_ends"] == [True, [[2, 100], [4, 100]], 1, 1]


def test_a_shape_that_returns_no_users_and_rate_ends_with_an_error_of_user_code(seen: Played) -> None:
    found = seen["a_shape_returns_no_users_and_rate"]
    assert len(found) == 9
    assert {name: each for name, each in found.items() if each != [True, 1, ["UserCodeFault"], True]} == {}


def test_a_shape_may_pick_the_user_classes_of_a_step(seen: Played) -> None:
    only_first, then_second = seen["a_shape_picks_user_classes"]
    assert only_first == 3
    assert then_second >= 3


def test_a_step_by_hand_ends_the_shape(seen: Played) -> None:
    assert seen["a_step_by_hand_ends_the_shape"] == [True, 1, False]


def test_a_shape_step_that_is_refused_is_not_reported(seen: Played) -> None:
    assert seen["a_shape_step_that_is_refused_is_not_reported"] == [True, True, False]


def test_a_shapes_time_begins_with_its_users(seen: Played) -> None:
    assert seen["a_shapes_time_begins_with_its_users"] == [True, True]


def test_a_shape_may_ask_how_many_users_run(seen: Played) -> None:
    assert seen["a_shape_asks_how_many_users_run"] == [0, 3]


def test_a_shape_that_raises_ends_and_is_a_user_error(seen: Played) -> None:
    assert seen["a_shape_that_raises_ends_and_is_a_user_error"] == [True, ["ZeroDivisionError: in the shape"]]
