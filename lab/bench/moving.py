"""False knees of simulated services that change while the load is stepped up.

Capacity rises or falls, requests fail or stall, permanently or for a while, a neighbour uses a part of the machine, at a random
time, or the service warms up until then, with and without a return to the first level. Sessions run through the product's live
detectors. A knee is false if it is more than 25% from every N* that the service had (while it warms up: that of the start); an
"at or below" if every N* is more than 15% above it. "No knee up to N users" is beyond the knee if N is more than 10% above
every N*; its share is of these verdicts. Rules were tuned on seeds 0-599 and 10,000-13,399; 700,000-700,999 were
checked once; 720,000-749,999 were reported before.

    python -m lab.bench moving [--ladders 1000] [--first-seed 750000]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from multiprocessing import Pool

import numpy as np

from capexplorer.model.events import Mark
from capexplorer.model.findings import Knee
from lab.simulation.moving import WORLDS, MovingLadder, World, knee_marks, moving_ladder

from .shares import print_row, share

FIRST_SEED = 750_000

NEAR = 0.25
AT_OR_BELOW = 1.15
BEYOND = 1.10

COLUMNS = ("ladders", "false", "false ever", "knees", "of those due", "covered", "changes found", "no knee beyond")


class Outcome:
    """The marks of one ladder, and whether they are right."""

    def __init__(self, ladder: MovingLadder) -> None:
        self.world, self.seed = ladder.world, ladder.seed
        self.marks = knee_marks(ladder.timeline)
        self.false = [mark for mark in self.marks if is_false(mark, ladder.knees)]
        ever = (each for each in ladder.timeline.journal if isinstance(each, Mark))
        ever = (mark for mark in ever if mark.kind in ("knee", "at_or_below") and mark.state != "retracted")
        self.false_ever = any(is_false(mark, ladder.knees) for mark in ever)
        self.due = max(ladder.users) >= 1.3 * ladder.knees[0]
        self.found = any(mark.kind == "knee" for mark in self.marks)
        found = [mark.finding.verdict for mark in self.marks if isinstance(mark.finding, Knee)]
        self.covered = [
            any((knee.users_low or 0.0) <= truth <= (knee.users_high or np.inf) for truth in ladder.knees) for knee in found
        ]
        verdict = ladder.timeline.verdict
        knee = verdict.capacity.knee if verdict is not None else None
        no_knee_up_to = [knee.users or 0.0] if knee is not None and knee.kind == "no_knee" else []
        self.beyond = [users > BEYOND * max(ladder.knees) for users in no_knee_up_to]
        self.changes = len(verdict.regimes) > 1 if verdict is not None else False


def is_false(mark: Mark, knees: Sequence[float]) -> bool:
    """Whether a knee or "at or below" contradicts every N* that the service had."""
    users = mark.users or 0.0
    if mark.kind == "at_or_below":
        return all(knee > AT_OR_BELOW * users for knee in knees)
    return all(abs(users / knee - 1) > NEAR for knee in knees)


def outcome(chosen: tuple[World, int]) -> Outcome:
    return Outcome(moving_ladder(*chosen))


def row(name: str, outcomes: Sequence[Outcome]) -> None:
    due = [each for each in outcomes if each.due]
    cells = (
        str(len(outcomes)),
        share(bool(each.false) for each in outcomes),
        share(each.false_ever for each in outcomes),
        share(each.found for each in outcomes),
        share(each.found for each in due),
        share(hit for each in outcomes for hit in each.covered),
        share(each.changes for each in outcomes),
        share(hit for each in outcomes for hit in each.beyond),
    )
    print_row(name, cells)


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ladders", type=int, default=1_000, help="sessions of services that change, over eight kinds")
    parser.add_argument("--still", type=int, default=500, help="sessions of services that do not change")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    options = parser.parse_args(list(argv))
    moving = WORLDS[1:]
    chosen = [(moving[index % len(moving)], options.first_seed + index) for index in range(options.ladders)]
    chosen += [("still", options.first_seed + index) for index in range(options.still)]
    began = time.perf_counter()
    with Pool(2) as pool:
        outcomes = pool.map(outcome, chosen, chunksize=10)
    print(f"  seeds {options.first_seed}-{options.first_seed + options.ladders - 1}; {time.perf_counter() - began:.0f} s\n")
    print_row("", COLUMNS)
    row("all that change", [each for each in outcomes if each.world != "still"])
    for world in WORLDS:
        row(world.replace("_", " "), [each for each in outcomes if each.world == world])
    false = [f"{each.world} {each.seed}" for each in outcomes if each.false]
    print(f"\n  false: {', '.join(false) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])
