"""Steering between the autopilot and a person."""

from __future__ import annotations

import time
from _queue import SimpleQueue
from typing import Any

from capexplorer.load import native
from capexplorer.run.drivers.load_target import Steering

STEPS = 2_000


def taken_over() -> list[Any]:
    steering = Steering(4, None)
    steering.piloted = True
    first = [steering.pilot(5), steering.wanted]
    by_hand = [steering.step(8), steering.wanted, steering.piloted]
    return [*first, *by_hand, steering.pilot(50), steering.wanted]


def raced() -> dict[str, Any]:
    """The autopilot steps as fast as it can while a person steps once: what the person wants stands."""
    steering, done = Steering(0, None), SimpleQueue[None]()
    steering.piloted = True

    def fly() -> None:
        for users in range(1, STEPS):
            steering.pilot(users % 5 + 100)
        done.put(None)

    native.start_thread(fly)
    time.sleep(0.001)
    steering.step(7)
    done.get(timeout=20)
    return {"wanted": steering.wanted, "piloted": steering.piloted}
