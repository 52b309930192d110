"""The harness of all trials: cases are carried out and judged, results saved as each ends, a page written, an exit code returned.

Cases that may share the machine run beside each other; what is wrong beside others, or beside busy processes, is repeated alone,
and the last run counts. A result is numbers and ids, one line of JSON in lab/results/NAME.jsonl: pages are made of them.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from datetime import datetime
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar

import msgspec

from .kit.namespaces import can_be_contained, contained
from .kit.record import RESULTS, Conditions, commit, save
from .kit.runs import ROOT
from .kit.tables import table

DISTURBED_CORES = 0.5
"""Cores that other processes used, above which a run is disturbed: its marks may be true of them."""

C = TypeVar("C")
T = TypeVar("T")
R = TypeVar("R", bound=msgspec.Struct)


class Judged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the judge of a trial says of one run. `missing` and `wrong`: ids of marks, kinds of problems; both empty: right."""

    missing: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    busy_cores: float = 0.0
    """Cores that other processes used."""
    figures: dict[str, Any] = {}
    """Numbers and ids that only this trial has."""

    @property
    def right(self) -> bool:
        return not self.missing and not self.wrong


class Result(Judged, frozen=True, kw_only=True, omit_defaults=True):
    case: str
    variant: str = ""
    """How the case was carried out, such as the client class or the place; empty: there is one way."""
    number: int = 1
    """Which of its repeats this is."""
    at: str = ""
    commit: str = ""
    seconds: float = 0.0
    parallel: int = 1
    """Runs that were carried out at a time."""
    skipped: str = ""
    """Why it was not carried out."""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.case, self.variant, self.number

    @property
    def right(self) -> bool:
        return not (self.missing or self.wrong or self.skipped)

    @property
    def disturbed(self) -> bool:
        """Whether other runs or processes shared the machine."""
        return self.parallel > 1 or self.busy_cores > DISTURBED_CORES

    @property
    def spoilt(self) -> bool:
        """Whether a missing mark may be due to other processes alone; a wrong mark is wrong in any case."""
        return bool(self.missing) and not self.wrong and self.busy_cores > DISTURBED_CORES

    @property
    def problems(self) -> str:
        parts = [f"{name} {', '.join(ids)}" for name, ids in (("missing", self.missing), ("wrong", self.wrong)) if ids]
        return "; ".join(parts) or (f"skipped: {self.skipped}" if self.skipped else "right")


class Trial(ABC, Generic[C]):
    """Cases, how one is carried out, and its judgement."""

    name: str
    about: str
    """One line for `--help`."""
    cases: Mapping[str, C]
    parallel = 1
    """Runs at a time, unless the command line says otherwise."""
    repeats = 1
    """Runs of each case."""
    attempts = 2
    """Most runs of a case that is not right and was disturbed."""
    contained = False
    """Whether it needs namespaces of its own, so that it leaves no server behind."""
    spoilt_counts = True
    """Whether a run that busy processes spoilt is wrong."""

    @abstractmethod
    def carry_out(self, case: C, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        """One run, with its files in `folder`, which does not exist. An exception counts as wrong."""

    def why_not(self, case: C, options: argparse.Namespace) -> str:
        """Why this case cannot be carried out here; empty: it can."""
        return ""

    def variants(self, case: C, options: argparse.Namespace) -> Sequence[str]:
        """The ways in which the options choose to carry out a case."""
        return ("",)

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Options of this trial alone."""

    @cached_property
    def _processes(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.parallel, mp_context=get_context("spawn"))

    def in_a_process(self, act: Callable[..., T], *arguments: object) -> T:
        """What `act` returns in another process: for cases that compute."""
        return self._processes.submit(act, *arguments).result()

    def chosen(self, options: argparse.Namespace) -> Mapping[str, C]:
        return {name: self.cases[name] for name in options.names or self.cases}

    def is_name(self, name: str) -> bool:
        """Whether the command line may name this."""
        return name in self.cases

    def is_alone(self, case: C) -> bool:
        """Whether no other case may run beside this one."""
        return False

    def line(self, result: Result) -> str:
        state = "skip" if result.skipped else "ok  " if result.right else "busy" if result.spoilt else "FAIL"
        busy = f", others {result.busy_cores:g} cores" * bool(result.busy_cores)
        figures = ", ".join(f"{name} {shown(value)}" for name, value in result.figures.items() if value not in (None, [], ()))
        who = " ".join(filter(None, (result.case, result.variant, str(result.number) * (result.number > 1))))
        return f"{state} {who:40} ({result.seconds:.0f} s{busy}) {result.problems}; {figures}"

    def page(self, results: Sequence[Result]) -> str | None:
        return None

    def finish(self, results: Sequence[Result], options: argparse.Namespace, began: Conditions) -> None:
        """Called with all results at the end."""

    @property
    def page_path(self) -> Path:
        return ROOT / "docs" / f"{self.name}.md"

    def write_page(self) -> None:
        if (page := self.page(latest(self.kept()))) is not None:
            self.page_path.write_text(page, encoding="utf-8")

    def kept(self) -> list[Result]:
        """All results of the cases that there are, in their order."""
        order = {name: at for at, name in enumerate(self.cases)}
        found = [each for each in load(self.name, Result) if each.case in order]
        return sorted(found, key=lambda each: (order[each.case], each.variant, each.number))

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Carry out what the command line names. Returns the exit code: 1 if a run is wrong."""
        options = self._options(argv)
        if options.page:
            self.write_page()
            return 0
        if self.contained and can_be_contained():
            return contained()
        began, keep = Conditions.now(), options.keep or Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir="/tmp"))
        keep.mkdir(parents=True, exist_ok=True)
        keep.chmod(0o755)  # servers of trials run as other users
        results: dict[tuple[str, str, int], Result] = {}
        for result in self._carried_out(options, keep):
            print(self.line(result), flush=True)
            results[result.key] = result
            if not options.unsaved:
                append(self.name, result)
                self.write_page()
        self._processes.shutdown()
        self.finish(list(results.values()), options, began)
        print(f"{counted(list(results.values()))}; sessions of those that are not right: {keep}")
        return 1 if any(self.is_failure(each) for each in results.values()) else 0

    def is_failure(self, result: Result) -> bool:
        return not (result.right or result.skipped or (result.spoilt and not self.spoilt_counts))

    def _carried_out(self, options: argparse.Namespace, keep: Path) -> Iterator[Result]:
        """Each result as it ends; then those that were disturbed and are not right again, alone."""
        wanted = [
            (name, case, variant, number)
            for number in range(1, options.repeats + 1)
            for name, case in self.chosen(options).items()
            for variant in self.variants(case, options)
        ]
        alone, again = [each for each in wanted if self.is_alone(each[1])], []
        for each in alone:
            yield (result := self._one(*each, options, keep, 1))
            again += [each] * self._is_repeated(result)
        with ThreadPoolExecutor(options.parallel) as pool:
            running = {
                pool.submit(self._one, *each, options, keep, options.parallel): each for each in wanted if each not in alone
            }
            for ended in as_completed(running):
                yield (result := ended.result())
                again += [running[ended]] * self._is_repeated(result)
        for each in again:
            for _ in range(options.attempts - 1):
                yield (result := self._one(*each, options, keep, 1))
                if not self._is_repeated(result):
                    break

    @staticmethod
    def _is_repeated(result: Result) -> bool:
        return result.disturbed and not result.right and not result.skipped

    def _one(
        self, name: str, case: C, variant: str, number: int, options: argparse.Namespace, keep: Path, parallel: int
    ) -> Result:
        folder = keep / "-".join(filter(None, (name, variant.replace(", ", "-").replace(" ", "-"), str(number))))
        shutil.rmtree(folder, ignore_errors=True)
        skipped, since_s = self.why_not(case, options), monotonic()
        try:
            judged = Judged() if skipped else self.carry_out(case, variant, folder, options)
        except Exception as error:
            judged = Judged(wrong=(f"not carried out: {type(error).__name__}: {error}"[:500],))
        result = Result(
            case=name,
            variant=variant,
            number=number,
            at=datetime.now().astimezone().isoformat(timespec="seconds"),
            commit=commit(),
            seconds=round(monotonic() - since_s, 1),
            parallel=parallel,
            skipped=skipped,
            **msgspec.structs.asdict(judged),
        )
        if result.right:
            shutil.rmtree(folder, ignore_errors=True)
        return result

    def _options(self, argv: Sequence[str] | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(prog=f"python -m lab.trials {self.name}", description=self.about)
        self.add_cases(parser)
        parser.add_argument("--parallel", type=int, default=self.parallel, help="runs at a time")
        parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where sessions of runs that are not right are kept")
        self.add_options(parser)
        options = parser.parse_args(argv)
        if unknown := [name for name in options.names if not self.is_name(name)]:
            parser.error(f"no case {', '.join(unknown)}; expected some of {', '.join(self.cases)}")
        return options

    def add_cases(self, parser: argparse.ArgumentParser) -> None:
        """The options that choose cases and say what is kept of them."""
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(self.cases)}")
        parser.add_argument("--repeats", type=int, default=self.repeats, help="runs of each")
        parser.add_argument(
            "--attempts", type=int, default=self.attempts, help="most runs of one that is disturbed and not right"
        )
        parser.add_argument("--unsaved", action="store_true", help="leave the results and the page as they are")
        parser.add_argument("--page", action="store_true", help="only write the page, from the results that are kept")


class SeedTrial(Trial[C]):
    """A trial whose cases are drawn by seeds; with `--save` a summary replaces lab/results/NAME.json."""

    cases: Mapping[str, C] = {}
    count = 100
    first_seed = 0

    @abstractmethod
    def summary(self, results: Sequence[Result]) -> dict[str, Any]:
        """Counts and figures over all cases."""

    @abstractmethod
    def chosen(self, options: argparse.Namespace) -> Mapping[str, C]: ...

    def add_cases(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--count", type=int, default=self.count, help=f"cases (default {self.count})")
        parser.add_argument("--seed", type=int, default=self.first_seed, help="seed of the first case")
        parser.add_argument("--save", action="store_true", help="keep the summary in lab/results/")
        parser.set_defaults(names=[], repeats=1, attempts=1, unsaved=True, page=False)

    def finish(self, results: Sequence[Result], options: argparse.Namespace, began: Conditions) -> None:
        order = {name: at for at, name in enumerate(self.chosen(options))}
        ordered = sorted(results, key=lambda each: order[each.case])
        failed = [{"case": each.case, "problems": each.problems} for each in ordered if not each.right and not each.skipped]
        found = {"failed": len(failed), "failures": failed} | self.summary(ordered)
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
        if options.save:
            print(save(self.name, {"seed": options.seed, "count": options.count, **found}, began))


def kinds(problems: Mapping[str, object]) -> tuple[str, ...]:
    """The kinds of problems that there are: those whose value is true."""
    return tuple(kind for kind, is_one in problems.items() if is_one)


def seeds(options: argparse.Namespace, step: int = 1) -> Mapping[str, int]:
    """A case for each `step` seeds of a `SeedTrial`."""
    return {str(seed): seed for seed in range(options.seed, options.seed + options.count, step)}


def counted(results: Sequence[Result]) -> str:
    kinds = {
        "right": sum(each.right for each in results),
        "wrong": sum(not (each.right or each.skipped or each.spoilt) for each in results),
        "missing beside busy processes": sum(each.spoilt for each in results),
        "skipped": sum(bool(each.skipped) for each in results),
    }
    return f"{len(results)} runs: {', '.join(f'{count} {kind}' for kind, count in kinds.items() if count or kind == 'right')}"


def commits(results: Sequence[Result]) -> str:
    """The last commits and days of these results."""
    days: dict[str, str] = {}
    for each in sorted(results, key=lambda each: each.at):
        days[each.commit] = each.at[:10]
    last = list(days.items())[-3:]
    return ", ".join(f"{commit} ({day})" for commit, day in last) + (f" and {len(days) - 3} earlier" if len(days) > 3 else "")


def by_group(results: Sequence[Result], group: Callable[[Result], str], title: str) -> str:
    """A table: runs of each group, and how many of them are right."""
    groups: dict[str, list[Result]] = {}
    for each in results:
        groups.setdefault(group(each), []).append(each)
    rows = [
        (name, len({each.case for each in of_it}), len(of_it), sum(each.right for each in of_it),
         sum(bool(each.skipped) for each in of_it))
        for name, of_it in groups.items()
    ]  # fmt: skip
    return table((title, "cases", "runs", "right", "skipped"), rows, "lr")


def not_right(results: Sequence[Result], most: int = 30) -> str:
    left = [each for each in results if not each.right and not each.skipped]
    if not left:
        return "All are right."
    rows = [(each.case, each.variant, each.problems, f"{each.busy_cores:g}", each.commit) for each in left[:most]]
    more = f"\n\nand {len(left) - most} more." * (len(left) > most)
    return table(("case", "variant", "problem", "busy cores of others", "commit"), rows, "lllr") + more


def latest(results: Sequence[Result]) -> list[Result]:
    """The last of each case, variant and number."""
    return list({each.key: each for each in sorted(results, key=lambda each: each.at)}.values())


def rows_of(path: Path, kind: type[R]) -> dict[str, R]:
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: msgspec.convert({"name": name, **fields}, kind) for name, fields in tables.items()}


def append(name: str, record: msgspec.Struct) -> None:
    """Append a line to lab/results/NAME.jsonl."""
    with (RESULTS / f"{name}.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(record) + b"\n")


def load(name: str, kind: type[R]) -> list[R]:
    """All lines of lab/results/NAME.jsonl so far."""
    path = RESULTS / f"{name}.jsonl"
    return [msgspec.json.decode(line, type=kind) for line in path.read_bytes().splitlines()] if path.exists() else []


def shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
