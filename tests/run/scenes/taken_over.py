"""The autopilot and a person move the users through one load target."""

from __future__ import annotations

import time
from _queue import SimpleQueue
from typing import Any

from capexplorer.load import native
from capexplorer.run.drivers.driver import Autopilot, Plan
from capexplorer.run.drivers.load_target import LoadTarget

STEPS = 2_000


def taken_over() -> list[Any]:
    load_target = LoadTarget(4, None)
    generation = load_target.hand_to(Autopilot())
    first = [load_target.move(5, generation), load_target.wanted]
    by_hand = [load_target.step(8), load_target.wanted, load_target.driver.autopilot_steps]
    return [*first, *by_hand, load_target.move(50, generation), load_target.wanted]


def raced() -> dict[str, Any]:
    """The autopilot steps as fast as it can while a person steps once: the person's number of users applies."""
    load_target, done = LoadTarget(0, None), SimpleQueue[None]()
    generation = load_target.hand_to(Autopilot())

    def step() -> None:
        for users in range(1, STEPS):
            load_target.move(users % 5 + 100, generation)
        done.put(None)

    native.start_thread(step)
    time.sleep(0.001)
    load_target.step(7)
    done.get(timeout=20)
    return {"wanted": load_target.wanted, "autopilot_steps": load_target.driver.autopilot_steps}


def former_shape() -> list[Any]:
    """Reports of a shape: before and after a person's step, and after another driver has begun."""
    load_target = LoadTarget(2, None)
    generation = load_target.open_with_shape()
    reports = [load_target.shape_moved(5, generation), load_target.wanted]
    load_target.step(3)
    reports += [load_target.shape_moved(9, generation), load_target.wanted]
    load_target.hand_to(Plan())
    return [*reports, load_target.shape_moved(9, generation), load_target.wanted]


def former_plan() -> list[Any]:
    """A plan's moves after another plan has begun, and what its end changes then."""
    load_target = LoadTarget(2, None, Plan())
    former, latter = load_target.driver.generation, load_target.hand_to(Plan())
    load_target.find_knee(former)
    moves = [load_target.move(9, former), load_target.driver.autopilot_steps]
    load_target.release(former, "plan")
    load_target.find_knee(latter)
    return [*moves, load_target.move(4, latter), load_target.driver.autopilot_steps, load_target.wanted]
