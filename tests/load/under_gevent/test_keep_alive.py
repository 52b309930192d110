"""Users keep their connections, also those with high descriptor numbers; a connection that ended is counted by who closed it."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import locust
import pytest
from locust.env import Environment

from capexplorer.load import workload
from capexplorer.load.guard import HostGuard
from capexplorer.load.hooks.hook import put_in_place
from capexplorer.load.hooks.hook_table import GUARD
from capexplorer.load.recorder import Recorder

REQUESTS = 5


FIRST_DESCRIPTOR = 1_100
"""Beyond what select() takes, as with more than a thousand users."""

_guard = HostGuard()


put_in_place(GUARD, _guard)


@pytest.fixture(scope="module", autouse=True)
def _high_descriptors() -> Iterator[None]:
    """Duplicates of one descriptor, until new ones have numbers above FIRST_DESCRIPTOR."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    duplicates = [os.dup(1)]
    while duplicates[-1] < FIRST_DESCRIPTOR:
        duplicates.append(os.dup(1))
    yield
    for descriptor in duplicates:
        os.close(descriptor)


def _user(kind: type[locust.User], url: str) -> Any:
    return type("Client", (kind,), {"host": url, "abstract": False})(Environment(user_classes=[]))


def _counted(ask: Callable[[], object]) -> tuple[int, int, int]:
    """(connects, closed by the service, closed by users) while `ask` ran."""
    gc.collect()  # urllib3 closes connections of a session without references
    recorder = Recorder(guard=_guard)
    recorder.drain(0.0, 0)
    ask()
    tick = recorder.drain(0.0, 0)
    return tick.connects, tick.closed_by_service or 0, tick.closed_by_users or 0


def _requests(user: Any, path: str, headers: dict[str, str] | None = None) -> None:
    for _ in range(REQUESTS):
        user.client.get(path, headers=headers)


def _closed(user: Any, path: str) -> None:
    for _ in range(REQUESTS):
        user.client.get(path)
        workload._disconnect(user.client)


def _timed_out(kind: type[locust.User], url: str) -> None:
    impatient = type("Impatient", (kind,), {"abstract": True, "network_timeout": 0.1})
    _user(impatient, url).client.get("/hang", **({"timeout": 0.1} if kind is locust.HttpUser else {}))


def _with_pauses(user: Any, path: str) -> None:
    """Long enough for the end of the stream to arrive: the server closes at once, without announcing it."""
    for _ in range(REQUESTS):
        user.client.get(path)
        gevent.sleep(0.05)


Ask = Callable[[type[locust.User], str], object]

CONDITIONS: dict[str, tuple[Ask, tuple[int, int, int]]] = {
    "kept": (lambda kind, url: _requests(_user(kind, url), "/ok"), (1, 0, 0)),
    "asked to close by the reply": (
        lambda kind, url: _requests(_user(kind, url), "/connections"), (REQUESTS, REQUESTS, 0),
    ),
    "closed while idle": (  # the last one is closed without being noticed
        lambda kind, url: _with_pauses(_user(kind, url), "/closed-later"), (REQUESTS, REQUESTS - 1, 0),
    ),
    "closed by the user": (lambda kind, url: _closed(_user(kind, url), "/ok"), (REQUESTS, 0, REQUESTS)),
    "closed as the user asked": (
        lambda kind, url: _requests(_user(kind, url), "/ok", {"connection": "Close"}), (REQUESTS, 0, REQUESTS),
    ),
    "timed out": (_timed_out, (1, 0, 1)),
    "never used again": (lambda kind, url: [_user(kind, url).client.get("/ok") for _ in range(REQUESTS)], (REQUESTS, 0, 0)),
}  # fmt: skip
"""What users do, and (connects, closed by the service, closed by users)."""


@pytest.mark.parametrize("kind", workload.HTTP_USERS, ids=lambda kind: str(kind.__name__))
@pytest.mark.parametrize(("ask", "counts"), CONDITIONS.values(), ids=CONDITIONS)
def test_connections_are_kept_and_counted_by_who_closed_them(
    url: str, kind: type[locust.User], ask: Ask, counts: tuple[int, int, int]
) -> None:
    assert _counted(lambda: ask(kind, url)) == counts
