"""Live evidence for knees and verdicts: real processes, explored in real time (`make experiments`).

All take an hour, and the hours of `five`. pytest runs only a short one (`tests/lab/test_one_experiment.py`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from capexplorer.model.timeline import Timeline
from lab.kit.programs import missing
from lab.kit.record import Conditions
from lab.kit.tables import filled, number, table
from lab.trial import Judged, Result, Trial, append, commits, counted, latest

from . import known
from .reports import REPORTS, TARGETS, Repeat, compared, repeated, twice

RUNS = 10
"""Autopilot runs on each known system."""
SHORT = "five-short"
"""Runs only if it is named, since `five` contains it."""


@dataclass(frozen=True, slots=True)
class Experiment:
    group: str
    carry_out: Callable[[Path], Judged]
    needs: str = ""


KNOWN = (
    {f"capacity {each.name}": Experiment("capacity", partial(known.capacity, each)) for each in known.SYSTEMS}
    | {"ladder": Experiment("ladder", known.ladder), "held": Experiment("held", known.held, "taskset")}
    | {
        f"knees {each.name} {run}": Experiment("knees", partial(known.knee, each))
        for run in range(1, RUNS + 1)
        for each in known.SYSTEMS
    }
    | {f"thinking {name}": Experiment("thinking", partial(known.thinking, name)) for name in ("thinkers", "silent")}
)


class Experiments(Trial[Experiment]):
    """All experiments by name: a group and, if it has several, the run."""

    name = "experiments"
    about = "Experiments in real time: services of known capacity, and five published load tests."
    parallel = 3
    attempts = 1

    def __init__(self) -> None:
        self._timelines: dict[str, Timeline] = {}
        five = {
            f"{group} {repeat.name}": Experiment(group, partial(self._repeated, repeat, group == SHORT), repeat.needs)
            for group in ("five", SHORT)
            for report in REPORTS.values()
            for repeat in report.repeats
        }
        at_twice = {f"twice {each.name}": Experiment("twice", partial(twice, each), each.needs) for each in TARGETS}
        self.cases = KNOWN | five | at_twice
        self.groups = tuple(dict.fromkeys(each.group for each in self.cases.values()))

    def _repeated(self, repeat: Repeat, short: bool, folder: Path) -> Judged:
        judged, self._timelines[repeat.name] = repeated(repeat, folder, short=short)
        return judged

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--only", action="append", default=[], metavar="RUN", help="only runs of this name; may be repeated")

    def chosen(self, options: argparse.Namespace) -> Mapping[str, Experiment]:
        names = options.names or [group for group in self.groups if group != SHORT]
        return {
            name: case
            for name, case in self.cases.items()
            if (case.group in names or name in names) and (not options.only or name.partition(" ")[2] in options.only)
        }

    def is_name(self, name: str) -> bool:
        return name in self.cases or name in self.groups

    def is_alone(self, case: Experiment) -> bool:
        return case.group not in ("knees", "thinking")

    def why_not(self, case: Experiment, options: argparse.Namespace) -> str:
        return missing(case.needs) if case.needs else ""

    def carry_out(self, case: Experiment, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        return case.carry_out(folder)

    def finish(self, results: Sequence[Result], options: argparse.Namespace, began: Conditions) -> None:
        """Compare the pairs of runs that the reports name."""
        for a, b in (pair for report in REPORTS.values() for pair in report.compare):
            if a in self._timelines and b in self._timelines:
                figures = compared(self._timelines[a], self._timelines[b])
                result = Result(case=f"compared {a} {b}", at=began.started_at, commit=began.commit, figures=figures)
                print(self.line(result))
                if not options.unsaved:
                    append(self.name, result)

    def write_page(self) -> None:
        self.page_path.write_text(page_of(latest(self.kept())), encoding="utf-8")


def page_of(results: Sequence[Result]) -> str:
    """docs/experiments.md."""
    newest = {
        each.case.partition(" ")[2]: each for each in sorted(results, key=lambda each: each.at) if each.case.startswith("five")
    }
    parts = []
    for report in REPORTS.values():
        rows = [_five_row(newest[each.name]) for each in report.repeats if each.name in newest]
        head = ("run", "users", "goodput/s", "knee", "marked")
        parts += [f"## {report.title}", f"**Its author:** {report.concluded}", table(head, rows)]
    rows = [_twice_row(each) for each in results if each.case.startswith("twice")]
    at_twice_found = table(("target", "knee", "goodput/s", "marked"), rows)
    return filled("experiments", reports="\n\n".join(parts), twice=at_twice_found, **_known(results))


def _five_row(found: Result) -> tuple[str, ...]:
    name, levels = found.case.partition(" ")[2], found.figures.get("levels", [])
    users = f"{levels[0]['users']:g}–{max(each['users'] for each in levels):g}" if levels else "–"
    best = max((each.get("goodput_rps") or 0.0 for each in levels), default=0.0)
    marked = [each for each in found.figures.get("marked", ()) if each not in ("knee", "latency_knee", "not_saturated")]
    return (name, users, f"{best:.3g}", number(found.figures.get("users"), ".3g"), _marked(found, marked))


def _twice_row(found: Result) -> tuple[str, ...]:
    rates = ", ".join(number(each.get("goodput_rps"), ".3g") for each in found.figures.get("levels", ()))
    knee = number(found.figures.get("knee_users"), ".3g")
    return (found.case.partition(" ")[2], knee, rates, _marked(found, found.figures.get("marked", ())))


def _marked(found: Result, marked: Iterable[str]) -> str:
    return " ".join(marked) + ("" if found.right else f" **{found.problems}**")


def _known(results: Sequence[Result]) -> Mapping[str, str]:
    head = ("service", "k", "s", "Z", "k/s", "N*", "runs", "knees found", "right")
    rows = [
        (each.name, each.workers, f"{each.sleep_s:g} s", f"{each.think_s:g} s, {each.waits}", f"{each.capacity_rps:g}/s",
         f"{each.knee_users:g}", *_totals([one for one in results if one.case.startswith(f"knees {each.name} ")]))
        for each in known.SYSTEMS
    ]  # fmt: skip
    runs = [each for each in results if each.case.startswith("knees")]
    return {"services": table(head, rows, "lrrlrr"), "totals": f"{counted(runs)}. Commits: {commits(runs)}."}


def _totals(runs: Sequence[Result]) -> tuple[str, ...]:
    users = [each.figures["users"] for each in runs if each.figures.get("users") is not None]
    found = f"{min(users):.1f}–{max(users):.1f}, median {median(users):.1f}" if users else "–"
    return (str(len(runs)), found, str(sum(each.right for each in runs)))
