"""Knees of imported ramps: how often the 90% intervals contain N*, and the verdicts on ramps that cannot show a knee.

    python -m lab.bench ramps [--ramps 400] [--first-seed 910000]

An "at or below" is false if N* is more than 15% above its users. Thresholds were tuned on seeds 0-599.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from multiprocessing import Pool

import numpy as np

from capexplorer.model.findings import Knee
from lab.simulation.ladders import Kind
from lab.simulation.moving import knee_marks
from lab.simulation.ramps import ramp_history

from .shares import print_row, share

FIRST_SEED = 910_000
KINDS: tuple[Kind, ...] = ("queue", "usl", "shedding", "timeouts")
NEAR, AT_OR_BELOW = 0.25, 1.15
COLUMNS = ("ramps", "knees", "hold N*", "within 25%", "width, median", "at or below", "of these false", "bends", "nothing")


class Outcome:
    """The verdict on one ramp."""

    def __init__(self, chosen: tuple[Kind, int]) -> None:
        kind, seed = chosen
        ramp = ramp_history(kind, seed)
        self.kind, self.seed, self.ramp_s, self.hold_s = kind, seed, ramp.ramp_s, ramp.hold_s
        truth = ramp.truth.knee_users
        assert truth is not None
        self.truth = truth
        self.users = self.low = self.high = None
        self.verdict_kind = "nothing"
        for mark in knee_marks(ramp.timeline):
            if mark.kind in ("knee", "at_or_below") and isinstance(mark.finding, Knee):
                verdict = mark.finding.verdict
                self.verdict_kind, self.users, self.low, self.high = mark.kind, mark.users, verdict.users_low, verdict.users_high
        if self.verdict_kind == "nothing" and any(mark.kind == "bend" for mark in knee_marks(ramp.timeline)):
            self.verdict_kind = "bend"

    @property
    def holds(self) -> bool:
        """Whether the interval of the knee contains N*."""
        return (self.low or 0.0) <= self.truth <= (self.high or np.inf)

    @property
    def is_false(self) -> bool:
        """Whether N* is above an "at or below"."""
        return self.truth > AT_OR_BELOW * (self.users or 0.0)


def row(name: str, outcomes: Sequence[Outcome]) -> None:
    knees = [each for each in outcomes if each.verdict_kind == "knee"]
    below = [each for each in outcomes if each.verdict_kind == "at_or_below"]
    widths = [((each.high or np.nan) - (each.low or np.nan)) / (each.users or np.nan) for each in knees]
    cells = (
        str(len(outcomes)),
        share(each.verdict_kind == "knee" for each in outcomes),
        share(each.holds for each in knees),
        share(abs((each.users or 0.0) / each.truth - 1) <= NEAR for each in knees),
        f"{np.median(widths):.0%}" if widths else "-",
        share(each.verdict_kind == "at_or_below" for each in outcomes),
        share(each.is_false for each in below),
        share(each.verdict_kind == "bend" for each in outcomes),
        share(each.verdict_kind == "nothing" for each in outcomes),
    )
    print_row(name, cells)


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ramps", type=int, default=400, help="number of ramps, over all kinds")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    options = parser.parse_args(list(argv))
    count = options.ramps // len(KINDS)
    chosen = [(kind, options.first_seed + index) for index in range(count) for kind in KINDS]
    began = time.perf_counter()
    with Pool(2) as pool:
        outcomes = pool.map(Outcome, chosen, chunksize=5)
    print(f"  seeds {options.first_seed}-{options.first_seed + count - 1}; {time.perf_counter() - began:.0f} s\n")
    print_row("", COLUMNS)
    row("all", outcomes)
    for kind in KINDS:
        row(kind, [each for each in outcomes if each.kind == kind])
    row("ramps under 60 s", [each for each in outcomes if each.ramp_s < 60])
    row("60 s and more", [each for each in outcomes if each.ramp_s >= 60])
    row("followed by a hold", [each for each in outcomes if each.hold_s])


if __name__ == "__main__":
    main(sys.argv[1:])
