"""Makes docs/bench.md from the saved data of `clients`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "lab/bench/results/clients.json"
PAGE = ROOT / "docs/bench.md"

Row = Mapping[str, Any]

GOALS = (("lean", "fast", 3.0), ("lean", "k6", 1.5))
"""(generator, another one, least ratio of their requests per CPU second)."""
P50_GOAL_MS = 0.2
"""Largest difference between the lean client's p50 and wrk's at the equal rate."""

HEAD = """\
# Load generators, side by side

Made by `python -m lab.bench clients --page` from [its data](../lab/bench/results/clients.json). The generators take turns, in
{rounds} rounds, with one nginx on the same machine and {users} users or connections: first as fast as they can, then at an equal
rate of {rate} requests per second (users who wait 0.1 s between requests; wrk with a delay; oha with `-q`). Figures are
medians of the rounds, with minimum and maximum in brackets.

nginx counts the requests, and CPU is that of the generator's whole process tree, over the same {seconds:.0f} seconds in the
middle of each run. `lean`, `fast` and `requests` are the clients of `capexplorer run --headless`, including all that it records;
Locust is plain `locust --headless`. Latency is as each tool reports it.

Requests per CPU second are the rate at which a generator would use one whole core. Measured on {cpus} cores at commit {commit},
{at}; other programs kept {others:.1f} cores busy (median), so latency is that of a busy machine: compare within this table only.

"""


def line(row: Row) -> str:
    """One run as a line for the terminal."""
    how = "at the equal rate" if row["at_rate"] else "as fast as it can"
    per_cpu = row["requests"] / max(row["cpu_s"], 0.01)
    latency = f"p50 {row['p50_ms']:7.3f} p99 {row['p99_ms']:8.3f} ms, " if row["at_rate"] else ""
    return (
        f"{row['round']} {row['tool']:22} {how:18} {row['requests'] / row['seconds']:8.0f}/s {per_cpu:8.0f} per CPU second, "
        f"{latency}others {row['others_cores']:.1f} cores"
    )


def table(found: Mapping[str, Any]) -> str:
    """The table in Markdown, and the goals below it."""
    lines = [
        "| generator | requests per CPU second | requests/s, as fast as it can | p50 ms at the equal rate | p99 ms | version |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for tool in found["versions"]:
        fast, even = _rows(found, tool, False), _rows(found, tool, True)
        cells = [
            _spread([each["requests"] / each["cpu_s"] for each in fast], ",.0f"),
            f"{median(each['requests'] / each['seconds'] for each in fast):,.0f}",
            _spread([each["p50_ms"] for each in even], ".2f"),
            _spread([each["p99_ms"] for each in even], ".1f"),
            found["versions"][tool],
        ]
        lines.append(f"| {tool} | {' | '.join(cells)} |")
    return "\n".join((*lines, "", *_goals(found)))


def _goals(found: Mapping[str, Any]) -> list[str]:
    lines = ["| what | goal | found |", "| --- | --- | --- |"]
    for tool, other, least in GOALS:
        if other in found["versions"]:
            ratios = [first / second for first, second in zip(_per_cpu(found, tool), _per_cpu(found, other), strict=True)]
            what = f"{tool} over {other}, requests per CPU second, ratio in each round"
            lines.append(f"| {what} | at least {least:g} | {_spread(ratios, '.2f')} |")
    if "wrk" in found["versions"]:
        pairs = zip(_rows(found, "lean", True), _rows(found, "wrk", True), strict=True)
        differences = [lean["p50_ms"] - wrk["p50_ms"] for lean, wrk in pairs]
        lines.append(f"| lean's p50 less wrk's, ms | at most {P50_GOAL_MS} | {_spread(differences, '.2f')} |")
    return lines


def _rows(found: Mapping[str, Any], tool: str, at_rate: bool) -> list[Row]:
    return [row for row in found["rows"] if row["tool"] == tool and row["at_rate"] == at_rate]


def _per_cpu(found: Mapping[str, Any], tool: str) -> list[float]:
    return [row["requests"] / row["cpu_s"] for row in _rows(found, tool, False)]


def _spread(values: Sequence[float], form: str) -> str:
    return f"**{median(values):{form}}** ({min(values):{form}}–{max(values):{form}})"


def page(found: Mapping[str, Any]) -> str:
    """The whole page."""
    rows = found["rows"]
    head = HEAD.format(
        rounds=max(row["round"] for row in rows),
        seconds=median(row["seconds"] for row in rows),
        others=median(row["others_cores"] for row in rows),
        **{name: found[name] for name in ("users", "rate", "cpus", "commit", "at")},
    )
    return head + table(found) + "\n"


def keep(found: Mapping[str, Any]) -> None:
    """Save the data, and write the page."""
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write()


def write() -> None:
    """Write the page from the saved data."""
    PAGE.write_text(page(json.loads(DATA.read_text())), encoding="utf-8")


if __name__ == "__main__":
    write()
