"""The load thread in its native thread: steps, users that raise or stop themselves, listeners, and the end."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gevent
import locust
import pytest
from locust import User
from locust.exception import StopUser

from capexplorer.load import native
from capexplorer.load.load_thread import LoadThread
from capexplorer.model.load import Users
from capexplorer.steer.requested_load import RequestedLoad

from .rig import Rig, user_class

pytestmark = pytest.mark.slow

Make = Callable[..., Rig]


def test_each_step_is_reported_once_when_all_its_users_run(rig: Make) -> None:
    users_of = rig(user_class("U"))
    for users in (5, 2):
        users_of.host.set_users(users, 100.0)
        assert users_of.reaches(users)
        users_of.until(lambda users=users: users_of.spawned(users) == 1)  # type: ignore[misc]
    assert users_of.host.stop()
    assert users_of.host.users == 0


@pytest.mark.parametrize(("steps", "last"), [([], 3), ([60, 20, 90, 30], 7), ([60, 20, 90, 30], 0)])
def test_a_step_replaces_those_that_are_still_spawning(rig: Make, steps: list[int], last: int) -> None:
    """Steps that follow each other faster than users can be started."""
    made = rig(user_class("U"))
    made.host.set_users(100, 1.0)
    made.until(lambda: made.host.users >= 1)
    for users in steps:
        made.host.set_users(users, 1.0)
    made.host.set_users(last, 100.0)
    assert made.reaches(last)
    made.until(lambda: made.spawned(last) == 1)
    native.sleep(1.5)  # in which an earlier step would have started another user
    assert (made.host.users, made.spawned(last), made.spawned(100)) == (last, 1, 0)


def test_users_go_to_zero_and_return(rig: Make) -> None:
    starts: list[str] = []
    made = rig(user_class("U", on_start=lambda self: starts.append("start")))
    for users in (4, 0, 3, 0):
        made.host.set_users(users, 100.0)
        assert made.reaches(users)
    assert len(starts) == 7


def test_a_step_to_zero_is_at_once_even_while_users_end_slowly(rig: Make) -> None:
    """The step before asked for 3 of 30 users at one a second: the step to 0 must end those that still run."""
    made = rig(user_class("U"))
    requested_load = RequestedLoad(made.host, Users(0), lock=native.allocate_lock())
    requested_load.open()
    requested_load.step(Users(30))
    assert made.reaches(30)
    requested_load.set_spawn_rate(1.0)
    requested_load.step(Users(3))
    made.until(lambda: made.host.users < 30)
    assert requested_load.step(Users(0)) >= 25
    assert made.reaches(0)


def test_users_that_raise_in_on_start_are_replaced_and_their_error_is_reported_with_its_place(rig: Make) -> None:
    started: list[User] = []

    def half_fail(self: User) -> None:
        started.append(self)
        if len(started) % 2:
            raise RuntimeError("failed on start")

    made = rig(user_class("U", on_start=half_fail))
    made.host.set_users(10, 100.0)
    made.until(lambda: len(started) >= 15 and made.host.users == 10)
    error = made.host.errors.waiting[0]
    assert (made.spawned(10), error.type, error.text) == (1, "RuntimeError", "failed on start")
    assert len(made.host.errors.waiting) >= 5
    assert made.host.replaced >= 5
    assert error.line.startswith("test_host.py:")
    assert error.line.endswith(" in half_fail")


def test_users_that_always_raise_in_on_start_are_replaced_at_a_limited_rate(rig: Make) -> None:
    tries: list[float] = []

    def fail(self: User) -> None:
        tries.append(time.monotonic())
        raise RuntimeError("never")

    made = rig(user_class("U", on_start=fail))
    made.host.set_users(5, 100.0)
    made.until(lambda: len(tries) > 5)
    native.sleep(4.0)  # the time in which starts are counted
    assert made.spawned(5) == 1
    assert len([at for at in tries if 2.0 < at - tries[0] <= 4.0]) <= 5 * 4


def test_users_that_stop_themselves_are_replaced_and_reported_as_no_error(rig: Make) -> None:
    def leave(self: User) -> None:
        raise StopUser()

    made = rig(user_class("U", tasks=[leave]))
    made.host.set_users(3, 100.0)
    made.until(lambda: made.host.replaced >= 6)
    assert {each.type for each in made.host.errors.waiting} == {"StopUser"}


def test_users_that_end_while_others_are_stopped_do_not_block_the_step(rig: Make) -> None:
    """A plan waits for the report that the step is complete."""
    leaves = False

    def leave(self: User) -> None:
        if leaves:
            raise StopUser()

    made = rig(user_class("U", tasks=[leave], on_stop=lambda self: gevent.sleep(0.3)))
    made.host.set_users(20, 100.0)
    made.until(lambda: made.spawned(20) == 1)
    leaves = True
    made.host.set_users(10, 100.0)
    made.until(lambda: made.spawned(10) == 1)
    leaves = False
    assert made.reaches(10)


def test_a_fixed_count_below_the_requested_users_does_not_block_the_step(rig: Make) -> None:
    made = rig(user_class("Only", fixed_count=1, weight=0))
    made.host.set_users(5, 100.0)
    made.until(lambda: made.spawned(5) == 1)
    assert made.host.users == 1


def test_a_user_class_that_cannot_be_instantiated_is_reported_and_blocks_nothing(rig: Make) -> None:
    def broken(self: User, environment: Any) -> None:
        raise ValueError("not with me")

    made = rig(user_class("U", __init__=broken))
    made.host.set_users(2, 100.0)
    made.until(lambda: bool(made.host.errors.waiting) and made.spawned(2) == 1)
    native.sleep(2.0)  # the time in which errors are counted
    assert {(each.type, each.text) for each in made.host.errors.waiting} == {("ValueError", "not with me")}
    assert len(made.host.errors.waiting) <= 20


def test_an_error_in_a_task_is_reported_with_its_place_and_the_user_continues(rig: Make) -> None:
    def helper() -> None:
        raise KeyError("lost")

    made = rig(user_class("U", tasks=[lambda self: helper()]))
    made.host.set_users(1, 100.0)
    made.until(lambda: len(made.host.errors.waiting) >= 2)
    error = made.host.errors.waiting[0]
    assert (error.type, error.text, made.host.users) == ("KeyError", "'lost'", 1)
    assert error.line.startswith("test_host.py:")
    assert error.line.endswith(" in helper")


def test_listeners_of_a_locustfile_and_on_stop_are_fired(rig: Make) -> None:
    fired: list[str] = []
    for name in ("init", "test_start", "test_stop", "quitting", "quit"):
        getattr(locust.events, name).add_listener(lambda name=name, **_: fired.append(name))
    made = rig(user_class("U", on_stop=lambda self: fired.append("on_stop")), own_events=False)
    made.host.set_users(2, 100.0)
    made.until(lambda: made.spawned(2) == 1)
    made.host.stop()
    assert fired == ["init", "test_start", "on_stop", "on_stop", "test_stop", "quitting", "quit"]


def test_a_listener_that_raises_stops_nothing(rig: Make) -> None:
    def broken(**_: Any) -> None:
        raise ValueError("listener")

    for name in ("init", "test_start", "spawning_complete", "test_stop", "quitting"):
        getattr(locust.events, name).add_listener(broken)
    made = rig(user_class("U"), own_events=False)
    made.host.set_users(2, 100.0)
    assert made.reaches(2)
    made.until(lambda: made.spawned(2) == 1)
    assert made.host.stop()


def test_stopping_before_a_start_does_nothing() -> None:
    never, idle = LoadThread(lambda report: None), LoadThread(lambda report: None)
    idle.start()
    assert never.stop()
    assert idle.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels have no slack to set")
def test_timers_of_the_load_thread_have_no_slack_and_those_of_other_threads_keep_theirs(rig: Make) -> None:
    get_timer_slack = 30
    slack_ns = partial(ctypes.CDLL(None).prctl, get_timer_slack, 0, 0, 0, 0)
    before_ns = slack_ns()
    assert rig(user_class("U")).host.call(slack_ns) == 1
    assert slack_ns() == before_ns > 1


def test_a_call_into_the_load_thread_gives_its_value_or_its_exception(rig: Make) -> None:
    made = rig(user_class("U"))

    def fail() -> None:
        raise LookupError("over there")

    with pytest.raises(LookupError, match="over there"):
        made.host.call(fail)
    assert made.host.call(lambda: 42) == 42
