"""Accuracy of leak detection on simulated services: wrong marks on healthy ones, and how soon leaks of known rates are reported.

Ten minutes of each service at one user count, checked at the times at which a run checks: at 20, 30 ... 120 s, then each minute.
Shapes and figures are random (lab/simulation/growth.py). Thresholds were tuned on seeds 0-399; these are 500,000 and up.

    python -m lab.bench leaks [--services 200] [--first-seed 500000]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from capexplorer.analysis.leaks.leak_kinds import KINDS, LeakKind
from capexplorer.analysis.leaks.leaks import WARM_UP_S, lasting_growth
from lab.simulation.growth import HEALTHY, descriptors, leaking

TIMES = np.arange(1.0, 601.0)
CHECKED_AT_S: tuple[int, ...] = (*range(20, 121, 10), *range(180, 601, 60))
SETTLES_S = 4
MEMORY, FDS = KINDS[0], KINDS[1]


def first_reported_s(kind: LeakKind, values: NDArray[np.float64]) -> int | None:
    """Seconds of load after which a leak is first reported in the whole level, its last half or its last quarter; None: never."""
    for seconds in CHECKED_AT_S:
        times, seen = TIMES[SETTLES_S:seconds], values[SETTLES_S:seconds]
        begins = (len(seen) - max(1, round(share * len(seen))) for share in (1.0, 0.5, 0.25))
        if any(lasting_growth(times[begin:], seen[begin:], kind, WARM_UP_S) is not None for begin in begins):
            return seconds
    return None


def row(name: str, reported: Iterable[int | None]) -> str:
    each = list(reported)
    found = [seconds for seconds in each if seconds is not None]
    soon = f"; after {np.median(found):.0f} s, 95% by {np.percentile(found, 95):.0f} s" if found else ""
    return f"{name:<24} reported {len(found)} of {len(each)}{soon}"


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--services", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=500_000)
    options = parser.parse_args(list(argv))
    seeds = range(options.first_seed, options.first_seed + options.services)
    for name, shape in HEALTHY.items():
        reported = (first_reported_s(MEMORY, shape(np.random.default_rng(seed), TIMES)) for seed in seeds)
        print(row(f"healthy, {name}", reported), flush=True)
    for per_s in (0.0, 0.05, 0.5, 2.0):
        reported = (first_reported_s(FDS, descriptors(np.random.default_rng(seed), TIMES, per_s)) for seed in seeds)
        print(row(f"{per_s:g} descriptors/s", reported), flush=True)
    for per_s in (5e4, 2e5, 1e6, 5e6):
        reported = (first_reported_s(MEMORY, leaking(np.random.default_rng(seed), TIMES, per_s)) for seed in seeds)
        print(row(f"{per_s / 1e6:g} MB/s", reported), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
