"""Which client is killed, and when: all of it follows from a seed. Pure."""

from __future__ import annotations

import random
from typing import Literal

import msgspec

Stage = Literal["starting", "watching"]

STARTING_SHARE = 0.3
STARTING_S = 3.0
"""A client that is killed while it starts: at most so long after its start, when it connects, reads in and first paints."""

WINDOW_S = 4
"""Whole seconds before a moment are compared with as many after it."""
CONTROL_S = 0.5 + WINDOW_S
"""After the first paint: a moment at which nothing happens, compared in the same way."""
WATCHING_S = CONTROL_S + 2 * WINDOW_S + 0.5
"""From the first paint to the kill at least, so that no window has a start, a kill and a control moment."""

KEYS = "fz2w1 "
"""Of which a client that watches types some: none of them changes the load."""


class Hangup(msgspec.Struct, frozen=True, kw_only=True):
    """One kill of an SSH client."""

    seed: int
    stage: Stage
    after_s: float
    """Since the client's start, or since its first paint."""
    keys: str


def hangup(seed: int, *, first: bool) -> Hangup:
    """The kill with this number. The `first` client of a run is the one that started it: it is killed while it watches."""
    chance = random.Random(seed)
    if not first and chance.random() < STARTING_SHARE:
        return Hangup(seed=seed, stage="starting", after_s=round(chance.uniform(0.0, STARTING_S), 3), keys="")
    keys = "".join(chance.choices(KEYS, k=chance.randint(0, 4)))
    return Hangup(seed=seed, stage="watching", after_s=round(WATCHING_S + chance.random(), 3), keys=keys)
