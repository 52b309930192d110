"""`python -m trials.fuzz logs|plans|profiles [--count N] [--seed S]`: exit code 1 when a case failed.

Two processes share the cases. The result is written to trials/results/fuzz-NAME.json where `--save` is given.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from multiprocessing import get_context

from ..record import Conditions, save
from .cases import Failure, Result

NAMES = ("logs", "plans", "profiles")
PROCESSES = 2
SHARES = 40
"""How often progress is printed."""
MOST_MEMORY_BYTES = 3 << 30
"""Of one process's address space: a case that needs more fails with a MemoryError."""
MOST_TOLD = 20


def main() -> int:
    """Run what the command line asks for."""
    asked = _asked()
    conditions = Conditions.now()
    result = _shared(asked.name, asked.count, asked.seed)
    for failure in result.failures[:MOST_TOLD]:
        _tell(asked.name, failure)
    print(f"{asked.name}: {result.count} cases, {len(result.failures)} failed; {_counted(result.outcomes)}")
    if asked.save:
        print(save(f"fuzz-{asked.name}", {"seed": asked.seed, "result": result}, conditions))
    return 1 if result.failures else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m trials.fuzz", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--count", type=int, default=1_000, help="cases (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of the first case; the next ones follow it")
    parser.add_argument("--save", action="store_true", help="keep the result in trials/results/")
    return parser.parse_args()


def _shared(name: str, count: int, seed: int) -> Result:
    """The cases of module `name`, in shares of neighbouring seeds."""
    bounds = [count * share // SHARES for share in range(SHARES + 1)]
    shares = [(name, end - start, seed + start) for start, end in zip(bounds, bounds[1:], strict=False) if end > start]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn"), initializer=_bound_memory) as pool:
        results = []
        for share, result in enumerate(pool.map(_run, shares), start=1):
            results.append(result)
            print(f"{name}: {share} of {len(shares)} shares, {len(result.failures)} failed", file=sys.stderr, flush=True)
    return reduce(Result.plus, results, Result(count=0, outcomes={}))


def _run(share: tuple[str, int, int]) -> Result:
    name, count, seed = share
    result: Result = importlib.import_module(f".{name}", __package__).run(count, seed)
    return result


def _bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))


def _tell(name: str, failure: Failure) -> None:
    print(f"\n{failure.what}\n  repeat: python -m trials.fuzz {name} --count 1 --seed {failure.seed}\n{failure.detail}")


def _counted(outcomes: dict[str, int]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "no outcome"


if __name__ == "__main__":
    sys.exit(main())
