"""The load host and its runner, with users that need no network."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gevent
import locust
from locust import LoadTestShape, User, constant, task
from locust.exception import StopUser

from capexplorer.load import native
from capexplorer.load.load_host import LoadHost
from capexplorer.load.load_reports import Report, ShapeEnded, ShapeStep, Spawned
from capexplorer.load.workload import Workload
from capexplorer.run.drivers.load_target import LoadTarget

TIMEOUT_S = 60.0


class _Idle(User):
    """Only waits."""

    abstract = True
    wait_time = constant(0.05)

    @task
    def nothing(self) -> None:
        pass


def _kind(name: str, **attributes: Any) -> type[User]:
    return type(name, (_Idle,), {"abstract": False, **attributes})


class _Rig:
    """A host that runs these users, and its reports."""

    def __init__(self, *classes: type[User], shape: Any = None, own_events: bool = True) -> None:
        self.reports: list[Report] = []
        self.host = LoadHost(self.reports.append)
        self.host.start()
        self.host.load(lambda: Workload(classes, shape), None, own_events=own_events)

    def until(self, done: Callable[[], bool]) -> bool:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not done() and time.monotonic() < deadline_s:
            native.sleep(0.02)
        return done()

    def reaches(self, users: int) -> bool:
        return self.until(lambda: self.host.users == users)

    def spawned(self, users: int) -> int:
        return sum(isinstance(each, Spawned) and each.users == users for each in self.reports)


def steps_are_told_when_all_users_are_there() -> list[Any]:
    rig = _Rig(_kind("U"))
    rig.host.set_users(5, 100.0)
    found: list[Any] = [rig.reaches(5), rig.until(lambda: rig.spawned(5) == 1)]
    rig.host.set_users(2, 100.0)
    found += [rig.reaches(2), rig.until(lambda: rig.spawned(2) == 1)]
    return [*found, rig.host.stop(), rig.host.users]


def a_step_takes_over_while_another_is_spawning() -> list[Any]:
    rig = _Rig(_kind("U"))
    rig.host.set_users(100, 1.0)
    spawning = rig.until(lambda: rig.host.users >= 1)
    rig.host.set_users(3, 100.0)
    found: list[Any] = [spawning, rig.reaches(3), rig.until(lambda: rig.spawned(3) == 1)]
    native.sleep(1.5)
    found += [rig.host.users == 3, rig.spawned(100)]
    rig.host.stop()
    return found


def many_steps_at_once_end_at_the_last() -> list[Any]:
    """Keys pressed faster than a step can be taken."""
    found: list[Any] = []
    for last in (7, 0, 4):
        rig = _Rig(_kind("U"))
        rig.host.set_users(50, 1.0)
        rig.until(lambda rig=rig: rig.host.users >= 1)  # type: ignore[misc]
        for users in (60, 20, 90, 30, last):
            rig.host.set_users(users, 1.0 if users != last else 100.0)
        reached = rig.reaches(last)
        native.sleep(1.5)
        found.append([reached, rig.host.users, rig.spawned(last)])
        rig.host.stop()
    return found


def to_zero_and_back() -> list[Any]:
    starts: list[str] = []
    rig = _Rig(_kind("U", on_start=lambda self: starts.append("start")))
    found: list[Any] = []
    for users in (4, 0, 3, 0):
        rig.host.set_users(users, 100.0)
        found.append(rig.reaches(users))
    rig.host.stop()
    return [*found, len(starts)]


def zero_is_at_once_even_while_users_go_down_slowly() -> list[Any]:
    """The step before asked for 3 of 30 at one a second; what counts is who is there, not who was wanted."""
    rig = _Rig(_kind("U"))
    load_target = LoadTarget(0, None)
    load_target.host, load_target.is_open = rig.host, True
    load_target.step(30)
    up = rig.reaches(30)
    load_target.spawn_rate = 1.0
    load_target.step(3)
    native.sleep(0.3)
    rate = load_target.step(0)
    down = rig.reaches(0)
    rig.host.stop()
    return [up, rate >= 25, down]


class _FailsHalfTheTime:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, user: User) -> None:
        self.count += 1
        if self.count % 2:
            raise RuntimeError("no luck today")


def users_whose_on_start_raises_half_the_time_are_replaced() -> list[Any]:
    luck = _FailsHalfTheTime()
    rig = _Rig(_kind("U", on_start=lambda self: luck(self)))
    rig.host.set_users(10, 100.0)
    reached = rig.until(lambda: luck.count >= 15 and rig.host.users == 10)
    error = rig.host.errors.waiting[0]
    found = [reached, rig.spawned(10), len(rig.host.errors.waiting) >= 5, rig.host.replaced >= 5]
    rig.host.stop()
    return [*found, error.type, error.text, error.line]


def users_whose_on_start_always_raises_do_not_spin() -> list[Any]:
    tries: list[float] = []

    def fail(self: User) -> None:
        tries.append(time.monotonic())
        raise RuntimeError("never")

    rig = _Rig(_kind("U", on_start=fail))
    rig.host.set_users(5, 100.0)
    rig.until(lambda: len(tries) >= 5)
    native.sleep(4.0)
    late = [at for at in tries if 2.0 < at - tries[0] <= 4.0]
    found = [rig.spawned(5), len(late) <= 5 * 4, len(tries) > 5]
    rig.host.stop()
    return found


def users_that_stop_themselves_are_replaced_without_an_error() -> list[Any]:
    def leave(self: User) -> None:
        raise StopUser()

    rig = _Rig(_kind("U", tasks=[leave]))
    rig.host.set_users(3, 100.0)
    replaced = rig.until(lambda: rig.host.replaced >= 6)
    found = [replaced, len(rig.host.errors.waiting)]
    rig.host.stop()
    return found


def users_that_die_while_others_are_stopped_do_not_hold_up_the_step() -> list[Any]:
    """A plan waits to hear that the step is complete."""

    tired = False

    def leave(self: User) -> None:
        if tired:
            raise StopUser()

    def linger(self: User) -> None:
        gevent.sleep(0.3)

    rig = _Rig(_kind("U", tasks=[leave], on_stop=linger))
    rig.host.set_users(20, 100.0)
    rig.until(lambda: rig.spawned(20) == 1)
    tired = True
    rig.host.set_users(10, 100.0)
    reported = rig.until(lambda: rig.spawned(10) == 1)
    tired = False
    found = [reported, rig.reaches(10)]
    rig.host.stop()
    return found


def a_fixed_count_below_what_is_wanted_does_not_hold_up_the_step() -> list[Any]:
    rig = _Rig(_kind("Only", fixed_count=1, weight=0))
    rig.host.set_users(5, 100.0)
    found = [rig.until(lambda: rig.spawned(5) == 1), rig.host.users]
    rig.host.stop()
    return found


def a_user_class_that_cannot_be_made_is_a_user_error() -> list[Any]:
    def broken(self: User, environment: Any) -> None:
        raise ValueError("not with me")

    rig = _Rig(_kind("U", __init__=broken))
    rig.host.set_users(2, 100.0)
    reported = rig.until(lambda: bool(rig.host.errors.waiting))
    spawned = rig.until(lambda: rig.spawned(2) == 1)
    native.sleep(2.0)
    errors = [f"{each.type}: {each.text}" for each in rig.host.errors.waiting]
    stopped = rig.host.stop()
    return [reported, spawned, errors[0], len(errors) <= 20, stopped]


def errors_in_tasks_tell_their_place() -> list[Any]:
    def helper() -> None:
        raise KeyError("lost")

    def work(self: User) -> None:
        helper()

    rig = _Rig(_kind("U", tasks=[work]))
    rig.host.set_users(1, 100.0)
    rig.until(lambda: len(rig.host.errors.waiting) >= 2)
    error = rig.host.errors.waiting[0]
    found = [error.type, error.text, error.line.rpartition(":")[0], error.line.rpartition(" ")[2], rig.host.users]
    rig.host.stop()
    return found


class _Shape(LoadTestShape):
    """Ticks out of a list, the last one to the end."""

    abstract = True

    def __init__(self, ticks: list[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ticks = ticks

    def tick(self) -> Any:
        return self.ticks.pop(0) if len(self.ticks) > 1 else self.ticks[0]


def a_shape_steps_and_ends() -> list[Any]:
    rig = _Rig(_kind("U"), shape=_Shape([(2, 100), (2, 100), (4, 100), None]))
    rig.host.start_shape(7)
    ended = rig.until(lambda: ShapeEnded(7) in rig.reports)
    steps = [[each.users, each.spawn_rate] for each in rig.reports if isinstance(each, ShapeStep)]
    found = [ended, steps, rig.spawned(2), rig.spawned(4)]
    rig.host.stop()
    return found


def a_shape_picks_user_classes() -> list[Any]:
    counts: dict[str, int] = {"A": 0, "B": 0}

    def counting(name: str) -> Callable[[User], None]:
        def on_start(self: User) -> None:
            counts[name] += 1

        return on_start

    first, second = (_kind(name, on_start=counting(name)) for name in ("A", "B"))
    rig = _Rig(first, second, shape=_Shape([(3, 100, [first]), (6, 100, [second])]))
    rig.host.start_shape(7)
    rig.until(lambda: rig.spawned(6) == 1 and counts["B"] > 0)
    rig.host.stop()
    return [counts["A"], counts["B"]]


def a_step_by_hand_ends_the_shape() -> list[Any]:
    rig = _Rig(_kind("U"), shape=_Shape([(2, 100), (3, 100), (4, 100), (5, 100), (6, 100), None]))
    rig.host.start_shape(7)
    rig.until(lambda: rig.host.users >= 2)
    rig.host.set_users(1, 100.0)
    reached = rig.reaches(1)
    native.sleep(2.2)
    found = [reached, rig.host.users, ShapeEnded(7) in rig.reports]
    rig.host.stop()
    return found


def a_shape_step_that_is_refused_is_not_told() -> list[Any]:
    """Someone steps while the shape decides."""

    class Slow(LoadTestShape):
        def tick(self) -> tuple[int, int]:
            rig.host.set_users(3, 100.0)
            while rig.host.users != 3:
                gevent.sleep(0.01)
            return 9, 100

    rig = _Rig(_kind("U"), shape=Slow())  # type: ignore[no-untyped-call]
    rig.host.start_shape(7)
    found = [rig.reaches(3), rig.until(lambda: rig.spawned(3) == 1)]
    rig.host.stop()
    return [*found, any(isinstance(report, ShapeStep) for report in rig.reports)]


def a_shapes_time_begins_with_its_users() -> list[Any]:
    asked_s: list[float] = []

    class Late(LoadTestShape):
        def tick(self) -> tuple[int, int]:
            asked_s.append(self.get_run_time())  # type: ignore[no-untyped-call]
            return 1, 100

    shape = Late()  # type: ignore[no-untyped-call]
    shape.start_time -= 1_000.0  # made so long ago
    rig = _Rig(_kind("U"), shape=shape)
    rig.host.start_shape(7)
    found = [rig.reaches(1), asked_s[0] < 100.0]
    rig.host.stop()
    return found


def a_shape_knows_its_runner() -> list[int]:
    seen: list[int] = []

    class Asking(LoadTestShape):
        abstract = True

        def tick(self) -> Any:
            seen.append(self.get_current_user_count())  # type: ignore[no-untyped-call]
            return (3, 100) if self.get_run_time() < 2.5 else None  # type: ignore[no-untyped-call]

    rig = _Rig(_kind("U"), shape=Asking())  # type: ignore[no-untyped-call]
    rig.host.start_shape(7)
    rig.until(lambda: ShapeEnded(7) in rig.reports)
    rig.host.stop()
    return [seen[0], seen[-1]]


def a_shape_that_raises_is_a_user_error_and_over() -> list[Any]:
    class Broken(LoadTestShape):
        abstract = True

        def tick(self) -> Any:
            raise ZeroDivisionError("in the shape")

    rig = _Rig(_kind("U"), shape=Broken())  # type: ignore[no-untyped-call]
    rig.host.start_shape(7)
    ended = rig.until(lambda: ShapeEnded(7) in rig.reports)
    found = [ended, [f"{each.type}: {each.text}" for each in rig.host.errors.waiting]]
    rig.host.stop()
    return found


def listeners_and_on_stop_are_fired() -> list[str]:
    heard: list[str] = []
    events = locust.events
    for name in ("init", "test_start", "test_stop", "quitting", "quit"):
        getattr(events, name).add_listener(lambda name=name, **_: heard.append(name))
    rig = _Rig(_kind("U", on_stop=lambda self: heard.append("on_stop")), own_events=False)
    rig.host.set_users(2, 100.0)
    rig.reaches(2)
    native.sleep(0.1)
    rig.host.stop()
    return [*heard]


def a_listener_that_raises_stops_nothing() -> list[Any]:
    def broken(**_: Any) -> None:
        raise ValueError("listener")

    for name in ("init", "test_start", "spawning_complete", "test_stop", "quitting"):
        getattr(locust.events, name).add_listener(broken)
    rig = _Rig(_kind("U"), own_events=False)
    rig.host.set_users(2, 100.0)
    found = [rig.reaches(2), rig.until(lambda: rig.spawned(2) == 1)]
    return [*found, rig.host.stop()]


def stopping_without_a_start_is_quiet() -> list[bool]:
    never = LoadHost(lambda report: None)
    idle = LoadHost(lambda report: None)
    idle.start()
    return [never.stop(), idle.stop()]


def a_call_gives_its_value_or_its_exception() -> list[Any]:
    rig = _Rig(_kind("U"))

    def fail() -> None:
        raise LookupError("over there")

    try:
        rig.host.call(fail)
    except LookupError as error:
        caught = str(error)
    value = rig.host.call(lambda: 42)
    rig.host.stop()
    return [value, caught]
