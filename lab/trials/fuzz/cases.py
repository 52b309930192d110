"""Damaged and nonsensical input in large numbers (`make fuzz`): many cases, one per seed, each with a bound in time.

A module of this package has `run(count, seed)`, which runs the cases `seed`, `seed + 1`, ... `seed + count - 1`. A case depends
on its seed alone, so that `--count 1 --seed S` repeats the case S of any run, and the cases can be shared among processes.
"""

from __future__ import annotations

import argparse
import importlib
import random
import resource
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from lab.trial import Judged, Result, SeedTrial, seeds

Case = Callable[[random.Random], str]
"""One case, made from the random numbers of its seed. Returns its outcome, by which cases are counted; raises if it fails."""

LONGEST_S = 20.0
"""Most CPU time of a case, which usually takes milliseconds."""
LONGEST_WAIT_S = 300.0
"""Most time of a case: one that waits, such as for a named pipe, uses no CPU. A busy disk may delay a case for half a minute."""
MOST_LINES = 12
"""Lines of a traceback that are kept."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    """`--count 1 --seed SEED` repeats it."""
    what: str
    """One line."""
    detail: str = ""
    """The end of the traceback."""


class Fuzzed(msgspec.Struct, frozen=True):
    outcomes: dict[str, int]
    """Number of cases by outcome, without failures."""
    failures: tuple[Failure, ...] = ()


class HangError(Exception):
    """A case took too long."""


def run_cases(case: Case, count: int, seed: int, longest_s: float = LONGEST_S) -> Fuzzed:
    """Run the cases `seed` to `seed + count - 1`. Only in the main thread of a process, since a signal bounds the time."""
    outcomes: Counter[str] = Counter()
    failures = []
    for each in range(seed, seed + count):
        try:
            with _bounded(longest_s):
                outcomes[case(random.Random(each))] += 1
        except Exception as error:
            failures.append(_failure(each, error))
    return Fuzzed(dict(outcomes), tuple(failures))


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


SHARES = 40
"""Parts into which the cases are divided."""
MOST_MEMORY_BYTES = 3 << 30
"""Limit of the address space of each process: a case that needs more fails with a MemoryError."""


class Fuzz(SeedTrial[int]):
    """Shares of consecutive seeds, each run in one of two processes."""

    about = "Reads damaged and nonsensical input. Exit code 1 for a traceback, a hang or a wrong figure."
    parallel = 2

    def chosen(self, options: argparse.Namespace) -> Mapping[str, int]:
        return seeds(options, -(-options.count // SHARES))

    def carry_out(self, case: int, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        count = min(-(-options.count // SHARES), options.seed + options.count - case)
        found = self.in_a_process(_run, self.name.removeprefix("fuzz-"), count, case)
        for each in found.failures:
            print(f"--count 1 --seed {each.seed}: {each.what}\n{each.detail}")
        return Judged(wrong=tuple(each.what for each in found.failures), figures=msgspec.structs.asdict(found))

    def line(self, result: Result) -> str:
        return f"seeds from {result.case}: {len(result.wrong)} failed ({result.seconds:.0f} s)"

    def summary(self, results: Sequence[Result]) -> dict[str, Any]:
        failures = [failure for each in results for failure in each.figures.get("failures", ())]
        outcomes = sum((Counter(each.figures.get("outcomes", {})) for each in results), Counter[str]())
        return {"outcomes": dict(outcomes), "failed": len(failures), "failures": failures}


class Logs(Fuzz):
    name = "fuzz-logs"


class Plans(Fuzz):
    name = "fuzz-plans"


class Profiles(Fuzz):
    name = "fuzz-profiles"


def _run(module: str, count: int, seed: int) -> Fuzzed:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    found: Fuzzed = importlib.import_module(f"{__package__}.{module}").run(count, seed)
    return found
