"""Shares the cases of a module among processes, each with a bound on its memory."""

from __future__ import annotations

import importlib
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from multiprocessing import get_context

from .cases import Result

PROCESSES = 2
SHARES = 40
"""Parts into which the cases are divided; progress is printed after each."""
MOST_MEMORY_BYTES = 3 << 30
"""Limit of the address space of each process: a case that needs more fails with a MemoryError."""


def shared(name: str, count: int, seed: int) -> Result:
    """Run the cases of module `name` in PROCESSES processes, in shares of consecutive seeds."""
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
