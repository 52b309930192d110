"""Hooks in what users do besides requests: waits between tasks, sleeps inside them, how long tasks take, and the end of a user.

Locust's users and task sets and gevent's `sleep` are replaced for the whole process, by whatever names a locustfile calls them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gevent
import gevent.hub
from locust.exception import StopUser
from locust.user.task import DefaultTaskSet, TaskSet
from locust.user.users import PytestUser, User

from .custom_events import of_this_user, turn
from .offered.offering import Offering
from .results import LEAVING
from .user_activity import UserActivity
from .user_code import UserErrors
from .workload import leave, seconds_of

_sleep = gevent.hub.sleep
_executes: dict[type[TaskSet], Callable[[Any, Any], Any]] = {kind: kind.execute_task for kind in (TaskSet, DefaultTaskSet)}
_runs: dict[type[User], Callable[[Any], None]] = {kind: kind.run for kind in (User, PytestUser)}
"""The original functions, so that a second installation replaces the first."""


def install(activity: UserActivity, offering: Offering, errors: UserErrors) -> None:
    """Install the hooks. Call it before a locustfile is imported, since that may import `sleep` by name."""
    wait = _waiting(activity, offering)
    TaskSet._sleep = wait  # type: ignore[method-assign]
    for kind, execute in _executes.items():
        kind.execute_task = _executing(activity, offering, wait, execute, errors)  # type: ignore[method-assign]
    for user_kind, run in _runs.items():
        user_kind.run = _running(activity, run, errors)  # type: ignore[misc, method-assign]
    time.sleep = gevent.sleep = gevent.hub.sleep = _sleeping(activity)  # gevent has patched `time.sleep` already


Wait = Callable[[TaskSet, object], None]


def _waiting(activity: UserActivity, offering: Offering) -> Wait:
    """All waits of all users pass `TaskSet._sleep`, whatever class defines `wait_time`. At a rate level there are none."""

    def wait(tasks: TaskSet, chosen: object) -> None:
        if offering.takes_now:
            return
        seconds = seconds_of(chosen, type(tasks.user).__name__)
        activity.on_wait(seconds)
        if seconds > 0:
            offering.pause(seconds)
        else:
            _sleep(0)

    return wait


def _executing(
    activity: UserActivity, offering: Offering, wait: Wait, execute: Callable[[Any, Any], Any], errors: UserErrors
) -> Callable[[Any, Any], None]:
    def execute_task(tasks: Any, task: Any) -> None:
        if isinstance(task, type):  # a nested task set, whose tasks come here by themselves
            execute(tasks, task)
            return
        iteration = None
        if offering.takes_now:
            activity.on_idle()
            iteration = offering.take(tasks.user)
            if iteration is None:
                wait(tasks, tasks.wait_time())  # the rate has ended
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


def _running(activity: UserActivity, run: Callable[[Any], None], errors: UserErrors) -> Callable[[Any], None]:
    def run_and_leave(user: Any) -> None:
        on_start = user.on_start

        def start() -> None:
            try:
                on_start()
            except StopUser as error:
                errors.on_stopped(error)
                raise

        user.on_start = start
        try:
            run(user)
        finally:
            leave(user)
            activity.on_user_end()

    return run_and_leave


def _sleeping(activity: UserActivity) -> Callable[..., None]:
    def sleep(seconds: float = 0, ref: bool = True) -> None:
        activity.on_sleep(seconds)
        events = of_this_user()
        events.sleeps(turn())
        _sleep(seconds, ref)
        events.wakes(turn())

    return sleep
