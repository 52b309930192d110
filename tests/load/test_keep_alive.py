"""Users keep their connections, also those with high descriptor numbers; a connection that ended is counted by who closed it."""

from __future__ import annotations

import pytest

from .patched import Played, play
from .servers import server

CLIENTS = ("FastHttpUser", "HttpUser", "LeanHttpUser")
REQUESTS = 5

COUNTS = {
    "kept": (1, 0, 0),
    "asked to close by the reply": (REQUESTS, REQUESTS, 0),
    "closed while idle": (REQUESTS, REQUESTS - 1, 0),  # the last one is closed without being noticed
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
def test_connections_are_kept_and_counted_by_who_closed_them(seen: Played, client: str, condition: str) -> None:
    assert tuple(seen["kept"][client][condition]) == COUNTS[condition]
