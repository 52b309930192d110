"""Steps of a load thread and errors of its users, with users that need no network."""

from __future__ import annotations

import time
from typing import Any

import gevent
import locust
from locust import User
from locust.exception import StopUser

from capexplorer.load import native
from capexplorer.load.load_thread import LoadThread
from capexplorer.model.load import Users
from capexplorer.steer.requested_load import RequestedLoad

from .rig import Rig, user_class


def steps_are_reported_when_all_users_run() -> dict[str, Any]:
    rig = Rig(user_class("U"))
    found: dict[str, Any] = {}
    for users in (5, 2):
        rig.host.set_users(users, 100.0)
        found[f"{users} users run"] = rig.reaches(users)
        found[f"{users} users are reported"] = rig.until(lambda users=users: rig.spawned(users) == 1)  # type: ignore[misc]
    return {**found, "stopped in time": rig.host.stop(), "users at the end": rig.host.users}


def a_step_replaces_another_that_is_still_spawning() -> dict[str, Any]:
    rig = Rig(user_class("U"))
    rig.host.set_users(100, 1.0)
    spawning = rig.until(lambda: rig.host.users >= 1)
    rig.host.set_users(3, 100.0)
    found: dict[str, Any] = {"first step spawns": spawning, "3 users run": rig.reaches(3)}
    found["3 users are reported"] = rig.until(lambda: rig.spawned(3) == 1)
    native.sleep(1.5)  # in which the first step would have started another user
    found |= {"users afterwards": rig.host.users, "reports of the first step": rig.spawned(100)}
    rig.host.stop()
    return found


def the_last_of_many_steps_at_once_applies() -> list[Any]:
    """Steps that follow each other faster than users can be started."""
    found: list[Any] = []
    for last in (7, 0, 4):
        rig = Rig(user_class("U"))
        rig.host.set_users(50, 1.0)
        rig.until(lambda rig=rig: rig.host.users >= 1)  # type: ignore[misc]
        for users in (60, 20, 90, 30, last):
            rig.host.set_users(users, 1.0 if users != last else 100.0)
        reached = rig.reaches(last)
        native.sleep(1.5)  # in which an earlier step would have started another user
        found.append({"last": last, "reached": reached, "users afterwards": rig.host.users, "reports": rig.spawned(last)})
        rig.host.stop()
    return found


def to_zero_and_back() -> dict[str, Any]:
    starts: list[str] = []
    rig = Rig(user_class("U", on_start=lambda self: starts.append("start")))
    reached: list[int] = []
    for users in (4, 0, 3, 0):
        rig.host.set_users(users, 100.0)
        if rig.reaches(users):
            reached.append(users)
    rig.host.stop()
    return {"reached": reached, "users started": len(starts)}


def a_step_to_zero_is_at_once_even_while_users_end_slowly() -> dict[str, Any]:
    """The step before asked for 3 of 30 users at one a second: the step to 0 must end those that still run."""
    rig = Rig(user_class("U"))
    requested_load = RequestedLoad(rig.host, Users(0), lock=native.allocate_lock())
    requested_load.open()
    requested_load.step(Users(30))
    up = rig.reaches(30)
    requested_load.set_spawn_rate(1.0)
    requested_load.step(Users(3))
    rig.until(lambda: rig.host.users < 30)
    rate = requested_load.step(Users(0))
    down = rig.reaches(0)
    rig.host.stop()
    return {"30 users run": up, "rate": rate, "no user runs": down}


class _FailsHalfTheTime:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, user: User) -> None:
        self.count += 1
        if self.count % 2:
            raise RuntimeError("failed on start")


def users_whose_on_start_raises_half_the_time_are_replaced() -> dict[str, Any]:
    on_start = _FailsHalfTheTime()
    rig = Rig(user_class("U", on_start=lambda self: on_start(self)))
    rig.host.set_users(10, 100.0)
    reached = rig.until(lambda: on_start.count >= 15 and rig.host.users == 10)
    error = rig.host.errors.waiting[0]
    counts = {"reports": rig.spawned(10), "errors": len(rig.host.errors.waiting), "replaced": rig.host.replaced}
    rig.host.stop()
    return {"10 users run": reached, **counts, "error": f"{error.type}: {error.text}", "place": error.line}


def users_whose_on_start_always_raises_are_replaced_slowly() -> dict[str, int]:
    tries: list[float] = []

    def fail(self: User) -> None:
        tries.append(time.monotonic())
        raise RuntimeError("never")

    rig = Rig(user_class("U", on_start=fail))
    rig.host.set_users(5, 100.0)
    rig.until(lambda: len(tries) >= 5)
    native.sleep(4.0)  # the time in which starts are counted
    late = [at for at in tries if 2.0 < at - tries[0] <= 4.0]
    found = {"reports": rig.spawned(5), "starts from 2 s to 4 s": len(late), "starts": len(tries)}
    rig.host.stop()
    return found


def users_that_stop_themselves_are_replaced_and_reported_as_no_error() -> dict[str, Any]:
    def leave(self: User) -> None:
        raise StopUser()

    rig = Rig(user_class("U", tasks=[leave]))
    rig.host.set_users(3, 100.0)
    replaced = rig.until(lambda: rig.host.replaced >= 6)
    found = {"replaced": replaced, "reported": sorted({each.type for each in rig.host.errors.waiting})}
    rig.host.stop()
    return found


def users_that_end_while_others_are_stopped_do_not_block_the_step() -> dict[str, Any]:
    """A plan waits for the report that the step is complete."""

    leaves = False

    def leave(self: User) -> None:
        if leaves:
            raise StopUser()

    def linger(self: User) -> None:
        gevent.sleep(0.3)

    rig = Rig(user_class("U", tasks=[leave], on_stop=linger))
    rig.host.set_users(20, 100.0)
    rig.until(lambda: rig.spawned(20) == 1)
    leaves = True
    rig.host.set_users(10, 100.0)
    reported = rig.until(lambda: rig.spawned(10) == 1)
    leaves = False
    found = {"10 users are reported": reported, "10 users run": rig.reaches(10)}
    rig.host.stop()
    return found


def a_fixed_count_below_the_requested_users_does_not_block_the_step() -> dict[str, Any]:
    rig = Rig(user_class("Only", fixed_count=1, weight=0))
    rig.host.set_users(5, 100.0)
    found = {"5 users are reported": rig.until(lambda: rig.spawned(5) == 1), "users": rig.host.users}
    rig.host.stop()
    return found


def a_user_class_that_cannot_be_instantiated_is_a_user_error() -> dict[str, Any]:
    def broken(self: User, environment: Any) -> None:
        raise ValueError("not with me")

    rig = Rig(user_class("U", __init__=broken))
    rig.host.set_users(2, 100.0)
    reported = rig.until(lambda: bool(rig.host.errors.waiting))
    spawned = rig.until(lambda: rig.spawned(2) == 1)
    native.sleep(2.0)  # the time in which errors are counted
    errors = [f"{each.type}: {each.text}" for each in rig.host.errors.waiting]
    stopped = rig.host.stop()
    return {
        "an error": reported,
        "2 users are reported": spawned,
        "first error": errors[0],
        "errors": len(errors),
        "stopped": stopped,
    }


def an_error_in_a_task_has_its_place() -> list[Any]:
    def helper() -> None:
        raise KeyError("lost")

    def work(self: User) -> None:
        helper()

    rig = Rig(user_class("U", tasks=[work]))
    rig.host.set_users(1, 100.0)
    rig.until(lambda: len(rig.host.errors.waiting) >= 2)
    error = rig.host.errors.waiting[0]
    found = [error.type, error.text, error.line.rpartition(":")[0], error.line.rpartition(" ")[2], rig.host.users]
    rig.host.stop()
    return found


def listeners_and_on_stop_are_fired() -> list[str]:
    fired: list[str] = []
    events = locust.events
    for name in ("init", "test_start", "test_stop", "quitting", "quit"):
        getattr(events, name).add_listener(lambda name=name, **_: fired.append(name))
    rig = Rig(user_class("U", on_stop=lambda self: fired.append("on_stop")), own_events=False)
    rig.host.set_users(2, 100.0)
    rig.until(lambda: rig.spawned(2) == 1)
    rig.host.stop()
    return list(fired)  # a copy: the listeners are also called for hosts of later scenes


def a_listener_that_raises_stops_nothing() -> list[Any]:
    def broken(**_: Any) -> None:
        raise ValueError("listener")

    for name in ("init", "test_start", "spawning_complete", "test_stop", "quitting"):
        getattr(locust.events, name).add_listener(broken)
    rig = Rig(user_class("U"), own_events=False)
    rig.host.set_users(2, 100.0)
    found = [rig.reaches(2), rig.until(lambda: rig.spawned(2) == 1)]
    return [*found, rig.host.stop()]


def stopping_without_a_start_does_nothing() -> list[bool]:
    never = LoadThread(lambda report: None)
    idle = LoadThread(lambda report: None)
    idle.start()
    return [never.stop(), idle.stop()]


def a_call_gives_its_value_or_its_exception() -> list[Any]:
    rig = Rig(user_class("U"))

    def fail() -> None:
        raise LookupError("over there")

    try:
        rig.host.call(fail)
    except LookupError as error:
        caught = str(error)
    value = rig.host.call(lambda: 42)
    rig.host.stop()
    return [value, caught]
