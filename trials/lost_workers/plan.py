"""Which worker is lost, how, and when: all of it follows from a seed. Pure."""

from __future__ import annotations

import random
from typing import Literal

import msgspec

Signal = Literal["SIGKILL", "SIGSTOP"]

LEVELS = "4:6s,8:6s,12:8s"
"""Three levels; the service carries all of them, so no knee is right."""

WORKERS = 3


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """One trial."""

    seed: int
    signal: Signal
    worker: int
    """Place among the workers by process id, from 0."""
    after_s: float
    """Seconds since the first settled sample: in any level, and at a change of levels."""


def loss(seed: int) -> Loss:
    """The trial with this number. Neighbouring seeds take turns with the signal; worker and moment are random."""
    chosen = random.Random(seed)
    return Loss(
        seed=seed,
        signal=("SIGKILL", "SIGSTOP")[seed % 2],
        worker=chosen.randrange(WORKERS),
        after_s=round(chosen.uniform(0.0, 14.0), 3),
    )
