"""Which client is killed, and when, determined by a seed. Pure."""

from __future__ import annotations

import random
from typing import Literal

import msgspec

Stage = Literal["starting", "watching"]

STARTING_SHARE = 0.3
STARTING_S = 3.0
"""A client that is killed while it starts is killed within this time: it connects, reads the session and paints the screen."""

WINDOW_S = 4
"""Whole seconds before a moment that are compared with as many after it."""
CONTROL_S = 0.5 + WINDOW_S
"""From the first paint to the control, a moment without a kill that is compared in the same way."""
WATCHING_S = CONTROL_S + 2 * WINDOW_S + 0.5
"""Least time from the first paint to the kill, so that the windows of start, control and kill do not overlap."""

KEYS = "fz2w1 "
"""Keys of which a watching client types a few; none of them changes the load."""


class Hangup(msgspec.Struct, frozen=True, kw_only=True):
    """One kill of an SSH client."""

    seed: int
    stage: Stage
    after_s: float
    """Since the client's start, or since its first paint."""
    keys: str


def hangup(seed: int, *, first: bool) -> Hangup:
    """The kill with this number. The `first` client of a run is the one that started it: it is killed while it watches."""
    rng = random.Random(seed)
    if not first and rng.random() < STARTING_SHARE:
        return Hangup(seed=seed, stage="starting", after_s=round(rng.uniform(0.0, STARTING_S), 3), keys="")
    keys = "".join(rng.choices(KEYS, k=rng.randint(0, 4)))
    return Hangup(seed=seed, stage="watching", after_s=round(WATCHING_S + rng.random(), 3), keys=keys)
