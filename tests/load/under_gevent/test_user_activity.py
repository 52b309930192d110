"""Waits and sleeps between requests for each kind of Locust user, and from when on a user's requests count."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import gevent
import gevent.hub
import pytest
from gevent import getcurrent
from gevent.event import Event
from gevent.pool import Group
from locust import FastHttpUser, HttpUser, SequentialTaskSet, TaskSet, User, constant, constant_pacing, constant_throughput, task
from locust.user.users import PytestUser

from capexplorer.load.arrivals import Ledger
from capexplorer.load.hooks.task_hooks import Observers, observed_run
from capexplorer.load.offering import Offering
from capexplorer.load.user_activity import WARM_LEAST_S, ActivitySums, UserActivity
from capexplorer.load.user_code import UserErrors

from .rig import Rig

PAUSE_S = 0.05
"""Sleep or wait of the users."""

RESPONSE_S = 0.01
"""Shortest response time of their requests."""


def _request(user: Any, *, polls: bool = False) -> None:
    """Fires the event of a request that took 10 ms; a client that polls sleeps during that time."""
    user = getattr(user, "user", user)  # of a task set
    began_s = time.monotonic()
    if polls:
        gevent.sleep(RESPONSE_S)
    else:
        Event().wait(RESPONSE_S)
    user.environment.events.request.fire(
        request_type="GET",
        name=type(user).__name__,
        response_time=1000 * (time.monotonic() - began_s),
        response_length=1,
        exception=None,
        context={},
    )


class ManySteps(User):
    """One task that takes minutes, with sleeps by the three names that `sleep` has."""

    @task
    def steps(self) -> None:
        for number in range(100_000):
            _request(self)
            (time.sleep, gevent.sleep, gevent.hub.sleep)[number % 3](PAUSE_S)


class NeverSleeps(User):
    """One task that takes minutes, without sleeps between requests, by a client that polls."""

    @task
    def steps(self) -> None:
        while True:
            _request(self, polls=True)


class Receives(User):
    """A greenlet of its own fires the events, also while `on_start` runs; its only task waits after a while."""

    loop: Any = None

    def on_start(self) -> None:
        self.loop = gevent.spawn(self.receive)
        Event().wait(10 * RESPONSE_S)

    def on_stop(self) -> None:
        self.loop.kill()

    def receive(self) -> None:
        while True:
            _request(self)

    @task
    def idle(self) -> None:
        Event().wait(10 * RESPONSE_S)
        self.wait()  # type: ignore[no-untyped-call]


class ReceivesInThread(Receives):
    """By a thread, which gevent makes a greenlet, that starts another, as some libraries do."""

    def on_start(self) -> None:
        self.ended = Event()
        Thread(target=lambda: Thread(target=self.receive).start()).start()
        Event().wait(10 * RESPONSE_S)

    def on_stop(self) -> None:
        self.ended.set()

    def receive(self) -> None:
        while not self.ended.is_set():
            _request(self)


class Waits(User):
    wait_time = constant(PAUSE_S)

    @task
    def ask(self) -> None:
        _request(self)


class Throughput(Waits):
    wait_time = constant_throughput(20)


class Pacing(Waits):
    wait_time = constant_pacing(PAUSE_S)


class OnlySleeps(User):
    @task
    def sleep(self) -> None:
        time.sleep(PAUSE_S)


class Interrupts(User):
    """Its task set ends itself, so that no task is ever followed by a wait."""

    @task
    class Visit(TaskSet):
        @task
        def page(self) -> None:
            _request(self)
            time.sleep(PAUSE_S)
            self.interrupt()  # type: ignore[no-untyped-call]


class Sequence(User):
    @task
    class Steps(SequentialTaskSet):
        wait_time = constant(PAUSE_S)

        @task
        def first(self) -> None:
            _request(self)

        @task
        def second(self) -> None:
            _request(self)


class LogsIn(User):
    """`on_start` makes requests for longer than a user in its tasks needs to be warm."""

    def on_start(self) -> None:
        until_s = time.monotonic() + WARM_LEAST_S + 0.5
        while time.monotonic() < until_s:
            _request(self)
            time.sleep(PAUSE_S)
        self.environment.started = True

    @task
    def steps(self) -> None:
        while True:
            _request(self)
            time.sleep(PAUSE_S)


KINDS = (ManySteps, NeverSleeps, Waits, Throughput, Pacing, OnlySleeps, Interrupts, Sequence, LogsIn)


class _Run(Rig):
    """One user of each of these kinds, drained until `done`."""

    def __init__(self, *kinds: type[User]) -> None:
        super().__init__(*kinds)
        self.counted: dict[str, int] = {}
        self.warmup: dict[str, int] = {}
        self.activity = ActivitySums()
        self.warm_users = 0
        self.host.set_users(len(kinds), 100.0)

    def until(self, done: Callable[[], bool]) -> bool:
        def drained() -> bool:
            self._drain()
            return done()

        return super().until(drained)

    def _drain(self) -> None:
        tick = self.host.recorder.drain(0.0, 0)
        for each in tick.endpoints:
            self.counted[each.name] = self.counted.get(each.name, 0) + each.requests
            self.warmup[each.name] = self.warmup.get(each.name, 0) + each.warmup_requests
        for name in ActivitySums.__slots__:
            setattr(self.activity, name, getattr(self.activity, name) + getattr(tick, name))
        self.warm_users = tick.warm_users or 0


def _alone(kind: type[User], requests: int = 20) -> _Run:
    run = _Run(kind)
    run.until(lambda: run.counted.get(kind.__name__, 0) >= requests)
    run.host.stop()
    return run


def test_requests_count_once_a_user_has_completed_a_cycle() -> None:
    requesting = [kind.__name__ for kind in KINDS if kind is not OnlySleeps]
    run = _Run(*KINDS)
    run.until(lambda: all(run.counted.get(name, 0) >= 20 for name in requesting) and run.warm_users == len(KINDS))
    run.host.stop()
    assert all(run.warmup[name] >= 1 for name in requesting)  # the first request of each
    assert {run.warmup[name] for name in ("Waits", "Throughput", "Pacing", "Sequence")} == {1}  # the first wait ends it
    assert run.warmup["LogsIn"] > run.warmup["ManySteps"]  # all requests of `on_start`


@pytest.mark.parametrize("kind", [Receives, ReceivesInThread])
def test_requests_of_a_loop_that_a_user_has_spawned_count_once_the_user_is_warm(kind: type[User]) -> None:
    run = _alone(kind)
    assert run.warmup[kind.__name__] >= 5  # those of `on_start`, and of the first task
    assert run.activity.sleeps == 0


def test_requests_of_a_greenlet_of_no_user_count_from_the_first() -> None:
    activity = UserActivity(Group)
    assert gevent.spawn(activity.on_request, 1.0).get()


def test_each_sleep_between_two_requests_is_a_pause_of_the_requested_length() -> None:
    activity = _alone(ManySteps).activity
    assert activity.sleeps >= 20
    assert activity.sleep_sum_s / activity.sleeps == pytest.approx(PAUSE_S, rel=0.01)
    assert (activity.waits, activity.tasks) == (0, 0)


def test_sleeps_within_responses_are_not_pauses() -> None:
    run = _alone(NeverSleeps)
    assert run.activity.sleep_sum_s < 0.1 * RESPONSE_S * (run.counted["NeverSleeps"] + run.warmup["NeverSleeps"])


def test_tasks_that_interrupt_their_set_end_without_a_wait() -> None:
    run = _alone(Interrupts)
    assert run.activity.tasks - run.counted["Interrupts"] - run.warmup["Interrupts"] in (0, -1)
    assert run.activity.waits == 0
    assert run.activity.task_sum_s / run.activity.tasks >= PAUSE_S


def test_a_user_that_has_stopped_itself_and_its_successor_count_once() -> None:
    """Warm users before it has stopped itself, and between then and the start of its successor."""
    users, found = Group(), []
    activity = UserActivity(lambda: users)

    def user() -> None:
        activity.on_task()
        activity.on_wait(0.0)
        found.append(activity.warm_users())
        gevent.getcurrent().has_stopped = True
        activity.on_user_end()
        found.append(activity.warm_users())

    users.spawn(user).join()
    assert found == [1, 1]


@pytest.mark.parametrize("base", [FastHttpUser, HttpUser])
def test_a_user_with_long_tasks_is_warm_after_two_seconds_with_both_clients(base: Any, url: str) -> None:
    class Steps(base):  # type: ignore[misc]
        host = url

        @task
        def steps(self) -> None:
            while True:
                self.client.get("/", name="Steps")
                time.sleep(PAUSE_S)

    run = _alone(Steps)
    assert run.warm_users == 1
    assert run.activity.sleep_sum_s / run.activity.sleeps == pytest.approx(PAUSE_S, rel=0.05)
    assert run.warmup["Steps"] > 1  # its task has no wait: it counts after two seconds


def test_a_user_made_of_test_functions_is_in_its_first_task_from_the_start() -> None:
    """It has no tasks, so that all of its requests would be those of `on_start`, which count in no figure."""
    group, began = Group(), list[bool]()
    activity = UserActivity(lambda: group)
    kind = type("test_page", (PytestUser,), {"on_start": lambda self: None})
    run = observed_run(
        lambda _: began.append(getcurrent().user_cycle.began_s is not None),
        Observers(activity, Offering(Ledger(), UserErrors()), UserErrors()),
    )
    group.spawn(run, object.__new__(kind))
    group.join()
    assert began == [True]
