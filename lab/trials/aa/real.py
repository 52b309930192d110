"""Short runs of real services, below and above saturation. Services alternate, so that a change of the machine affects all
alike."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from capexplorer.commands.compare import opened
from capexplorer.report.compare import Session
from lab.trials.experiments.headless import run
from lab.trials.experiments.systems import PROFILES

LONGEST_S = 150


@dataclass(frozen=True, slots=True)
class Service:
    """One service of the real runs."""

    name: str
    profile: str
    plan: str


SERVICES = (
    Service("sleepers", "sleepers", "10:11s,40:11s,70:11s"),
    Service("mixed", "mixed", "10:13s,60:13s,120:13s"),
    Service("kv-fast", "kv-fast", "25:12s,100:12s"),
    Service("kv-go", "kv-go", "10:11s,60:11s"),
    Service("two-workers", str(PROFILES / "two-workers.toml"), "5:11s,10:11s,20:11s"),
)


def record(folder: Path, repeats: int) -> None:
    """Run each service once a round; a run whose session exists already is not repeated."""
    for number in range(1, repeats + 1):
        for service in SERVICES:
            own = folder / service.name / str(number)
            if not list(own.glob("*.jsonl")):
                run(own, service.profile, "--plan", service.plan, timeout_s=LONGEST_S)


def comparable(folder: Path) -> list[Session]:
    """The runs of one service, in order."""
    return [opened(str(path), folder) for path in sorted(folder.glob("*/*.jsonl"))]


def conditions(folders: Sequence[Path]) -> dict[str, object]:
    """When and by which version the runs were recorded, and the machine's load average: the median over all seconds."""
    timelines = [session.timeline for folder in folders for session in comparable(folder)]
    headers = [timeline.header for timeline in timelines if timeline.header is not None]
    load = [value for timeline in timelines for value in timeline.columns["load_average_1m"] if not math.isnan(value)]
    return {
        "recorded_from": min(header.started_at for header in headers),
        "recorded_to": max(header.started_at for header in headers),
        "recorded_by": sorted({header.versions.get("capexplorer", "") for header in headers}),
        "recorded_load_average_1m": round(statistics.median(load), 2) if load else None,
    }
