"""Load shapes of Locust in the load thread: their steps, their end, and errors in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gevent
import pytest
from locust import LoadTestShape, User

from capexplorer.load import native
from capexplorer.load.engine import ShapeEnded, ShapeStep

from .rig import Rig, user_class

Make = Callable[..., Rig]


class _Shape(LoadTestShape):
    """Returns the ticks of a list one by one, and then the last one again and again."""

    abstract = True

    def __init__(self, ticks: list[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ticks = ticks

    def tick(self) -> Any:
        return self.ticks.pop(0) if len(self.ticks) > 1 else self.ticks[0]


pytestmark = pytest.mark.slow


def _followed(rig: Make, shape: Any, *classes: type[User]) -> Rig:
    """Users who follow this shape."""
    made = rig(*(classes or (user_class("U"),)), shape=shape)
    made.host.start_shape(7)
    return made


def test_a_shape_steps_and_ends(rig: Make) -> None:
    made = _followed(rig, _Shape([(2, 100), (2, 100), (4, 100), None]))
    made.until(lambda: ShapeEnded(7) in made.reports)
    assert [(each.users, each.spawn_rate) for each in made.reports if isinstance(each, ShapeStep)] == [(2, 100), (4, 100)]
    assert (made.spawned(2), made.spawned(4)) == (1, 1)


@pytest.mark.parametrize("tick", [(math.nan, 1), ("5", 1), (10**400, 1), (-3, 1), (2, math.inf), (2, 0), 5, (2,), "ab"], ids=str)
def test_a_shape_that_returns_no_users_and_rate_ends_with_an_error_of_user_code(rig: Make, tick: Any) -> None:
    made = _followed(rig, _Shape([(1, 100), tick, None]))
    made.until(lambda: ShapeEnded(7) in made.reports)
    assert sum(isinstance(each, ShapeStep) for each in made.reports) == 1
    assert [each.type for each in made.host.errors.waiting] == ["UserCodeFault"]
    assert made.host.stop()
    assert made.host.ended_by is None


def test_a_shape_may_pick_the_user_classes_of_a_step(rig: Make) -> None:
    counts: dict[str, int] = {"A": 0, "B": 0}

    def counting(name: str) -> Callable[[User], None]:
        def on_start(self: User) -> None:
            counts[name] += 1

        return on_start

    first, second = (user_class(name, on_start=counting(name)) for name in ("A", "B"))
    made = _followed(rig, _Shape([(3, 100, [first]), (6, 100, [second])]), first, second)
    made.until(lambda: made.spawned(6) == 1 and counts["B"] >= 3)
    assert counts["A"] == 3


def test_a_step_by_hand_ends_the_shape(rig: Make) -> None:
    made = _followed(rig, _Shape([(2, 100), (3, 100), (4, 100), (5, 100), (6, 100), None]))
    made.until(lambda: made.host.users >= 2)
    made.host.set_users(1, 100.0)
    assert made.reaches(1)
    native.sleep(2.2)  # in which the shape would have gone on
    assert made.host.users == 1
    assert ShapeEnded(7) not in made.reports


def test_a_shape_step_that_is_refused_is_not_reported(rig: Make) -> None:
    """A step by hand comes while the shape decides."""

    class Slow(LoadTestShape):
        def tick(self) -> tuple[int, int]:
            made.host.set_users(3, 100.0)
            while made.host.users != 3:
                gevent.sleep(0.01)
            return 9, 100

    made = rig(user_class("U"), shape=Slow())  # type: ignore[no-untyped-call]
    made.host.start_shape(7)
    assert made.reaches(3)
    made.until(lambda: made.spawned(3) == 1)
    made.host.stop()
    assert not any(isinstance(report, ShapeStep) for report in made.reports)


def test_a_shapes_time_begins_with_its_users(rig: Make) -> None:
    asked_s: list[float] = []

    class Late(LoadTestShape):
        def tick(self) -> tuple[int, int]:
            asked_s.append(self.get_run_time())  # type: ignore[no-untyped-call]
            return 1, 100

    shape = Late()  # type: ignore[no-untyped-call]
    shape.start_time -= 1_000.0  # as if the shape had been made 1,000 s ago
    assert _followed(rig, shape).reaches(1)
    assert asked_s[0] < 100.0


def test_a_shape_may_ask_how_many_users_run(rig: Make) -> None:
    seen: list[int] = []

    class Asking(LoadTestShape):
        abstract = True

        def tick(self) -> Any:
            seen.append(self.get_current_user_count())  # type: ignore[no-untyped-call]
            return (3, 100) if self.get_run_time() < 2.5 else None  # type: ignore[no-untyped-call]

    made = _followed(rig, Asking())  # type: ignore[no-untyped-call]
    made.until(lambda: ShapeEnded(7) in made.reports)
    assert (seen[0], seen[-1]) == (0, 3)


def test_a_shape_that_raises_ends_and_is_a_user_error(rig: Make) -> None:
    class Broken(LoadTestShape):
        abstract = True

        def tick(self) -> Any:
            raise ZeroDivisionError("in the shape")

    made = _followed(rig, Broken())  # type: ignore[no-untyped-call]
    made.until(lambda: ShapeEnded(7) in made.reports)
    assert [(each.type, each.text) for each in made.host.errors.waiting] == [("ZeroDivisionError", "in the shape")]
