"""`make experiments`: all; `make experiments NAMES="five-short"`: some. An hour, and the hours that `five` takes."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lab.trials.record import commit

from . import five, five_page, knees, others, page, records, twice
from .capacity import measured
from .systems import SYSTEMS


@dataclass(frozen=True, slots=True)
class RunArguments:
    """Options of the command line."""

    parallel: int
    only: tuple[str, ...]
    """Runs of `five`, `five-short` and `twice`; none: all of them."""


PARALLEL = 3
"""Runs at a time: a run takes under 0.1 core, its service under 0.02, so three leave two cores idle enough."""


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        arguments = RunArguments(options.parallel, tuple(options.only))
        passed = [(ALL | SHORT)[name](folder / name, arguments) for name in options.names or ALL]
    return 0 if all(passed) else 1


def capacity(_: Path, arguments: RunArguments) -> bool:
    """Measured completions of the services, in 1/s."""
    errors = []
    for each in SYSTEMS:
        rate, cores = measured(each.workers, each.sleep_s * 1000)
        errors.append(rate / each.capacity_rps - 1)
        sentence = f"k/s = {each.capacity_rps:g}, measured {rate:.2f} ({errors[-1]:+.1%}), {cores:.3f} cores"
        _print_result(f"capacity of {each.name}", abs(errors[-1]) < 0.02, sentence)
    return all(abs(error) < 0.02 for error in errors)


def thirty(folder: Path, arguments: RunArguments) -> bool:
    """Three services, ten autopilot runs each."""
    runs: list[records.KneeRun] = []
    for record in knees.thirty(folder, arguments.parallel):
        print(f"{len(runs) + 1:3}  {knees.line(record)}", flush=True)
        records.append("knees", record)
        page.write()
        runs.append(record)
    print(knees.totals(runs), flush=True)
    first = [record for record in runs if not record.repeat]
    return min(sum(each.within(knees.WITHIN) for each in first), sum(each.holds for each in first)) >= knees.WANTED


def thinking(folder: Path, arguments: RunArguments) -> bool:
    """Ten minutes of steps, never a knee."""
    found = others.thinking(folder)
    return all([_print_result(f"only thinking: {name}", *sentence) for name, sentence in found.items()])


def held(folder: Path, arguments: RunArguments) -> bool:
    """A generator that shares one core with four busy processes."""
    return _print_result("a generator held to a fraction of a core", *others.held(folder))


def ladder(folder: Path, arguments: RunArguments) -> bool:
    """A plan that climbs past the knee, which must be marked within one level of passing it."""
    return _print_result("a ladder by plan", *others.ladder(folder))


def reports(folder: Path, arguments: RunArguments) -> bool:
    """The five reports at their own levels."""
    return _repeat(folder, arguments.only, short=False)


def reports_short(folder: Path, arguments: RunArguments) -> bool:
    """The five reports with their short plans, about 2 minutes each."""
    return _repeat(folder, arguments.only, short=True)


def twice_the_knee(folder: Path, arguments: RunArguments) -> bool:
    """Each target for a minute at twice its knee; it passes if it answers again afterwards."""
    passed = True
    for done in twice.all_of(folder, arguments.only):
        print(f"{'ok  ' if done.passed else 'FAIL'} {done.name}: {'; '.join(done.wrong) or 'answers again'}", flush=True)
        five_page.write()
        passed &= done.passed
    return passed


def _repeat(folder: Path, only: Sequence[str], *, short: bool) -> bool:
    passed = True
    for done in five.all_of(folder, short=short, only=only):
        reported = "; ".join([*(f"not marked: {each}" for each in done.missing), *(f"wrongly: {each}" for each in done.wrong)])
        print(f"{'ok  ' if done.passed else 'FAIL'} {done.name}: {done.verdict} {reported}", flush=True)
        five_page.write()
        passed &= done.passed
    five_page.write()  # again, since comparisons are recorded after the last run
    return passed


Experiment = Callable[[Path, RunArguments], bool]

ALL: dict[str, Experiment] = {
    "capacity": capacity,
    "ladder": ladder,
    "held": held,
    "knees": thirty,
    "thinking": thinking,
    "five": reports,
    "twice": twice_the_knee,
}

SHORT: dict[str, Experiment] = {"five-short": reports_short}
"""Experiments that run only if they are named, since `five` contains them."""


def _print_result(name: str, passed: bool, sentence: str) -> bool:
    print(f"{'ok  ' if passed else 'FAIL'} {name}: {sentence}", flush=True)
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    records.append("others", records.Finding(at=at, commit=commit(), experiment=name, passed=passed, sentence=sentence))
    page.write()
    return passed


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.trials.experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ALL | SHORT)}")
    parser.add_argument("--parallel", type=int, default=PARALLEL, help="autopilot runs at a time")
    parser.add_argument(
        "--only", action="append", default=[], metavar="RUN", help="only this run of five, five-short or twice; may be repeated"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where sessions are kept")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in ALL | SHORT]
    if unknown:
        parser.error(f"no experiment {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
