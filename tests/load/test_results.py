"""A request has a result, or is counted as abandoned, whatever its user does. Each kind of reply: `lean.cases`, tests/e2e."""

from __future__ import annotations

from typing import Any

import pytest

from .patched import Played, play
from .servers import server

CLIENTS = ("http_user", "fast_http_user", "lean_http_user")

COUNTS: dict[str, tuple[list[int], list[bool]]] = {
    "read": ([1, 1, 0], [False]),
    "failed": ([1, 1, 0], [True]),
    "left by an error of user code": ([1, 1, 0], [True]),
    "left by an error, and failed": ([1, 1, 0], [True]),
    "left early": ([1, 0, 1], []),
    "stopped in the request": ([1, 0, 1], []),
    "stopped in the block": ([1, 0, 1], []),
    "not entered": ([1, 0, 1], []),
    "uncounted": ([0, 0, 0], [False]),
}
"""[started, reported, abandoned], and whether each reported one failed."""


@pytest.fixture(scope="module")
def seen() -> Played:
    with server() as running:
        return play("load.scenes.results", url=running.url)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("condition", COUNTS)
def test_a_request_is_reported_or_abandoned(seen: Played, client: str, condition: str) -> None:
    counts, fired = seen[client][condition]
    assert (counts, [types is not None for types in fired]) == COUNTS[condition]


@pytest.mark.parametrize("client", CLIENTS)
def test_an_error_of_user_code_fails_the_request_unless_the_reply_has(seen: Played, client: str) -> None:
    def types(condition: str) -> Any:
        return seen[client][condition][1][0]

    assert types("left by an error of user code") == ["KeyError"]
    assert "KeyError" not in types("left by an error, and failed")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_mistake_of_user_code_that_sends_nothing_is_in_flight_no_longer(seen: Played, client: str) -> None:
    assert seen[client]["refused before it is sent"] is True


def test_a_with_block_that_is_not_entered_is_an_error_of_user_code(seen: Played) -> None:
    assert "without a with-block" in seen["a_block_not_entered"]
