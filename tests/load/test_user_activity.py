"""Waits and sleeps between requests for each kind of Locust user, and from when on a user's requests count."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .patched import Played, play
from .servers import server

PAUSE_S = 0.05
"""Sleep or wait of the users of the scenes."""
RESPONSE_S = 0.01
"""Shortest response time of their requests."""


@pytest.fixture(scope="module")
def seen() -> Iterator[Played]:
    with server() as running:
        yield play("load.scenes.busy", url=running.url)


@pytest.mark.parametrize(
    "kind", ["ManySteps", "NeverSleeps", "Waits", "Throughput", "Pacing", "Interrupts", "Sequence", "LogsIn"]
)
def test_requests_count_once_a_user_has_completed_a_cycle(seen: Played, kind: str) -> None:
    found = seen["all_kinds"]
    assert found["complete"], f"not all users became warm: {found}"
    assert found["counted"][kind] >= 20
    assert found["warmup"][kind] >= 1, "its first request is warm-up"


@pytest.mark.parametrize("kind", ["Waits", "Throughput", "Pacing", "Sequence"])
def test_the_first_wait_ends_the_warm_up(seen: Played, kind: str) -> None:
    assert seen["all_kinds"]["warmup"][kind] == 1


def test_all_requests_of_on_start_are_warm_up(seen: Played) -> None:
    many_steps, logs_in = (seen["all_kinds"]["warmup"][kind] for kind in ("ManySteps", "LogsIn"))
    assert logs_in > many_steps


def test_a_task_that_only_sleeps_makes_its_user_warm(seen: Played) -> None:
    assert seen["all_kinds"]["warm_users"] == 9


def test_each_sleep_between_two_requests_is_a_pause_of_the_requested_length(seen: Played) -> None:
    sleeps, sleep_sum_s, waits, tasks = seen["sleeps_inside_a_task"]
    assert sleeps >= 20
    assert sleep_sum_s / sleeps == pytest.approx(PAUSE_S, rel=0.01)
    assert [waits, tasks] == [0, 0]


def test_sleeps_within_responses_are_not_pauses(seen: Played) -> None:
    slept_s, requests = seen["a_client_that_sleeps_in_its_responses"]
    assert slept_s < 0.1 * RESPONSE_S * requests


def test_tasks_that_interrupt_their_set_end_without_a_wait(seen: Played) -> None:
    open_tasks, waits, task_s = seen["tasks_that_interrupt_their_set"]
    assert open_tasks in (0, -1)
    assert waits == 0
    assert task_s >= PAUSE_S


def test_a_user_that_has_stopped_itself_and_its_successor_count_once(seen: Played) -> None:
    assert seen["a_user_that_has_stopped_itself"] == [1, 1]


@pytest.mark.parametrize("client", ["FastHttpUser", "HttpUser"])
def test_a_user_with_long_tasks_is_warm_after_two_seconds_with_both_clients(seen: Played, client: str) -> None:
    warm_users, pause_s, warmup = seen["http_clients"][client]
    assert warm_users == 1
    assert pause_s == pytest.approx(PAUSE_S, rel=0.05)
    assert warmup > 1, "its task has no wait: it counts after two seconds"
