"""Leak detection on simulated services (lab/simulation/growth.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from capexplorer.analysis.leaks import KINDS as LEAK_KINDS
from capexplorer.analysis.leaks import WARM_UP_S, LeakKind, lasting_growth
from lab.simulation.growth import HEALTHY, descriptors, leaking

TIMES = np.arange(1.0, 601.0)
CHECKED_AT_S: tuple[int, ...] = (*range(20, 121, 10), *range(180, 601, 60))
SETTLES_S = 4
MEMORY, FDS = LEAK_KINDS[0], LEAK_KINDS[1]


def leaks(services: int = 200, first_seed: int = 500_000) -> None:
    """Accuracy of leak detection on simulated services: wrong marks on healthy ones, and how soon leaks of known rates are
    reported.

    Ten minutes of each service at one user count, checked at the times at which a run checks: at 20, 30 ... 120 s, then each
    minute. Shapes and figures are random (lab/simulation/growth.py). Thresholds were tuned on seeds 0-399; these are 500,000 and
    up."""

    def row(name: str, kind: LeakKind, values: Callable[[np.random.Generator], NDArray[np.float64]]) -> None:
        generators = [np.random.default_rng(first_seed + at) for at in range(services)]
        found = [seconds for rng in generators if (seconds := first_reported_s(kind, values(rng))) is not None]
        soon = f"; after {np.median(found):.0f} s, 95% by {np.percentile(found, 95):.0f} s" if found else ""
        print(f"{name:<24} reported {len(found)} of {services}{soon}", flush=True)

    for name, shape in HEALTHY.items():
        row(f"healthy, {name}", MEMORY, lambda rng, shape=shape: shape(rng, TIMES))  # type: ignore[misc]
    for per_s in (0.0, 0.05, 0.5, 2.0):
        row(f"{per_s:g} descriptors/s", FDS, lambda rng, per_s=per_s: descriptors(rng, TIMES, per_s))  # type: ignore[misc]
    for per_s in (5e4, 2e5, 1e6, 5e6):
        row(f"{per_s / 1e6:g} MB/s", MEMORY, lambda rng, per_s=per_s: leaking(rng, TIMES, per_s))  # type: ignore[misc]


def first_reported_s(kind: LeakKind, values: NDArray[np.float64]) -> int | None:
    """Seconds of load after which a leak is first reported in the whole level, its last half or its last quarter; None: never."""
    for seconds in CHECKED_AT_S:
        times, seen = TIMES[SETTLES_S:seconds], values[SETTLES_S:seconds]
        begins = (len(seen) - max(1, round(share * len(seen))) for share in (1.0, 0.5, 0.25))
        if any(lasting_growth(times[begin:], seen[begin:], kind, WARM_UP_S) is not None for begin in begins):
            return seconds
    return None
