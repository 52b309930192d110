"""Steps of the autopilot, a plan or a shape, and steps by hand, on one requested load: observations of which steps take effect.

Played in a process that gevent has patched. A step is answered with its spawn rate, or with None if it is refused.
"""

from __future__ import annotations

from _queue import SimpleQueue
from typing import Any

from capexplorer.load import native
from capexplorer.model.load import Users
from capexplorer.steer.requested_load import Autopilot, Plan

from ..bare_context import requested_load

STEPS = 2_000


def step_by_hand_during_autopilot() -> dict[str, Any]:
    """The autopilot steps to 5 users, a person to 8, and the autopilot to 50."""
    load = requested_load(Users(4), is_open=True)
    generation = load.hand_to(Autopilot())
    return {
        "autopilot step": load.move(Users(5), generation),
        "users after it": load.load.users,
        "step by hand": load.step(Users(8)),
        "users after the step by hand": load.load.users,
        "the autopilot steps on": load.driver.autopilot_steps,
        "later autopilot step": load.move(Users(50), generation),
        "users at the end": load.load.users,
    }


def concurrent_step_by_hand() -> dict[str, Any]:
    """A thread of the autopilot steps as fast as it can while a person steps once, to 7 users."""
    load, begun, done = requested_load(Users(0)), SimpleQueue[None](), SimpleQueue[None]()
    generation = load.hand_to(Autopilot())

    def step() -> None:
        load.move(Users(100), generation)
        begun.put(None)
        for users in range(1, STEPS):
            load.move(Users(users % 5 + 100), generation)
        done.put(None)

    native.start_thread(step)
    begun.get(timeout=20)
    load.step(Users(7))
    done.get(timeout=20)
    return {"users at the end": load.load.users, "the autopilot steps on": load.driver.autopilot_steps}


def reports_of_a_former_shape() -> dict[str, Any]:
    """A shape reports steps before a step by hand, after it, and after a plan has begun; each is answered with its acceptance."""
    load = requested_load(Users(2))
    load.open()
    generation = load.start_shape()
    observed: dict[str, Any] = {"report": load.shape_moved(5, generation), "users after it": load.load.users}
    load.step(Users(3))
    observed["report after a step by hand"] = load.shape_moved(9, generation)
    observed["users after that"] = load.load.users
    load.hand_to(Plan())
    observed["report during a plan"] = load.shape_moved(9, generation)
    return {**observed, "users at the end": load.load.users}


def moves_of_a_former_plan() -> dict[str, Any]:
    """A plan steps and ends after another plan has begun, which then asks the autopilot for the knee."""
    load = requested_load(Users(2), driver=Plan())
    former, present = load.driver.generation, load.hand_to(Plan())
    load.find_knee(former)
    observed: dict[str, Any] = {
        "step of the former plan": load.move(Users(9), former),
        "the former plan started the autopilot": load.driver.autopilot_steps,
    }
    load.release(former, "plan")
    load.find_knee(present)
    return {
        **observed,
        "step of the present plan": load.move(Users(4), present),
        "the present plan started the autopilot": load.driver.autopilot_steps,
        "users at the end": load.load.users,
    }
