"""Users in this process: Locust's LocalRunner in the load thread."""

from __future__ import annotations

import time
from typing import Any

import gevent
import locust
from locust.env import Environment
from locust.event import EventHook
from locust.runners import STATE_CLEANUP, STATE_RUNNING, STATE_STOPPED

from ..model.load import OfferedRate, Rate
from .bounded_waits import BoundedWaits
from .engine import EngineContext
from .in_process import InProcessEngine
from .load_reports import Spawned
from .offered.offering import Offering
from .offered.pool import Pool
from .offered.pool_users import LocalUsers


class LocalEngine(InProcessEngine):
    """The `LoadEngine` whose users run in this process."""

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self._bounded_waits: Any = None
        self._pool_users: Any = None

    def create_runner(self, environment: Environment) -> None:
        """A LocalRunner whose dead users are replaced."""
        environment.events.spawning_complete.add_listener(self._on_spawned)  # type: ignore[no-untyped-call]
        self.runner = runner = environment.create_local_runner()
        if environment.events is not locust.events:  # without a locustfile nothing reads Locust's statistics
            environment.events.request = EventHook()  # type: ignore[no-untyped-call]
        # as dispatched: the runner's own count lacks who died meanwhile
        self.replace_dead_users(lambda: runner._local_worker_node.user_classes_count)
        self._bounded_waits = BoundedWaits(runner, self._context.errors)
        self._pool_users = LocalUsers(runner, self._step)
        self._offering.pool = Pool(self._offering.dispatch, self._pool_users, self._context.errors)

    def step(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Call `runner.start`, and bound how long it waits for user code."""
        self._offering.close(lambda: self.runner.user_count <= self.runner.target_user_count)
        self._step(users, spawn_rate, classes)

    def offer(self, offered: OfferedRate) -> None:
        """Offer iterations by a schedule in this thread."""
        self._offering.offer(
            offered,
            shares=self._pool_users.shares(),
            began=lambda: self._context.report(Spawned(Rate(offered.per_s), time.monotonic())),
        )

    @property
    def _offering(self) -> Offering:
        return self._context.offering

    def _step(self, users: int, spawn_rate: float, classes: Any = None) -> None:
        if users == 0 and self.runner.state in (STATE_CLEANUP, STATE_STOPPED):
            self.runner.target_user_count = 0  # the locustfile has stopped all users: no test begins for zero users
            self._context.on_spawned()
            return
        self.runner.start(users, spawn_rate, user_classes=classes)
        spawning = self.runner.spawning_greenlet
        spawning.link_exception(self._on_failed)
        gevent.spawn(self._bound, spawning, spawn_rate)

    def _on_spawned(self, **_: Any) -> None:
        """The runner may be that of another engine, with which a locustfile's environment is shared."""
        if self.runner.state not in (STATE_CLEANUP, STATE_STOPPED):
            self._context.on_spawned()

    def _bound(self, spawning: Any, spawn_rate: float) -> None:
        if not self._bounded_waits.step(spawning, spawn_rate):
            self._go_on()

    def _on_failed(self, spawning: Any) -> None:
        """Count the error of a user class that cannot be instantiated, and continue the step without those users."""
        if isinstance(spawning.exception, Exception):  # the hub has counted others
            self._context.errors.add(spawning.exception, spawning.exc_info[2])
        if self.runner.state not in (STATE_CLEANUP, STATE_STOPPED):
            self._go_on()

    def _go_on(self) -> None:
        self.runner.update_state(STATE_RUNNING)
        self._context.on_spawned()
