"""Users in this process: Locust's LocalRunner in the load thread, and what it has in common with a worker's runner."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import gevent
import locust
from locust.env import Environment
from locust.event import EventHook
from locust.runners import STATE_CLEANUP, STATE_RUNNING, STATE_STOPPED

from ..model.experiments import Experiment
from ..model.load import OfferedRate, Rate
from .engine import Drained, EngineContext, Spawned
from .locust_bounds import BoundedWaits
from .offering import LocalUsers, Offering
from .user_activity import UserActivity, UserCycle
from .user_code import UserErrors

EVERY_S = 0.05
EVERY_AT_MOST_S = 1.0
"""A user that dies is replaced at once, then with increasing delay, so that a broken `on_start` cannot spin. A user that has
stopped itself after a flow is always replaced at once: so many flows run at a time as users are requested."""


class Replacement:
    """`run` in a greenlet of the load thread."""

    def __init__(self, runner: Any, wanted: Callable[[], Mapping[str, int]], errors: UserErrors, activity: UserActivity) -> None:
        """`wanted`: users by class, as of the last step."""
        self._runner, self._wanted, self._errors, self._activity = runner, wanted, errors, activity
        self.replaced = 0
        """Users replaced so far."""

    def run(self) -> None:
        """Never returns."""
        pause_s = EVERY_S
        while True:
            stopped = self._activity.ended.wait(pause_s)
            self._activity.ended.clear()
            gevent.sleep(0)  # in which the greenlet of a user that has just stopped ends
            missing = self._missing()
            pause_s = EVERY_S if stopped else min(EVERY_AT_MOST_S, pause_s * 2) if missing else EVERY_S
            if missing:
                self._replace(missing)
            self._activity.successors = 0  # those that remain are not needed any more

    def _replace(self, missing: dict[str, int]) -> None:
        with self._errors.counted():
            before = set(self._runner.user_greenlets)
            self._runner.spawn_users(missing)
            self.replaced += sum(missing.values())
            for greenlet in set(self._runner.user_greenlets) - before:
                if self._activity.successors:
                    self._activity.successors -= 1
                    greenlet.user_cycle = UserCycle(is_warm=True)

    def _missing(self) -> dict[str, int]:
        """Users to spawn, by class."""
        runner = self._runner
        if runner.state != STATE_RUNNING or runner.user_count >= runner.target_user_count:
            return {}
        running = runner.user_classes_count
        return {name: count - running.get(name, 0) for name, count in self._wanted().items() if count > running.get(name, 0)}


class InProcessEngine:
    """A `LoadEngine` without `step`, `offer` and `create_runner`; the last must call `replace_dead_users`."""

    runner: Any = None

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._replacement: Replacement | None = None

    def replace_dead_users(self, wanted: Callable[[], Mapping[str, int]]) -> None:
        """Replace dead users from now on. `wanted`: returns the users by class as of the last step."""
        self._replacement = Replacement(self.runner, wanted, self._context.errors, self._context.recorder.activity)
        gevent.spawn(self._replacement.run)

    def begin_level(self, index: int, experiment: Experiment | None) -> None:
        """Attribute requests from now on to this level, whose experiment users follow from their next task or wait on."""
        self._context.recorder.begin_level(index)
        self._context.recorder.activity.experiment = experiment

    @property
    def users(self) -> int:
        """Users of the runner, and those that are about to be replaced."""
        if self.runner is None:
            return 0
        running = int(self.runner.user_count)
        return max(running, min(int(self.runner.target_user_count), running + self._context.recorder.activity.successors))

    @property
    def replaced(self) -> int:
        """Dead users replaced so far."""
        return self._replacement.replaced if self._replacement is not None else 0

    def is_due(self, boundary_s: float) -> bool:
        """Always True: requests of this process can be drained at any time."""
        return True

    def drain(self, boundary_s: float) -> Drained:
        """All requests recorded since the last call."""
        return Drained(self._context.recorder.drain(boundary_s, self.users))

    def drain_all(self) -> None:
        """Let the next drain include all waiting failures."""
        self._context.recorder.drain_all()


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

    def step(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Call `runner.start`, and bound how long it waits for user code."""
        self._offering.close(lambda: self.runner.user_count <= self.runner.target_user_count)
        self._step(users, spawn_rate, classes)

    def offer(self, offered: OfferedRate) -> None:
        """Offer iterations by a schedule in this thread."""
        self._offering.offer(
            offered,
            self._pool_users,
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
