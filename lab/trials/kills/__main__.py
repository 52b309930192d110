"""`python -m lab.trials.kills [--count N] [--seed S] [--parallel P]`: exit code 1 for a process left or a bad log."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import msgspec

from ..programs import missing
from ..record import Conditions, save
from .execution import PROGRAMS, Outcome, carry_out
from .plan import Kill, kill


def main() -> int:
    """Carry out the kills that the command line names; returns the exit code."""
    options = _options()
    conditions = Conditions.now()
    kills = [kill(seed) for seed in range(options.seed, options.seed + options.count)]
    left_out = {service: reason for service, programs in PROGRAMS.items() if (reason := missing(*programs))}
    for service, reason in left_out.items():
        print(f"{service}: left out, {reason}", file=sys.stderr)
    outcomes = _carry_out([each for each in kills if each.service not in left_out], options.parallel)
    result = summary(outcomes)
    print(msgspec.json.format(msgspec.json.encode(result), indent=2).decode())
    if options.save:
        print(save("kills", {"seed": options.seed, "parallel": options.parallel, **result}, conditions))
    return 1 if result["failed"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.trials.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="kills (default 500)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first kill; the others have the numbers after it (default 0)"
    )
    parser.add_argument("--parallel", type=int, default=2, help="runs at once (default 2)")
    parser.add_argument("--save", action="store_true", help="keep the result in lab/trials/results/")
    return parser.parse_args()


def _carry_out(kills: Sequence[Kill], parallel: int) -> list[Outcome]:
    outcomes = []
    with ThreadPoolExecutor(parallel) as pool:
        for done in as_completed([pool.submit(_one, each) for each in kills]):
            outcomes.append(done.result())
            if outcomes[-1].problems:
                print(f"\n{outcomes[-1]}\n  repeat: python -m lab.trials.kills --count 1 --seed {outcomes[-1].kill.seed}")
            print(f"kills: {len(outcomes)} of {len(kills)}", file=sys.stderr, flush=True)
    return sorted(outcomes, key=lambda each: each.kill.seed)


def _one(kill: Kill) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        return carry_out(kill, Path(folder))


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Counts over all kills, the time that was lost, and all outcomes with a problem."""
    lost_s = sorted(each.lost_s for each in outcomes if each.lost_s is not None)
    failed = [each for each in outcomes if each.problems]
    kinds = Counter(f"{getattr(each.kill, name)}" for each in outcomes for name in ("surface", "victims", "stage", "service"))
    return {
        "kills": len(outcomes),
        "kinds": dict(kinds),
        "already_over": sum(each.already_over for each in outcomes),
        "with_a_log": sum(each.lost_s is not None or each.samples > 0 for each in outcomes),
        "lost_s": {"median": lost_s[len(lost_s) // 2], "most": lost_s[-1], "of": len(lost_s)} if lost_s else None,
        "failed": len(failed),
        "failures": failed,
    }


if __name__ == "__main__":
    sys.exit(main())
