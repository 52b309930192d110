"""Load shapes on a load thread, with users that need no network."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gevent
from locust import LoadTestShape, User

from capexplorer.load import native
from capexplorer.load.engine import ShapeEnded, ShapeStep

from .rig import Rig, user_class


class _Shape(LoadTestShape):
    """Returns the ticks of a list one by one, and then the last one again and again."""

    abstract = True

    def __init__(self, ticks: list[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ticks = ticks

    def tick(self) -> Any:
        return self.ticks.pop(0) if len(self.ticks) > 1 else self.ticks[0]


def a_shape_steps_and_ends() -> list[Any]:
    rig = Rig(user_class("U"), shape=_Shape([(2, 100), (2, 100), (4, 100), None]))
    rig.host.start_shape(7)
    ended = rig.until(lambda: ShapeEnded(7) in rig.reports)
    steps = [[each.users, each.spawn_rate] for each in rig.reports if isinstance(each, ShapeStep)]
    found = [ended, steps, rig.spawned(2), rig.spawned(4)]
    rig.host.stop()
    return found


def a_shape_returns_no_users_and_rate() -> dict[str, Any]:
    """By tick: whether the shape has ended, its steps, errors of user code, whether the load thread goes on."""
    found = {}
    for tick in ((math.nan, 1), ("5", 1), (10**400, 1), (-3, 1), (2, math.inf), (2, 0), 5, (2,), "ab"):
        rig = Rig(user_class("U"), shape=_Shape([(1, 100), tick, None]))
        rig.host.start_shape(7)
        ended = rig.until(lambda rig=rig: ShapeEnded(7) in rig.reports)  # type: ignore[misc]
        steps = sum(isinstance(each, ShapeStep) for each in rig.reports)
        errors = [each.type for each in rig.host.errors.waiting]
        found[f"{tick!r:.12}"] = [ended, steps, errors, rig.host.stop() and rig.host.ended_by is None]
    return found


def a_shape_picks_user_classes() -> list[Any]:
    counts: dict[str, int] = {"A": 0, "B": 0}

    def counting(name: str) -> Callable[[User], None]:
        def on_start(self: User) -> None:
            counts[name] += 1

        return on_start

    first, second = (user_class(name, on_start=counting(name)) for name in ("A", "B"))
    rig = Rig(first, second, shape=_Shape([(3, 100, [first]), (6, 100, [second])]))
    rig.host.start_shape(7)
    rig.until(lambda: rig.spawned(6) == 1 and counts["B"] > 0)
    rig.host.stop()
    return [counts["A"], counts["B"]]


def a_step_by_hand_ends_the_shape() -> list[Any]:
    rig = Rig(user_class("U"), shape=_Shape([(2, 100), (3, 100), (4, 100), (5, 100), (6, 100), None]))
    rig.host.start_shape(7)
    rig.until(lambda: rig.host.users >= 2)
    rig.host.set_users(1, 100.0)
    reached = rig.reaches(1)
    native.sleep(2.2)
    found = [reached, rig.host.users, ShapeEnded(7) in rig.reports]
    rig.host.stop()
    return found


def a_shape_step_that_is_refused_is_not_reported() -> list[Any]:
    """A step by hand comes while the shape decides."""

    class Slow(LoadTestShape):
        def tick(self) -> tuple[int, int]:
            rig.host.set_users(3, 100.0)
            while rig.host.users != 3:
                gevent.sleep(0.01)
            return 9, 100

    rig = Rig(user_class("U"), shape=Slow())  # type: ignore[no-untyped-call]
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
    shape.start_time -= 1_000.0  # as if the shape had been made 1,000 s ago
    rig = Rig(user_class("U"), shape=shape)
    rig.host.start_shape(7)
    found = [rig.reaches(1), asked_s[0] < 100.0]
    rig.host.stop()
    return found


def a_shape_asks_how_many_users_run() -> list[int]:
    seen: list[int] = []

    class Asking(LoadTestShape):
        abstract = True

        def tick(self) -> Any:
            seen.append(self.get_current_user_count())  # type: ignore[no-untyped-call]
            return (3, 100) if self.get_run_time() < 2.5 else None  # type: ignore[no-untyped-call]

    rig = Rig(user_class("U"), shape=Asking())  # type: ignore[no-untyped-call]
    rig.host.start_shape(7)
    rig.until(lambda: ShapeEnded(7) in rig.reports)
    rig.host.stop()
    return [seen[0], seen[-1]]


def a_shape_that_raises_ends_and_is_a_user_error() -> list[Any]:
    class Broken(LoadTestShape):
        abstract = True

        def tick(self) -> Any:
            raise ZeroDivisionError("in the shape")

    rig = Rig(user_class("U"), shape=Broken())  # type: ignore[no-untyped-call]
    rig.host.start_shape(7)
    ended = rig.until(lambda: ShapeEnded(7) in rig.reports)
    found = [ended, [f"{each.type}: {each.text}" for each in rig.host.errors.waiting]]
    rig.host.stop()
    return found
