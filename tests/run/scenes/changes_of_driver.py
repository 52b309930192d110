"""Steps of the autopilot, a plan or a shape, and steps by hand, on one load target: observations of which steps take effect.

Played in a process that gevent has patched. A step is answered with its spawn rate, or with None if it is refused.
"""

from __future__ import annotations

from _queue import SimpleQueue
from typing import Any

from capexplorer.load import native
from capexplorer.run.drivers.load_target import Autopilot, LoadTarget, Plan

STEPS = 2_000


def step_by_hand_during_autopilot() -> dict[str, Any]:
    """The autopilot steps to 5 users, a person to 8, and the autopilot to 50."""
    load_target = LoadTarget(4, None)
    generation = load_target.hand_to(Autopilot())
    return {
        "autopilot step": load_target.move(5, generation),
        "users after it": load_target.wanted,
        "step by hand": load_target.step(8),
        "users after the step by hand": load_target.wanted,
        "the autopilot steps on": load_target.driver.autopilot_steps,
        "later autopilot step": load_target.move(50, generation),
        "users at the end": load_target.wanted,
    }


def concurrent_step_by_hand() -> dict[str, Any]:
    """A thread of the autopilot steps as fast as it can while a person steps once, to 7 users."""
    load_target, begun, done = LoadTarget(0, None), SimpleQueue[None](), SimpleQueue[None]()
    generation = load_target.hand_to(Autopilot())

    def step() -> None:
        load_target.move(100, generation)
        begun.put(None)
        for users in range(1, STEPS):
            load_target.move(users % 5 + 100, generation)
        done.put(None)

    native.start_thread(step)
    begun.get(timeout=20)
    load_target.step(7)
    done.get(timeout=20)
    return {"users at the end": load_target.wanted, "the autopilot steps on": load_target.driver.autopilot_steps}


def reports_of_a_former_shape() -> dict[str, Any]:
    """A shape reports steps before a step by hand, after it, and after a plan has begun; each is answered with its acceptance."""
    load_target = LoadTarget(2, None)
    generation = load_target.open_with_shape()
    observed: dict[str, Any] = {"report": load_target.shape_moved(5, generation), "users after it": load_target.wanted}
    load_target.step(3)
    observed["report after a step by hand"] = load_target.shape_moved(9, generation)
    observed["users after that"] = load_target.wanted
    load_target.hand_to(Plan())
    observed["report during a plan"] = load_target.shape_moved(9, generation)
    return {**observed, "users at the end": load_target.wanted}


def moves_of_a_former_plan() -> dict[str, Any]:
    """A plan steps and ends after another plan has begun, which then asks the autopilot for the knee."""
    load_target = LoadTarget(2, None, Plan())
    former, present = load_target.driver.generation, load_target.hand_to(Plan())
    load_target.find_knee(former)
    observed: dict[str, Any] = {
        "step of the former plan": load_target.move(9, former),
        "the former plan started the autopilot": load_target.driver.autopilot_steps,
    }
    load_target.release(former, "plan")
    load_target.find_knee(present)
    return {
        **observed,
        "step of the present plan": load_target.move(4, present),
        "the present plan started the autopilot": load_target.driver.autopilot_steps,
        "users at the end": load_target.wanted,
    }
