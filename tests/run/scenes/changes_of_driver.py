"""Steps of the autopilot, a plan or a shape, and steps by hand, on one requested load: observations of which steps take effect.

Played in a process that gevent has patched. A step is answered with its spawn rate, or with None if it is refused.
"""

from __future__ import annotations

from _queue import SimpleQueue
from typing import Any

from capexplorer.load import native
from capexplorer.model.load import Users
from capexplorer.steer.requested_load import Autopilot, Plan, RequestedLoad

STEPS = 2_000


def step_by_hand_during_autopilot() -> dict[str, Any]:
    """The autopilot steps to 5 users, a person to 8, and the autopilot to 50."""
    requested_load = RequestedLoad(Users(4), None, native.allocate_lock())
    generation = requested_load.hand_to(Autopilot())
    return {
        "autopilot step": requested_load.move(Users(5), generation),
        "users after it": requested_load.load.users,
        "step by hand": requested_load.step(Users(8)),
        "users after the step by hand": requested_load.load.users,
        "the autopilot steps on": requested_load.driver.autopilot_steps,
        "later autopilot step": requested_load.move(Users(50), generation),
        "users at the end": requested_load.load.users,
    }


def concurrent_step_by_hand() -> dict[str, Any]:
    """A thread of the autopilot steps as fast as it can while a person steps once, to 7 users."""
    requested_load, begun, done = RequestedLoad(Users(0), None, native.allocate_lock()), SimpleQueue[None](), SimpleQueue[None]()
    generation = requested_load.hand_to(Autopilot())

    def step() -> None:
        requested_load.move(Users(100), generation)
        begun.put(None)
        for users in range(1, STEPS):
            requested_load.move(Users(users % 5 + 100), generation)
        done.put(None)

    native.start_thread(step)
    begun.get(timeout=20)
    requested_load.step(Users(7))
    done.get(timeout=20)
    return {"users at the end": requested_load.load.users, "the autopilot steps on": requested_load.driver.autopilot_steps}


def reports_of_a_former_shape() -> dict[str, Any]:
    """A shape reports steps before a step by hand, after it, and after a plan has begun; each is answered with its acceptance."""
    requested_load = RequestedLoad(Users(2), None, native.allocate_lock())
    generation = requested_load.open_with_shape()
    observed: dict[str, Any] = {"report": requested_load.shape_moved(5, generation), "users after it": requested_load.load.users}
    requested_load.step(Users(3))
    observed["report after a step by hand"] = requested_load.shape_moved(9, generation)
    observed["users after that"] = requested_load.load.users
    requested_load.hand_to(Plan())
    observed["report during a plan"] = requested_load.shape_moved(9, generation)
    return {**observed, "users at the end": requested_load.load.users}


def moves_of_a_former_plan() -> dict[str, Any]:
    """A plan steps and ends after another plan has begun, which then asks the autopilot for the knee."""
    requested_load = RequestedLoad(Users(2), None, native.allocate_lock(), Plan())
    former, present = requested_load.driver.generation, requested_load.hand_to(Plan())
    requested_load.find_knee(former)
    observed: dict[str, Any] = {
        "step of the former plan": requested_load.move(Users(9), former),
        "the former plan started the autopilot": requested_load.driver.autopilot_steps,
    }
    requested_load.release(former, "plan")
    requested_load.find_knee(present)
    return {
        **observed,
        "step of the present plan": requested_load.move(Users(4), present),
        "the present plan started the autopilot": requested_load.driver.autopilot_steps,
        "users at the end": requested_load.load.users,
    }
