"""Attempts that clients repeat by themselves are counted, without a change of what the clients do."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest

from .patched import Played, play
from .servers import Server, server


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    with server() as running:
        yield running


@pytest.fixture(scope="module")
def seen(served: Server) -> Played:
    return play("load.scenes.repeating", url=served.url)


def test_resets_that_fast_http_user_hides_are_counted_and_its_requests_stay_successes(seen: Played) -> None:
    found = seen["hidden_resets"]["FastHttpUser"]
    assert (found["requests"], found["failures"]) == (20, [])
    [[method, name, kind, number, reused, count]] = found["retried"]
    assert (method, name, kind, number, reused) == ("GET", "/every-other-reset", "ConnectionResetError", errno.ECONNRESET, False)
    assert 19 <= count <= 20


def test_http_user_hides_no_failures(seen: Played) -> None:
    found = seen["hidden_resets"]["HttpUser"]
    assert found == {"requests": 20, "failures": [["GET", "/every-other-reset", "ConnectionResetError", 10]], "retried": []}


def test_the_last_attempt_is_the_failure_and_only_those_before_it_are_retries(seen: Played, served: Server) -> None:
    found = seen["resets_only"]
    assert found["requests"] == 4
    assert sorted(found["failures"]) == [
        ["GET", "/reset", "ConnectionResetError", 1],
        ["GET", "/silence", "HTTPConnectionClosed", 1],
        ["POST", "/reset", "ConnectionResetError", 1],
    ]
    counted = {(name, reused): count for _, name, _, _, reused, count in found["retried"]}
    assert counted == {("/reset", False): 11, ("/silence", True): 1, ("/silence", False): 10}


def test_a_failure_that_user_code_forgives_is_not_a_retry(seen: Played) -> None:
    found = seen["a_failure_that_user_code_forgives"]
    assert (found["requests"], found["failures"]) == (1, [])
    assert [row[-1] for row in found["retried"]] == [11]


def test_retries_that_a_locustfile_asks_for_are_counted(seen: Played) -> None:
    fast = seen["retries_of_the_user_agent"]
    assert fast["failures"] == [["GET", "/hang", "TimeoutError", 1]]
    assert [(row[2], row[-1]) for row in fast["retried"]] == [("TimeoutError", 2)]
    requests = seen["retries_of_an_adapter"]
    assert len(requests["failures"]) == 2
    assert sorted((name, count) for _, name, *_, count in requests["retried"]) == [("/503", 2), ("/reset", 2)]
