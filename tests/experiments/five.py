"""The five reports, repeated: each run headless by one command, its figures and marks kept as a line of results.

`five` takes the reports' own levels (hours), `five-short` the coffee-break plans; either rewrites docs/experiments.md.
"""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from capexplorer.load.plan import parse
from capexplorer.profile import load
from capexplorer.report import capacity
from capexplorer.report.findings import findings

from . import knees, records
from .headless import ROOT, run
from .reports import REPORTS, Repeat

PICTURES = ROOT / "docs" / "pictures" / "experiments"

OVERHEAD_S = 120.0
"""Start, floors, spawning, the end."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows of a level."""

    users: float
    by: str
    kind: str
    requests: int | None
    failures: int | None
    throughput_rps: float | None
    goodput_rps: float | None
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    target_cpu_ratio: float | None
    generator_cpu_ratio: float | None
    host_cpu_ratio: float | None
    received_bytes_per_s: float | None
    open_sockets: float | None
    busiest: str | None = None


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one of the five."""

    report: str
    name: str
    at: str
    commit: str
    command: str
    plan: str
    exit_code: int | None
    verdict: str
    levels: list[Level]
    marks: list[str]
    """Ids, as marked in the end; and kinds of knees, `no_knee`."""
    said: list[str]
    """Each mark, in words."""
    missing: list[str]
    """Marks that must be there and are not."""
    wrong: list[str]
    """Marks that must not be there and are."""

    @property
    def passed(self) -> bool:
        return not self.missing and not self.wrong


def repeat(report: str, each: Repeat, folder: Path, *, short: bool) -> Repeated:
    """Run it, keep its picture, judge its marks."""
    plan = each.short if short or each.report is None else each.report
    arguments = each.command(plan)
    ran = run(folder / each.name, *arguments, timeout_s=_length_s(each.profile, plan) + OVERHEAD_S)
    summary = ran.summary
    drawn = capacity.picture(ran.timeline)
    if drawn is not None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"{each.name}.svg").write_bytes(drawn)
    found = ids(summary)
    quoted = (f'"{part}"' if " " in part or "," in part else part for part in arguments)
    return Repeated(
        report=report,
        name=each.name,
        at=datetime.now().astimezone().isoformat(timespec="seconds"),
        commit=knees.commit(),
        command=f"capexplorer run {' '.join(quoted)} --headless",
        plan=plan,
        exit_code=ran.exit_code,
        verdict=summary["verdict"],
        levels=[_level(level) for level in summary["levels"]],
        marks=sorted(found),
        said=[" ".join(filter(None, (found.said, found.evidence and f"({found.evidence})"))) for found in findings(ran.timeline)],
        missing=[wanted for wanted in each.marks if not found & set(wanted.split("|"))],
        wrong=[unwanted for unwanted in each.never if unwanted in found],
    )


def all_of(folder: Path, *, short: bool, names: tuple[str, ...] = ()) -> list[Repeated]:
    """One after the other, each appended to the results as it ends. `names`: of repeats; none: all."""
    done = []
    for report, each in ((name, each) for name, told in REPORTS.items() for each in told.repeats):
        if (names and each.name not in names) or (each.needs is not None and missing(each.needs)):
            continue
        done.append(repeat(report, each, folder, short=short))
        records.append("five", done[-1])
    return done


def missing(program: str) -> bool:
    """Whether it is neither on the path nor where Debian keeps it."""
    places = ("/usr/sbin", "/usr/local/sbin", "/usr/local/go/bin")
    return shutil.which(program) is None and not any((Path(place) / program).exists() for place in places)


def _length_s(profile: str, plan: str) -> float:
    found = load(ROOT / "profiles" / f"{profile}.toml")
    steps = parse(found.plans.get(plan, plan), plan, found.guards.max_users)
    return sum(step.hold_s + 10.0 + 600.0 * (step.kind == "find") for step in steps)


def ids(summary: dict[str, Any]) -> set[str]:
    ids = {knee["kind"] for knee in summary["knees"]} | {shift.get("column", "") for shift in summary["shifts"]}
    ids |= {each["id"] for name in ("causes", "bottlenecks") for each in summary[name]}
    ids |= {"recovered" if each["recovered"] else "not_recovered" for each in summary["recoveries"]}
    return ids | ({"no_knee"} if summary["no_knee_up_to_users"] is not None else set())


def _level(level: dict[str, Any]) -> Level:
    latency = level["latency_ms"]
    names = [name for name in Level.__struct_fields__ if name in level]
    figures = {name: level[name] for name in names}
    return Level(**figures, mean_ms=latency["mean"], p50_ms=latency["p50"], p95_ms=latency["p95"], p99_ms=latency["p99"])
