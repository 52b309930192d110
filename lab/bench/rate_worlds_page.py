"""Makes docs/rate-worlds.md from the saved result of `rate_worlds`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from .shares import share

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "lab/trials/results/rate-worlds.json"
PAGE = ROOT / "docs/rate-worlds.md"

DUE = 1.15
"""Multiple of the capacity that a session must reach for the capacity to be due."""

Row = Mapping[str, Any]

HEAD = """\
# Capacities as offered rates, simulated

Written by `python -m lab.bench rate_worlds --page` from [its data](../lab/trials/results/rate-worlds.json); not by hand. Random
simulated services are explored by offered rates in virtual time; levels, detectors and verdicts are the product's
(`lab/simulation/moving_rates.py`). Rules were tuned on other seeds.

- **change**: what happens during the session. In the rows `still` and `ramp` the service does not change; `ramp` is one ramp of
  the rate, all others are levels of rising rates (climbs).
- **false**: the capacity is more than 15% from every true capacity of the session; or a bound ("keeps up", "at or below") is
  wrong by as much. Of services that refuse or time out below their capacity, lower bounds are not compared.
- **capacity found, of due**: a capacity is due if the rates reach 1.15 times the first true capacity. A climb that ends after
  a change that only a return could explain gives no capacity.
- **median error**, **within 10%**, **interval holds it**: of capacities of services that queue.
- **change marked**: a change that no step of load explains was marked.
- **verdicts**: a capacity; `keeps up`: served in full up to a rate; `departs`: goodput may still rise at higher rates, or the
  service may have become slower; `at or below` a rate ([knee.md](knee.md#18-offered-rates)).

"""


def page(found: Mapping[str, Any]) -> str:
    """The page."""
    load = " to ".join(f"{each:g}" for each in found["load_average_1m"])
    run = f"`{found['command']}`, commit {found['commit']}, {found['started_at']}, {found['took_s']} s on {found['cpus']} cores"
    return f"{HEAD}{run}, load average {load}.\n\n{tables(found)}\n"


def tables(found: Mapping[str, Any]) -> str:
    """All tables: sessions of rising rates and ramps, stationary queues, and the list of false verdicts."""
    rows: Sequence[Row] = found["outcomes"]
    groups = list(dict.fromkeys(row["group"] for row in rows if row["group"] != "steady"))
    parts = [_table("change", {group.replace("_", " "): _of(rows, "group", group) for group in groups})]
    for group in ("still", "ramp"):
        chosen = _of(rows, "group", group)
        services = list(dict.fromkeys(row["service"] for row in chosen))
        if chosen:
            parts.append(_table(f"{group}, by service", {name: _of(chosen, "service", name) for name in services}))
    steady = _of(rows, "group", "steady")
    return "\n\n".join([*parts, *([_steady(steady)] if steady else []), _listed(rows)])


def _of(rows: Sequence[Row], key: str, value: str) -> list[Row]:
    return [row for row in rows if row[key] == value]


def _table(title: str, groups: Mapping[str, Sequence[Row]]) -> str:
    lines = [
        f"| {title} | sessions | false | capacity found, of due | median error | within 10% | interval holds it | change marked "
        "| verdicts |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(_cells(rows))} |" for name, rows in groups.items())])


def _cells(rows: Sequence[Row]) -> tuple[str, ...]:
    due = [row for row in rows if row["truths"] and row["most_per_s"] >= DUE * row["truths"][0]]
    found = [row for row in rows if row["kind"] == "capacity" and row["truths"] and row["service"] == "queues"]
    errors = [min(abs(row["per_s"] / truth - 1) for truth in row["truths"]) for row in found]
    verdicts = Counter(row["kind"] or "none" for row in rows)
    return (
        str(len(rows)),
        str(sum(row["false"] for row in rows)),
        f"{sum(row['kind'] == 'capacity' for row in due)} of {len(due)}",
        f"{median(errors):.1%}" if errors else "–",
        share(error <= 0.1 for error in errors),
        share(any(row["low_per_s"] <= truth <= row["high_per_s"] for truth in row["truths"]) for row in found),
        str(sum(row["changed"] for row in rows)),
        ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in verdicts.most_common()),
    )


def _steady(rows: Sequence[Row]) -> str:
    lines = [
        "Stationary queues at one rate for 40 to 240 s, in which nothing changes:",
        "",
        "| rate over capacity | sessions | latency marked as changed | goodput marked as changed | other changes |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, low, high in (("to 0.7", 0.0, 0.7), ("0.7 to 0.85", 0.7, 0.85), ("0.85 to 1", 0.85, 1.0), ("above 1", 1.0, 9.0)):
        chosen = [row for row in rows if low <= row["load"] < high]
        latency = sum(any("latency" in each for each in row["shifts"]) for row in chosen)
        goodput = sum(any("goodput" in each for each in row["shifts"]) for row in chosen)
        other = sum(row["changed"] and not row["shifts"] for row in chosen)
        lines.append(f"| {name} | {len(chosen)} | {latency} | {goodput} | {other} |")
    return "\n".join(lines)


def _listed(rows: Sequence[Row]) -> str:
    wrong = [row for row in rows if row["false"] or (row["changed"] and row["group"] in ("still", "ramp"))]
    listed = "; ".join(map(_in_words, wrong)) or "none"
    return f"False verdicts, and changes marked where nothing changes, with seeds: {listed}."


def _in_words(row: Row) -> str:
    truth = " and ".join(f"{each:.3g}/s" for each in row["truths"])
    kind, per_s = (row["kind"] or "none").replace("_", " "), row["per_s"]
    found = kind if per_s is None else f"{kind} {per_s:.3g}/s"
    return f"{row['group'].replace('_', ' ')} {row['seed']} ({row['service']}, {truth}): {found}{', changed' * row['changed']}"
