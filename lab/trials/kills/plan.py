"""Which process of which run is killed, and when, determined by a seed. Pure."""

from __future__ import annotations

import random
from typing import Literal

import msgspec

Surface = Literal["headless", "terminal"]
Victims = Literal["app", "supervisor", "both"]
Stage = Literal["starting", "spawning", "steady", "quitting"]
Service = Literal["process", "nginx", "gunicorn", "daemon"]

_WITHIN_S: dict[Stage, float] = {"starting": 6.0, "spawning": 4.0, "steady": 4.0, "quitting": 1.5}
"""Longest time from the begin of a stage to the kill. Start-up takes three to five seconds on a busy machine with two cores."""


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """One kill of a run."""

    seed: int
    surface: Surface
    victims: Victims
    stage: Stage
    service: Service
    after_s: float
    """Seconds since the stage began: the start, the target's readiness, the first sample, SIGTERM."""


def kill(seed: int) -> Kill:
    """The kill with this number. 96 consecutive seeds have each combination once; the time is random."""
    stage: Stage = ("starting", "spawning", "steady", "quitting")[seed // 6 % 4]
    return Kill(
        seed=seed,
        surface=("headless", "terminal")[seed % 2],
        victims=("app", "supervisor", "both")[seed % 3],
        stage=stage,
        service=("nginx", "daemon", "gunicorn", "process")[seed // 24 % 4],
        after_s=round(random.Random(seed).uniform(0.0, _WITHIN_S[stage]), 3),
    )
