"""Saves a trial's result as JSON in lab/results/, with the commit, the date, and the load and steal of the machine."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psutil

RESULTS = Path(__file__).parents[1] / "results"


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    commit: str
    """The measured commit, with `+changes` if the work tree had any."""
    started_at: str
    cpus: int
    load_average_1m: float
    steal_s: float
    """CPU time that the hypervisor took, since boot."""

    @classmethod
    def now(cls) -> Conditions:
        return cls(
            commit=commit(),
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            cpus=os.cpu_count() or 1,
            load_average_1m=round(os.getloadavg()[0], 2),
            steal_s=_steal_s(),
        )


def save(name: str, result: dict[str, Any], began: Conditions) -> Path:
    """Write `NAME.json`; returns its path. `load_average_1m` has the values at the begin and now, `steal_s` is the time
    between."""
    ended = datetime.now(UTC)
    took_s = (ended - datetime.fromisoformat(began.started_at)).total_seconds()
    whole = {
        "commit": began.commit,
        "started_at": began.started_at,
        "took_s": round(took_s),
        "cpus": began.cpus,
        "load_average_1m": [began.load_average_1m, round(os.getloadavg()[0], 2)],
        "steal_s": round(_steal_s() - began.steal_s, 1),
        **result,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n")
    return path


def commit() -> str:
    """The commit that is measured, with `+changes` if files differ from it; results and pages, which runs write, do not count."""
    root = Path(__file__).parents[2]
    measured = [".", ":(exclude)docs", ":(exclude)CHANGELOG.md", ":(exclude)**/results/**"]
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    status = ["git", "status", "--porcelain", "--untracked-files=no", "--", *measured]
    changed = subprocess.run(status, cwd=root, capture_output=True, text=True, check=True)
    return head.stdout.strip() + ("+changes" if changed.stdout.strip() else "")


def _steal_s() -> float:
    return float(getattr(psutil.cpu_times(), "steal", 0.0))
