"""`python -m lab.trials.fuzz logs|plans|profiles [--count N] [--seed S]`: exit code 1 when a case failed.

Two processes share the cases. The result is written to lab/results/fuzz-NAME.json where `--save` is given.
"""

from __future__ import annotations

import argparse
import sys

from lab.kit.record import Conditions, save

from .cases import Failure, shared

NAMES = ("logs", "plans", "profiles")
MOST_PRINTED = 20


def main() -> int:
    """Run the cases that the command line names; returns the exit code."""
    options = _options()
    conditions = Conditions.now()
    result = shared(options.name, options.count, options.seed)
    for failure in result.failures[:MOST_PRINTED]:
        _print_failure(options.name, failure)
    print(f"{options.name}: {result.count} cases, {len(result.failures)} failed; {_counted(result.outcomes)}")
    if options.save:
        print(save(f"fuzz-{options.name}", {"seed": options.seed, "result": result}, conditions))
    return 1 if result.failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.trials.fuzz", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--count", type=int, default=1_000, help="cases (default 1000)")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the first case; the others have the numbers after it (default 1)"
    )
    parser.add_argument("--save", action="store_true", help="keep the result in lab/results/")
    return parser.parse_args()


def _print_failure(name: str, failure: Failure) -> None:
    print(f"\n{failure.what}\n  repeat: python -m lab.trials.fuzz {name} --count 1 --seed {failure.seed}\n{failure.detail}")


def _counted(outcomes: dict[str, int]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "no outcome"


if __name__ == "__main__":
    sys.exit(main())
