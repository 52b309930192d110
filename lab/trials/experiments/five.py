"""The five reports, repeated: each run headless by one command, its figures and marks kept as a line of results.

`five` takes the reports' own levels (hours), `five-short` plans of about 2 minutes; either rewrites docs/experiments.md.
"""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from capexplorer.load.plan import parse
from capexplorer.model.timeline import Timeline
from capexplorer.profile import load
from capexplorer.report import capacity
from capexplorer.report.listed_findings import findings
from lab.trials.programs import missing
from lab.trials.record import commit

from . import records
from .compared import compared
from .headless import ROOT, Ran, run
from .reports import REPORTS, Repeat

PICTURES = ROOT / "docs" / "pictures" / "experiments"

OVERHEAD_S = 120.0
"""Allowance for the start, the client overhead, spawning and the end."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a level that the page shows."""

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
    workers_cpu_ratio: float | None = None
    others_cpu_ratio: float | None = None
    """None also in results that were saved before this key existed."""
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
    """Ids of the marks at the end; kinds of knee marks, or `no_knee`."""
    found: list[str] = msgspec.field(name="said")
    """Each mark, in words."""
    missing: list[str]
    """Marks that must be there and are not."""
    wrong: list[str]
    """Marks that must not be there and are."""

    @property
    def passed(self) -> bool:
        return not self.missing and not self.wrong


def all_of(folder: Path, *, short: bool, only: Sequence[str] = ()) -> Iterator[Repeated]:
    """Run all repetitions in turn, or those named in `only`; append each to the results as it ends, then compare pairs."""
    for report, reported in REPORTS.items():
        timelines = {}
        for each in reported.repeats:
            if (only and each.name not in only) or (each.needs is not None and missing(each.needs)):
                continue
            plan = each.short if short or each.report is None else each.report
            ran = run(folder / each.name, *each.command(plan), timeout_s=_length_s(each.profile, plan) + OVERHEAD_S)
            timelines[each.name] = ran.timeline
            done = repeated(report, each, plan, ran)
            records.append("five", done)
            yield done
        for pair in reported.compare:
            if all(name in timelines for name in pair):
                records.append("compared", compared(report, {name: timelines[name] for name in pair}))


def repeated(report: str, repeat: Repeat, plan: str, ran: Ran) -> Repeated:
    """The result of a run, with its marks judged; writes the picture of its capacity curve."""
    summary = ran.summary
    drawn = capacity.picture(ran.timeline)
    if drawn is not None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"{repeat.name}.svg").write_bytes(drawn)
    found = ids(summary)
    return Repeated(
        report=report,
        name=repeat.name,
        at=datetime.now().astimezone().isoformat(timespec="seconds"),
        commit=commit(),
        command=f"capexplorer run {shlex.join(repeat.command(plan))} --headless",
        plan=plan,
        exit_code=ran.exit_code,
        verdict=summary["verdict"],
        levels=[level(each, ran.timeline) for each in summary["levels"]],
        marks=sorted(found),
        found=[
            " ".join(filter(None, (each.sentence, each.evidence and f"({each.evidence})"))) for each in findings(ran.timeline)
        ],
        missing=[wanted for wanted in repeat.marks if not found & set(wanted.split("|"))],
        wrong=[unwanted for unwanted in repeat.never if unwanted in found],
    )


def _length_s(profile: str, plan: str) -> float:
    found = load(ROOT / "profiles" / f"{profile}.toml")
    steps = parse(found.plans.get(plan, plan), plan, found.guards.max_users)
    return sum(step.hold_s + 10.0 + 600.0 * (step.kind == "find") for step in steps)


def ids(summary: dict[str, Any]) -> set[str]:
    """Ids of all marks of a summary; of knees, shifts and recoveries their kinds."""
    ids = {knee["kind"] for knee in summary["knees"]} | {shift.get("column", "") for shift in summary["shifts"]}
    ids |= {each["id"] for name in ("causes", "bottlenecks") for each in summary[name]}
    ids |= {"recovered" if each["recovered"] else "not_recovered" for each in summary["recoveries"]}
    return ids | ({"no_knee"} if summary["no_knee_up_to_users"] is not None else set())


def level(found: dict[str, Any], timeline: Timeline) -> Level:
    """A level of a summary, with the CPU of its workers, which only the timeline has."""
    latency = found["latency_ms"]
    figures = {name: found[name] for name in Level.__struct_fields__ if name in found}
    workers = timeline.levels[found["index"]].figures.readings.get("workers.here_cpu_ratio")
    percentiles = {f"{name}_ms": latency[name] for name in ("mean", "p50", "p95", "p99")}
    return Level(**figures, **percentiles, workers_cpu_ratio=workers)


def others_cores(levels: Sequence[Level]) -> float | None:
    """Cores that other processes used: the median over the levels."""
    known = [others for level in levels if (others := _others_cores(level)) is not None]
    return max(0.0, statistics.median(known)) if known else None


def _others_cores(level: Level) -> float | None:
    if level.others_cpu_ratio is not None:
        return level.others_cpu_ratio
    if level.host_cpu_ratio is None or level.generator_cpu_ratio is None or level.target_cpu_ratio is None:
        return None
    return level.host_cpu_ratio - level.generator_cpu_ratio - level.target_cpu_ratio


def generator_cores(level: Level) -> float | None:
    """Cores that the generator and its workers used."""
    return None if level.generator_cpu_ratio is None else level.generator_cpu_ratio + (level.workers_cpu_ratio or 0.0)
