"""Hooks in what users do besides requests: waits between tasks, sleeps inside them, how long tasks take, and the end of a user.

Replaced for the whole process, by whatever names a locustfile calls them, before it is imported: it may import `sleep` by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gevent.hub
import msgspec
from locust.exception import StopUser
from locust.user.users import PytestUser

from ..bodies import LEAVING
from ..offering import Offering
from ..user_activity import UserActivity, begins_life, of_this_user, turn
from ..user_code import UserErrors
from ..workload import disconnect, leave, seconds_of, varied

_sleep = gevent.hub.sleep
"""gevent's own, which is no sleep of user code."""


class Observers(msgspec.Struct, frozen=True):
    """What observes users."""

    activity: UserActivity
    offering: Offering
    errors: UserErrors


def pacing_known(constant_pacing: Callable[[Any], Callable[[Any], float]]) -> Callable[[Any], Callable[[Any], float]]:
    """Locust's `constant_pacing`, of which `constant_throughput` is made: the function that it returns has its `pacing_s`."""

    def made(wait_time: Any) -> Callable[[Any], float]:
        wait: Any = constant_pacing(wait_time)
        wait.pacing_s = wait_time
        return wait  # type: ignore[no-any-return]

    return made


def observed_wait(_: object, observers: Observers) -> Callable[[Any, object], None]:
    """All waits of all users pass `TaskSet._sleep`, whatever class defines `wait_time`. At a rate level there are none."""
    activity, offering = observers.activity, observers.offering

    def wait(tasks: Any, chosen: object) -> None:
        if offering.is_on and offering.takes_now:
            return
        seconds = seconds_of(chosen, type(tasks.user).__name__)
        if activity.experiment is not None:
            seconds *= activity.experiment.pause_ratio
        activity.on_wait(seconds)
        if seconds > 0:
            offering.pause(seconds)
        else:
            _sleep(0)

    return wait


def observed_task(execute: Callable[[Any, Any], Any], observers: Observers) -> Callable[[Any, Any], None]:
    """How long tasks take; at a rate level, each waits for an arrival."""
    activity, offering, errors = observers.activity, observers.offering, observers.errors
    execute = _in_experiments(execute, activity)

    def execute_task(tasks: Any, task: Any) -> None:
        if isinstance(task, type):  # a nested task set, whose tasks come here by themselves
            execute(tasks, task)
            return
        iteration = None
        if offering.is_on and offering.takes_now:
            activity.on_idle()
            iteration = offering.take(tasks.user)
            if iteration is None:
                tasks._sleep(tasks.wait_time())  # the rate has ended
        began_s = activity.on_task()
        of_this_user().task_begins(turn())
        try:
            execute(tasks, task)
        except Exception as error:  # a failure, or Locust's own way to leave a task set
            activity.on_task_end(began_s)
            if iteration is not None:
                offering.ended(iteration, failed=not isinstance(error, LEAVING))
            if isinstance(error, StopUser):
                errors.on_stopped(error)
            raise
        except BaseException:  # the user is stopped
            if iteration is not None:
                offering.abandoned(iteration)
            raise
        activity.on_task_end(began_s)
        if iteration is not None:
            offering.ended(iteration)

    return execute_task


def _in_experiments(execute: Callable[[Any, Any], Any], activity: UserActivity) -> Callable[[Any, Any], None]:
    """In an experiment another task may take the place of one, and connections may be closed after it."""

    def execute_task(tasks: Any, task: Any) -> None:
        experiment = activity.experiment
        execute(tasks, task if experiment is None else varied(tasks.user, task, experiment))
        if experiment is not None and experiment.name == "reconnect":
            disconnect(tasks.user)

    return execute_task


def observed_run(run: Callable[[Any], None], observers: Observers) -> Callable[[Any], None]:
    """A user's life: whether its `on_start` stops it, and its end, which closes its connections."""

    def run_and_leave(user: Any) -> None:
        on_start = user.on_start

        def start() -> None:
            try:
                on_start()
            except StopUser as error:
                observers.errors.on_stopped(error)
                raise

        user.on_start = start
        begins_life()
        if isinstance(user, PytestUser):  # it has no tasks: its test functions are called without end
            observers.activity.on_task()
        try:
            run(user)
        finally:
            leave(user)
            observers.activity.on_user_end()

    return run_and_leave


def observed_sleep(sleep: Callable[..., None], observers: Observers) -> Callable[..., None]:
    """Sleeps of user code: they are think time."""
    activity = observers.activity

    def observed(seconds: float = 0, ref: bool = True) -> None:
        activity.on_sleep(seconds)
        events = of_this_user()
        events.sleeps(turn())
        sleep(seconds, ref)
        events.wakes(turn())

    return observed
