"""docs/moving.md, from the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lab.trials.reworded import reworded

from . import records
from .records import MovingRun
from .row import AXES
from .rows import ALL

PAGE = Path(__file__).resolve().parents[3] / "docs" / "moving.md"
_PARTS = [(of_workers, axis) for of_workers in (False, True) for axis in AXES]

HEAD = """\
# Services that change

Written by `make moving` from `lab/trials/results/moving.jsonl`; not by hand. Real services
(`lab/trials/moving/targets`) change while plans explore them by user counts and by offered rates. `*_rows.py` beside it say for
each which knees or capacities are true at which time, by arithmetic, what must be marked, and what must never be blamed. A knee
or a capacity is right within 15% of one that the service had in the time that the mark describes. A run is right if its last
marks are. The column "wrong in between" lists wrong knees and capacities that were marked for a while and then retracted.

Several runs share the machine, and what is wrong beside others is repeated alone: the last run counts. All runs are in the
results. Plans are in the language of [README.md](../README.md#plans); N* is the true knee. "Busy cores" is the median use of
both cores by all processes, and "at a time" how many runs were carried out together.
"""

COLUMNS = ("row", "client", "run", "at the end", "wrong in between", "the verdict", "busy cores", "at a time", "commit")


def write() -> None:
    """Write the page from the results."""
    order = {name: index for index, name in enumerate(ALL)}
    runs = [run for run in records.latest(records.all_runs()) if run.row in order]
    runs.sort(key=lambda run: (run.workers, order[run.row], run.client, run.number))
    parts = [_part([run for run in runs if (run.workers > 0, ALL[run.row].axis) == part]) for part in _PARTS]
    PAGE.write_text(reworded("\n".join((HEAD, _rows(), *(part for part in parts if part)))), encoding="utf-8")


def _part(runs: Sequence[MovingRun]) -> str:
    """Runs of one axis of load, with or without worker processes: totals and a table; empty without any."""
    if not runs:
        return ""
    of_workers = ", load of worker processes" if runs[0].workers else ""
    title = f"## {ALL[runs[0].row].axis.capitalize()}{of_workers}"
    return "\n".join((title, "", _totals(runs), "", _runs(runs), ""))


def _rows() -> str:
    lines = [_line(("row", "what happens", "true knees (users) or capacities (1/s)", "plan")), "| --- | --- | --- | --- |"]
    for row in ALL.values():
        knees = ", ".join(map(str, row.knees or row.capacities)) or "none may be marked"
        lines.append(_line((row.name, row.what, knees, f"`{row.plan}`")))
    return "\n".join(lines) + "\n"


def _totals(runs: Sequence[MovingRun]) -> str:
    right, clean = sum(run.right for run in runs), sum(not run.once for run in runs)
    commits = ", ".join(dict.fromkeys(run.commit for run in sorted(runs, key=lambda run: run.at)))
    return (
        f"Right at the end: {right} of {len(runs)} runs. Without a wrong knee or capacity at any moment: {clean} of {len(runs)}. "
        f"Commits: {commits}."
    )


def _runs(runs: Sequence[MovingRun]) -> str:
    lines = [_line(COLUMNS), "| --- | --- | ---: | --- | --- | --- | ---: | ---: | --- |"]
    return "\n".join(lines + [_line(_cells(run)) for run in runs])


def _cells(run: MovingRun) -> tuple[object, ...]:
    wrong = "right" if run.right else f"**{'; '.join(run.wrong)}**"
    busy = "–" if run.host_cpu_ratio is None else f"{run.host_cpu_ratio:.2f}"
    client = f"{run.client}, {run.workers} workers" if run.workers else run.client
    verdict = run.verdict.replace("|", "\\|")
    commit = f"{run.commit}, {run.at[:10]}"
    return (
        run.row,
        client,
        run.number,
        wrong,
        "; ".join(run.once) or "–",
        verdict,
        busy,
        run.parallel,
        commit,
    )


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
