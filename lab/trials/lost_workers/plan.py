"""Which worker is lost, by which signal, and when, determined by a seed. Pure."""

from __future__ import annotations

import random
from typing import Literal

import msgspec

Signal = Literal["SIGKILL", "SIGSTOP"]

LEVELS = "4:6s,8:6s,12:8s"
"""Three levels, all below the capacity of the service, so that any knee is wrong."""

WORKERS = 3


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """One loss of a worker."""

    seed: int
    signal: Signal
    worker: int
    """Index among the workers in order of process ids."""
    after_s: float
    """Seconds since the first settled sample: in any level, and at a change of levels."""


def loss(seed: int) -> Loss:
    """The loss with this number. Even seeds have SIGKILL, odd ones SIGSTOP; worker and time are random."""
    rng = random.Random(seed)
    return Loss(
        seed=seed,
        signal=("SIGKILL", "SIGSTOP")[seed % 2],
        worker=rng.randrange(WORKERS),
        after_s=round(rng.uniform(0.0, 14.0), 3),
    )
