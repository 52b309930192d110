"""The requested load: who may change it, its spawn rates, and what happens while it has no service."""

from __future__ import annotations

import threading

import pytest
from run.bare_context import IdleThread

from capexplorer.model.load import NO_LOAD, Load, Rate, Users
from capexplorer.steer.requested_load import Autopilot, Driver, Manual, Plan, RequestedLoad


def requested(
    load: Load = NO_LOAD, spawn_rate: float | None = None, driver: Driver | None = None, *, running: int = 0
) -> RequestedLoad:
    """An open gate. `running`: users that run already."""
    found = RequestedLoad(IdleThread(running or load.users), load, spawn_rate, driver or Manual(), lock=threading.Lock())
    found.open()
    return found


@pytest.mark.parametrize(
    ("given", "before", "users", "rate"),
    [
        (None, 0, 10, 10.0), (None, 10, 11, 1.0), (None, 0, 500, 100.0), (None, 500, 400, 100.0), (None, 10, 10, 1.0),
        (5.0, 0, 10, 5.0), (5.0, 500, 400, 5.0), (5.0, 10, 10, 5.0),
        (None, 50, 0, 50.0), (5.0, 50, 0, 50.0), (5.0, 700, 0, 700.0), (5.0, 0, 0, 1.0),
    ],
)  # fmt: skip
def test_a_step_has_the_given_spawn_rate_or_takes_a_second_and_one_to_zero_always_does(
    given: float | None, before: int, users: int, rate: float
) -> None:
    assert requested(Users(before), given).step(Users(users)) == rate


def test_a_spawn_rate_is_clamped_to_the_bounds_of_profiles() -> None:
    load, found = requested(), []
    for rate in (1e-9, 1e300, 7.0, None):
        load.set_spawn_rate(rate)
        found.append(load.spawn_rate)
    assert found == [0.001, 100_000.0, 7.0, None]


def test_a_step_at_once_stops_all_users_of_a_pool_in_one_second() -> None:
    rates = []
    for at_once in (True, False):
        load = requested(Rate(200.0), running=800)
        rates.append(load.move(Users(10), load.driver.generation, at_once=at_once))
    assert rates == [790.0, 100.0]


def test_a_step_without_a_service_takes_effect_when_the_load_starts() -> None:
    thread = IdleThread(0)
    load = RequestedLoad(thread, Users(5), lock=threading.Lock())
    load.step(Users(8))
    assert (thread.users, load.is_open) == (0, False)
    load.open()
    assert (load.start(), thread.users) == (8.0, 8)
    load.shut()
    assert (thread.users, load.load, load.is_open) == (0, Users(8), False)


def test_a_step_by_hand_ends_the_autopilot_and_its_next_step_is_refused() -> None:
    load = requested(Users(4))
    generation = load.hand_to(Autopilot())
    assert load.move(Users(5), generation) == 1.0
    assert load.driver.autopilot_steps
    assert load.step(Users(8)) == 3.0
    assert not load.driver.autopilot_steps
    assert load.move(Users(50), generation) is None
    assert load.load == Users(8)


def test_a_step_by_hand_prevails_over_concurrent_steps_of_the_autopilot() -> None:
    load, begun = requested(), threading.Event()
    generation = load.hand_to(Autopilot())

    def step() -> None:
        for users in range(2_000):
            load.move(Users(users % 5 + 100), generation)
            begun.set()

    stepping = threading.Thread(target=step)
    stepping.start()
    begun.wait(20)
    load.step(Users(7))
    stepping.join(20)
    assert load.load == Users(7)


def test_reports_of_a_shape_are_dropped_after_another_driver_has_begun() -> None:
    load = requested(Users(2))
    generation = load.start_shape()
    assert load.shape_moved(5, generation)
    assert load.load == Users(5)
    load.step(Users(3))
    assert not load.shape_moved(9, generation)
    load.hand_to(Plan())
    assert not load.shape_moved(9, generation)
    assert load.load == Users(3)


def test_steps_and_the_end_of_a_former_plan_are_dropped() -> None:
    load = requested(Users(2), driver=Plan())
    former, present = load.driver.generation, load.hand_to(Plan())
    load.let_autopilot(former)
    assert load.move(Users(9), former) is None
    assert not load.driver.autopilot_steps
    load.release(former, "plan")
    load.let_autopilot(present)
    assert load.driver.autopilot_steps
    assert load.move(Users(4), present) == 2.0
