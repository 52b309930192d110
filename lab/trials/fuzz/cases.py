"""Runs many cases, one per seed, and collects failures. Each case has a bound in time.

A module of this package has `run(count, seed)`, which runs the cases `seed`, `seed + 1`, ... `seed + count - 1`. A case depends
on its seed alone, so that `--count 1 --seed S` repeats the case S of any run, and the cases can be shared among processes.
"""

from __future__ import annotations

import importlib
import random
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import reduce
from multiprocessing import get_context
from types import FrameType

import msgspec

Case = Callable[[random.Random], str]
"""One case, made from the random numbers of its seed. Returns its outcome, by which cases are counted; raises if it fails."""

LONGEST_S = 20.0
"""Most CPU time of a case, which usually takes milliseconds."""
LONGEST_WAIT_S = 300.0
"""Most time of a case: one that waits, such as for a named pipe, uses no CPU. A busy disk may delay a case for half a minute."""
MOST_LINES = 12
"""Lines of a traceback that are kept."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A case that failed."""

    seed: int
    """`--count 1 --seed SEED` repeats it."""
    what: str
    """One line."""
    detail: str = ""
    """The end of the traceback."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of `count` cases."""

    count: int
    outcomes: dict[str, int]
    """Number of cases by outcome, without failures."""
    failures: tuple[Failure, ...] = ()

    def plus(self, other: Result) -> Result:
        """Both together."""
        outcomes = dict(Counter(self.outcomes) + Counter(other.outcomes))
        return Result(count=self.count + other.count, outcomes=outcomes, failures=(*self.failures, *other.failures))


class HangError(Exception):
    """A case took too long."""


def run_cases(case: Case, count: int, seed: int, longest_s: float = LONGEST_S) -> Result:
    """Run the cases `seed` to `seed + count - 1`. Only in the main thread of a process, since a signal bounds the time."""
    outcomes: Counter[str] = Counter()
    failures = []
    for each in range(seed, seed + count):
        try:
            with _bounded(longest_s):
                outcomes[case(random.Random(each))] += 1
        except Exception as error:
            failures.append(_failure(each, error))
    return Result(count=count, outcomes=dict(outcomes), failures=tuple(failures))


def _failure(seed: int, error: Exception) -> Failure:
    lines = traceback.format_exception(error)[-MOST_LINES:]
    return Failure(seed=seed, what=f"{type(error).__name__}: {error}"[:300].replace("\n", " "), detail="".join(lines))


@contextmanager
def _bounded(longest_s: float) -> Iterator[None]:
    def expire(number: int, frame: FrameType | None) -> None:
        raise HangError(f"still running after {longest_s:g} s of CPU, or {LONGEST_WAIT_S:g} s")

    timers = {signal.ITIMER_PROF: (signal.SIGPROF, longest_s), signal.ITIMER_REAL: (signal.SIGALRM, LONGEST_WAIT_S)}
    before = {number: signal.signal(number, expire) for number, _ in timers.values()}
    for timer, (_, seconds) in timers.items():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


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
    result: Result = importlib.import_module(f"{__package__}.{name}").run(count, seed)
    return result


def _bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
