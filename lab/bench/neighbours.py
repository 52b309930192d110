"""Knees of simulated services of known N* while other processes start and end, with and without the check for them.

Half of the ladders end at 0.6 N*, so that any knee is false; half go to 2.5 N*, where a knee within 25% is right. Thresholds were
chosen on recorded sessions; seeds 0-99 and 500,000-500,999 were checked once.

    python -m lab.bench neighbours [--climbs 500] [--first-seed 500000]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from capexplorer.analysis.epoch.neighbours import NeighbourCheck, disturbance_of, usable_levels
from capexplorer.analysis.epoch.recovery import analyse
from capexplorer.analysis.ladder import LadderLevel, ladder_level
from capexplorer.model.events import HostFacts
from capexplorer.model.verdicts import CapacityVerdict
from lab.simulation.crowded import CORES, Crowded, climb

NEAR = 0.25
CHECK = NeighbourCheck(HostFacts(cpus=CORES), "server")


def ladder(found: Crowded, *, checks: bool) -> tuple[LadderLevel, ...]:
    """The input of the detector; without the check, neighbours are unknown."""
    levels = []
    for at, (users, figures) in enumerate(zip(found.users, found.levels, strict=True)):
        disturbed, goodput_disturbed = disturbance_of(CHECK.withheld(figures) if checks else None)
        at_s = 15.0 * at
        levels.append(
            ladder_level(float(users), figures, started_s=at_s, disturbed=disturbed, goodput_disturbed=goodput_disturbed)
        )
    return usable_levels(levels)


def judged(found: Crowded, verdict: CapacityVerdict) -> str:
    """`right` or `wrong` for a marked knee; `none` without one."""
    knee = verdict.knee
    if knee is None or knee.users is None or knee.kind not in ("knee", "at_or_below"):
        return "none"
    reached = found.users[-1] >= found.knee_users
    right = reached and (
        abs(knee.users / found.knee_users - 1) <= NEAR if knee.kind == "knee" else knee.users >= found.knee_users
    )
    return "right" if right else "wrong"


def counts(seeds: Sequence[int], reach: float, busy_share: float, *, checks: bool) -> Counter[str]:
    """Number of ladders by outcome: `right`, `wrong`, `none`."""
    climbs = (climb(seed, reach, busy_share=busy_share) for seed in seeds)
    return Counter(judged(found, analyse(ladder(found, checks=checks))) for found in climbs)


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--climbs", type=int, default=500)
    parser.add_argument("--first-seed", type=int, default=510_000)
    options = parser.parse_args(list(argv))
    seeds = range(options.first_seed, options.first_seed + options.climbs)
    for reach in (0.6, 2.5):
        for busy in (0.0, 0.5, 1.0):
            for checks in (False, True):
                found = counts(seeds, reach, busy, checks=checks)
                how = "with the check" if checks else "without the check"
                reported = ", ".join(f"{what} {found[what]}" for what in ("right", "wrong", "none"))
                print(f"to {reach:g} N*, neighbours in {busy:.0%} of levels, {how:<22} {reported} of {len(seeds)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
