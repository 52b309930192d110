"""A load thread with users that need no network, and what it reports."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from locust import User, constant, task

from capexplorer.load import native
from capexplorer.load.engine import Report, Spawned
from capexplorer.load.load_thread import LoadThread
from capexplorer.load.workload import Workload
from capexplorer.model.load import Users

TIMEOUT_S = 60.0


class Idle(User):
    """A user whose task does nothing; it waits for 50 ms between tasks."""

    abstract = True
    wait_time = constant(0.05)

    @task
    def nothing(self) -> None:
        pass


def user_class(name: str, **attributes: Any) -> type[User]:
    return type(name, (Idle,), {"abstract": False, **attributes})


class Rig:
    """A host that runs these user classes, and its reports."""

    def __init__(self, *classes: type[User], shape: Any = None, own_events: bool = True) -> None:
        self.reports: list[Report] = []
        self.host = LoadThread(self.reports.append)
        self.host.start()
        self.host.make_workload(lambda: Workload(classes, shape), None, own_events=own_events)

    def until(self, done: Callable[[], bool]) -> bool:
        """True as soon as `done` is; fails if that takes TIMEOUT_S."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while not done():
            assert time.monotonic() < deadline_s, "not done in time"
            native.sleep(0.02)
        return True

    def reaches(self, users: int) -> bool:
        return self.until(lambda: self.host.users == users)

    def spawned(self, users: int) -> int:
        return sum(isinstance(each, Spawned) and each.load == Users(users) for each in self.reports)
