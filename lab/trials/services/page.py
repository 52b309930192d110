"""docs/services.md, from the results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from lab.trials.record import RESULTS

from .exploration import ServiceRun
from .known import SERVICES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "services.md"
DATA = RESULTS / "services.json"

HEAD = """\
# Ten services of known capacity

Written by `make services` from `lab/trials/results/services.json`; not by hand. Each service (`lab/trials/services/targets/pool`)
works on at most k requests at a time, each for s; the table says what the others wait for. Users think for Z on average, so
the knee is at N* = k/s x (s + Z). The autopilot explores each service in real time. No threshold was tuned on these services;
the correction for think times (`docs/knee.md`, section 3) was made after recordings of them showed that it was needed, and its
first form was replaced because of what they showed. All runs are listed, misses included.
"""

SERVICE_COLUMNS = ("service", "k requests wait for", "k", "s", "Z", "k/s", "N*")

MEANS = {
    "node": "a semaphore in JavaScript",
    "go": "a channel of tokens",
    "java": "a pool of threads",
    "uvicorn": "an asyncio semaphore",
    "gunicorn": "worker processes, in the accept queue",
    "postgresql-pool": "connections to PostgreSQL",
    "postgresql-row": "a lock on one row in PostgreSQL",
    "redis": "tokens in a list of Redis",
    "nginx": "`limit_req`, which delays",
    "haproxy": "`maxconn` of the proxy before a service",
}

COLUMNS = ("service", "run", "knee", "interval", "error", "capacity", "error", "confidence", "blamed", "s", "load", "busy cores")


def write() -> Path:
    """Write the page from the results."""
    data: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    rows = [msgspec.convert(each, ServiceRun) for each in data["runs"]]
    load = " to ".join(f"{each:g}" for each in data["load_average_1m"])
    made = f"`{data['command']}`, commit {data['commit']}, {data['started_at']}, {data['took_s']} s on {data['cpus']} cores,"
    made += f" load average {load}, steal {data['steal_s']} s."
    PAGE.write_text("\n".join((HEAD, _services(), made, "", *_totals(rows), "", _runs(rows), "")), encoding="utf-8")
    return PAGE


def _services() -> str:
    lines = [_line(SERVICE_COLUMNS), "| --- | --- |" + " ---: |" * 5]
    for each in SERVICES:
        times = (f"{each.sleep_s:g} s", f"{each.think_s:g} s")
        truth = (f"{each.capacity_rps:.4g}/s", f"{each.knee_users:.3g}")
        lines.append(_line((each.name, MEANS[each.name], each.workers, *times, *truth)))
    return "\n".join(lines) + "\n"


def _totals(rows: Sequence[ServiceRun]) -> list[str]:
    near, holds = sum(row.near for row in rows), sum(row.holds for row in rows)
    wrong = sum(bool(row.wrongly_blamed) for row in rows)
    repeats = [_agree(list(group)) for _, group in groupby(rows, key=lambda row: row.service)]
    lines = [
        f"- Knee and capacity within 10%: {near} of {len(rows)} runs.",
        f"- Intervals that contain N*: {holds} of {len(rows)}.",
        f"- Runs in which something was wrongly blamed: {wrong} of {len(rows)}.",
    ]
    if max(row.number for row in rows) > 1:
        lines.append(f"- Services whose repeated knees are in each other's intervals: {sum(repeats)} of {len(repeats)}.")
    return lines


def _agree(rows: Sequence[ServiceRun]) -> bool:
    return all(
        one.users is not None and other.users_low is not None and other.users_high is not None
        and other.users_low <= one.users <= other.users_high
        for one in rows
        for other in rows
    )  # fmt: skip


def _runs(rows: Sequence[ServiceRun]) -> str:
    lines = [_line(COLUMNS), "| --- |" + " ---: |" * 6 + " --- | --- |" + " ---: |" * 3]
    return "\n".join(lines + [_line(_cells(row)) for row in rows])


def _cells(row: ServiceRun) -> tuple[object, ...]:
    if row.users is None or row.capacity_rps is None:
        found: tuple[object, ...] = ("**none**", "–", "–", "–", "–", "–")
    else:
        found = (
            f"{row.users:.1f}",
            f"{row.users_low:.1f}–{row.users_high:.1f}" if row.holds else f"**{row.users_low:.1f}–{row.users_high:.1f}**",
            _error(row.users, row.true_users),
            f"{row.capacity_rps:.4g}/s",
            _error(row.capacity_rps, row.true_rps),
            row.confidence or "–",
        )
    blamed = ", ".join(f"**{each}**" if each in row.wrongly_blamed else each for each in row.blamed) or "–"
    return (row.service, row.number, *found, blamed, f"{row.seconds:.0f}", _number(row.load_average), _number(row.host_cpu_ratio))


def _error(value: float, truth: float) -> str:
    error = value / truth - 1
    return f"{error:+.1%}" if abs(error) <= 0.10 else f"**{error:+.1%}**"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
