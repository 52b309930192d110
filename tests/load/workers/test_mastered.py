"""The run that workers connect to: which may join, how users are spread, lost workers, and messages that cannot be read."""

from __future__ import annotations

import pytest

from ..patched import Played, play

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.mastered")


def test_users_are_spread_and_reported_when_all_of_them_run(seen: Played) -> None:
    assert seen["users_are_spread_and_reported_when_all_of_them_run"] == [True, True, 5, [2, 3], 0, True, True]


def test_a_step_ends_although_users_have_died_since_they_started(seen: Played) -> None:
    """With users whose on_start failed, each step took 20 s longer than its plan said."""
    assert seen["a_step_ends_although_users_have_died_since_they_started"] == [True, []]


def test_a_step_waits_for_workers_and_is_spread_again_when_one_joins(seen: Played) -> None:
    assert seen["a_step_waits_for_workers_and_is_spread_again_when_one_joins"] == [0, True, True, True]


def test_a_silent_worker_is_lost_within_four_seconds_and_its_users_run_elsewhere(seen: Played) -> None:
    found = seen["a_silent_worker_is_lost_and_its_users_run_elsewhere"]
    assert found == [True, True, "lost", "2", 1, True, True]


def test_workers_take_over_the_users_of_this_process_once_they_have_joined(seen: Played) -> None:
    assert seen["workers_take_over_the_users_of_this_process"] == [True, True, 4, True, 0, 4, True, True, True]


def test_workers_cannot_take_over_where_they_cannot_join(seen: Played) -> None:
    refusal = "workers cannot join at 127.0.0.1:PORT: address already in use; expected an address of this machine and a free port"
    assert seen["workers_cannot_take_over_where_they_cannot_join"] == [refusal, False, True, True, True]


def test_seconds_of_workers_with_other_clocks_make_one_tick(seen: Played) -> None:
    found = seen["seconds_of_workers_with_other_clocks_make_one_tick"]
    assert found == [True, True, False, True, 7, 2, True, ["1", "2@there"], False, 2]


def test_only_workers_of_this_version_get_the_job(seen: Played) -> None:
    found = seen["who_may_join"]
    assert found["right"] == ["capexplorer_job", True]
    assert found["another version"][0] == "capexplorer_refused"
    assert found["another version"][1].startswith("it has capexplorer 0.0, the run has ")
    assert found["no hello"][0] == "capexplorer_refused"
    assert "--plain-workers" in found["plain"]
    assert found["joined"] == 0
    assert len(found["refused"]) == 3


def test_plain_locust_workers_join_where_they_are_allowed(seen: Played) -> None:
    assert seen["plain_workers_join_where_they_are_allowed"] == [True, True, "1@box", True, 9, 1]


def test_messages_that_cannot_be_read_stop_nothing_and_a_worker_that_sends_one_is_lost(seen: Played) -> None:
    assert seen["messages_that_cannot_be_read_stop_nothing"] == [
        True,
        True,
        True,
        "its message `capexplorer_clock` cannot be read: TypeError: string indices must be integers, not 'str'",
    ]
