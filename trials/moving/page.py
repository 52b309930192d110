"""docs/moving.md, from the results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from trials.record import RESULTS
from trials.reworded import reworded

from .exploration import MovingRun
from .row import Axis
from .rows import ALL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "moving.md"
_RECORDS: dict[Axis, str] = {"users": "moving", "rates": "moving_rates"}

HEAD = """\
# Services that change

Written by `make moving` from `trials/results/moving*.json`; not by hand. Real services
(`trials/moving/targets`) change while plans explore them by user counts and by offered rates. `trials/moving/*_rows.py` say for
each which knees or capacities are true at which time, by arithmetic, what must be marked, and what must never be blamed. A knee
or a capacity is right within 15% of one that the service had in the time that the mark describes. A run is right if its last
marks are. The column "wrong in between" lists wrong knees and capacities that were marked for a while and then retracted.

Plans are in the language of [README.md](../README.md#plans); N* is the true knee. "Busy cores" is the mean use of both cores by
all processes.
"""

COLUMNS = ("row", "client", "run", "at the end", "wrong in between", "the verdict", "busy cores")


def record(axis: Axis, of_workers: bool) -> str:
    """Name of the results of one axis of load, in the run's own process or with worker processes."""
    return f"{_RECORDS[axis]}_workers" if of_workers else _RECORDS[axis]


def write() -> Path:
    """Write the page from the results."""
    recorded = [RESULTS / f"{record(axis, of_workers)}.json" for of_workers in (False, True) for axis in _RECORDS]
    results = [json.loads(path.read_text(encoding="utf-8")) for path in recorded if path.exists()]
    page = "\n".join((HEAD, _rows(), *(part for data in results for part in _results(data))))
    PAGE.write_text(reworded(page), encoding="utf-8")
    return PAGE


def _results(data: dict[str, Any]) -> tuple[str, ...]:
    """One axis of load: how it was measured, the totals, the runs."""
    runs = [msgspec.convert(each, MovingRun) for each in data["runs"]]
    load = " to ".join(f"{each:g}" for each in data["load_average_1m"])
    made = f"`{data['command']}`, commit {data['commit']}, {data['started_at']}, {data['took_s']} s on {data['cpus']} cores,"
    made += f" load average {load}, steal {data['steal_s']} s."
    return (made, "", _totals(runs), "", _runs(runs), "")


def _rows() -> str:
    lines = [_line(("row", "what happens", "true knees (users) or capacities (1/s)", "plan")), "| --- | --- | --- | --- |"]
    for row in ALL.values():
        knees = ", ".join(map(str, row.knees or row.capacities)) or "none may be marked"
        lines.append(_line((row.name, row.what, knees, f"`{row.plan}`")))
    return "\n".join(lines) + "\n"


def _totals(runs: Sequence[MovingRun]) -> str:
    right, clean = sum(not run.wrong for run in runs), sum(not run.once for run in runs)
    return (
        f"Right at the end: {right} of {len(runs)} runs. Without a wrong knee or capacity at any moment: {clean} of {len(runs)}."
    )


def _runs(runs: Sequence[MovingRun]) -> str:
    lines = [_line(COLUMNS), "| --- | --- | ---: | --- | --- | --- | ---: |"]
    return "\n".join(lines + [_line(_cells(run)) for run in runs])


def _cells(run: MovingRun) -> tuple[object, ...]:
    wrong = f"**{'; '.join(run.wrong)}**" if run.wrong else "right"
    busy = "–" if run.host_cpu_ratio is None else f"{run.host_cpu_ratio:.2f}"
    client = f"{run.client}, {run.workers} workers" if run.workers else run.client
    return (run.row, client, run.number, wrong, "; ".join(run.once) or "–", run.verdict.replace("|", "\\|"), busy)


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
