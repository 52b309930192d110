"""`python -m lab.trials.hangups [--count N] [--seed S]`: exit code 1 for a failed request, lost data or a process left."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from ..record import Conditions, save
from .execution import Outcome, carry_out
from .figures import compared
from .plan import hangup

KILLS_PER_RUN = 10
"""The client that started the run is killed first, then nine attached ones."""


def main() -> int:
    """Carry out the kills that the command line names; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m lab.trials.hangups", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="kills (default 100)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first kill; the others have the numbers after it (default 0)"
    )
    parser.add_argument("--save", action="store_true", help="keep the result in lab/trials/results/")
    options = parser.parse_args()
    conditions, outcomes = Conditions.now(), []
    seeds = range(options.seed, options.seed + options.count)
    for first in seeds[::KILLS_PER_RUN]:
        hangups = [hangup(seed, first=seed == first) for seed in seeds if first <= seed < first + KILLS_PER_RUN]
        with tempfile.TemporaryDirectory(prefix="hangups-", dir="/tmp") as folder:
            outcomes.append(carry_out(hangups, Path(folder)))
        print(
            f"hangups: {first + len(hangups) - options.seed} of {options.count} {outcomes[-1].problems}",
            file=sys.stderr,
            flush=True,
        )
    result = summary(outcomes)
    print(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    if options.save:
        print(save("hangups", {"seed": options.seed, "kills": options.count, **result}, conditions))
    return 1 if result["problems"] else 0


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """Counts over all runs, and how rate and p99 change at kills and at moments without a kill."""
    painted_s = [each for outcome in outcomes for each in outcome.painted_s]
    kills, controls = [each for one in outcomes for each in one.kills], [each for one in outcomes for each in one.controls]
    return {
        "runs": len(outcomes),
        "requests": sum(each.requests for each in outcomes),
        "failures": sum(each.failures for each in outcomes),
        "seconds": sum(each.seconds for each in outcomes),
        "first_paint_s": {"median": median(painted_s), "most": max(painted_s)} if painted_s else None,
        "after_through_before": compared(kills, controls),
        "problems": [problem for each in outcomes for problem in each.problems],
    }


if __name__ == "__main__":
    sys.exit(main())
