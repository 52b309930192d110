"""A user keeps its connection whatever its descriptor's number, and a connection that ended is counted by who ended it."""

from __future__ import annotations

import pytest

from .patched import Played, play
from .servers import server

CLIENTS = ("FastHttpUser", "HttpUser", "LeanHttpUser")
REQUESTS = 5

COUNTS = {
    "kept": (1, 0, 0),
    "told to close": (REQUESTS, REQUESTS, 0),
    "closed while idle": (REQUESTS, REQUESTS - 1, 0),  # nobody has looked at the last one
    "closed by the user": (REQUESTS, 0, REQUESTS),
    "closed as the user asked": (REQUESTS, 0, REQUESTS),
    "timed out": (1, 0, 1),
    "never used again": (REQUESTS, 0, 0),
}
"""Connects, closed by the service, closed by users. Descriptors are above 1,023, which select() refuses."""


@pytest.fixture(scope="module")
def seen() -> Played:
    with server() as running:
        return play("load.scenes.kept", url=running.url)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("condition", COUNTS)
def test_connections_are_kept_and_their_ends_counted_by_who_ended_them(seen: Played, client: str, condition: str) -> None:
    assert tuple(seen["kept"][client][condition]) == COUNTS[condition]
