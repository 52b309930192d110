"""Connections of one user of each client: how many are opened, and who closed those that ended."""

from __future__ import annotations

import gc
import os
import resource
from typing import Any

import gevent
import locust
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


def _high_descriptors() -> list[int]:
    """Duplicates of one descriptor, until new ones have numbers above FIRST_DESCRIPTOR."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    duplicates = [os.dup(1)]
    while duplicates[-1] < FIRST_DESCRIPTOR:
        duplicates.append(os.dup(1))
    return duplicates


def _user(kind: type[locust.User], url: str) -> Any:
    return type("Client", (kind,), {"host": url, "abstract": False})(Environment(user_classes=[]))


def _counted(ask: Any) -> list[int]:
    """[connects, closed by the service, closed by users] while `ask` ran."""
    gc.collect()  # urllib3 closes connections of a session without references
    recorder = Recorder(guard=_guard)
    recorder.drain(0.0, 0)
    ask()
    tick = recorder.drain(0.0, 0)
    return [tick.connects, tick.closed_by_service or 0, tick.closed_by_users or 0]


def _requests(user: Any, path: str, headers: dict[str, str] | None = None) -> None:
    for _ in range(REQUESTS):
        user.client.get(path, headers=headers)


def _closed(user: Any, path: str) -> None:
    for _ in range(REQUESTS):
        user.client.get(path)
        workload._disconnect(user.client)


def kept(url: str) -> dict[str, dict[str, list[int]]]:
    """By client and what happens to its connections. `/closed-later` closes after its reply without announcing it."""
    duplicates, found = _high_descriptors(), {}
    for kind in workload.HTTP_USERS:
        found[kind.__name__] = {
            "kept": _counted(lambda kind=kind: _requests(_user(kind, url), "/ok")),
            "asked to close by the reply": _counted(lambda kind=kind: _requests(_user(kind, url), "/connections")),
            "closed while idle": _counted(lambda kind=kind: _with_pauses(_user(kind, url), "/closed-later")),
            "closed by the user": _counted(lambda kind=kind: _closed(_user(kind, url), "/ok")),
            "closed as the user asked": _counted(lambda kind=kind: _requests(_user(kind, url), "/ok", {"connection": "Close"})),
            "timed out": _counted(lambda kind=kind: _user_of(kind, url).client.get("/hang", **_limits(kind))),
            "never used again": _counted(lambda kind=kind: [_user(kind, url).client.get("/ok") for _ in range(REQUESTS)]),
        }
    for descriptor in duplicates:
        os.close(descriptor)
    return found


def _user_of(kind: type[locust.User], url: str) -> Any:
    return _user(type("Impatient", (kind,), {"abstract": True, "network_timeout": 0.1}), url)


def _limits(kind: type[locust.User]) -> dict[str, float]:
    return {"timeout": 0.1} if kind is locust.HttpUser else {}


def _with_pauses(user: Any, path: str) -> None:
    """Long enough for the end of the stream to arrive: the server closes at once."""
    for _ in range(REQUESTS):
        user.client.get(path)
        gevent.sleep(0.05)
