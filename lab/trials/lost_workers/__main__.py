"""`python -m lab.trials.lost_workers [--count N] [--seed S]`: exit code 1 when a loss was marked late, or left a wrong figure."""

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
from .plan import loss


def main() -> int:
    """Carry out the losses that the command line names; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m lab.trials.lost_workers", description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="losses (default 50)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first loss; the others have the numbers after it (default 0)"
    )
    parser.add_argument("--save", action="store_true", help="keep the result in lab/trials/results/")
    options = parser.parse_args()
    conditions, outcomes = Conditions.now(), []
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory(prefix="lost-workers-") as folder:
            outcomes.append(carry_out(loss(seed), Path(folder)))
        print(f"lost workers: {len(outcomes)} of {options.count} {outcomes[-1].problems}", file=sys.stderr, flush=True)
    result = summary(outcomes)
    print(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    if options.save:
        print(save("lost-workers", {"seed": options.seed, **result}, conditions))
    return 1 if result["failed"] else 0


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """Counts over all losses, times by signal, and all outcomes with a problem."""
    failed = [each for each in outcomes if each.problems]
    by_signal: dict[str, Any] = {}
    for name in ("SIGKILL", "SIGSTOP"):
        of_it = [each for each in outcomes if each.loss.signal == name]
        by_signal[name] = {
            "losses": len(of_it),
            "marked_after_s": _spread([each.marked_after_s for each in of_it]),
            "users_back_after_s": _spread([each.users_back_after_s for each in of_it]),
        }
    return {"losses": len(outcomes), **by_signal, "failed": len(failed), "failures": failed}


def _spread(values: list[float | None]) -> dict[str, float] | None:
    known = [value for value in values if value is not None]
    return {"median": median(known), "most": max(known)} if known else None


if __name__ == "__main__":
    sys.exit(main())
