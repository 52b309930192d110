"""Offered rates on real services that are M/M/1, M/D/1 and M/M/4 queues: waiting times divided by theory, and capacities.

A mean waiting time is the mean time from plan, less the mean service time and less what client and timers add, which requests
without a queue (/idle) show in a run of their own. Theory is Erlang's C, for constant service times Pollaczek and Khinchine.
The waiting times of successive requests are correlated: at 85% of the capacity 80,000 arrivals give the mean to 5%.

    SHARE=0.05 python -m benchmarks rate_queues        # a short form: a twentieth of the seconds
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from capexplorer.model.events import LevelClosed
from capexplorer.model.rate_verdicts import RateVerdict
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import read
from trials.simulation.queues import System
from trials.simulation.rate_ladder import theory_wait_s

from . import rig

SHARE = float(os.environ.get("SHARE", "1"))
CAPACITY_PER_S = 200.0
KINDS = {
    "M/M/1": System(1 / CAPACITY_PER_S, 0),
    "M/D/1": System(1 / CAPACITY_PER_S, 0, service_spread="constant"),
    "M/M/4": System(4 / CAPACITY_PER_S, 0, servers=4),
}
LOADS = {0.5: 140.0, 0.7: 200.0, 0.85: 500.0}
"""Seconds by the share of the capacity that is offered."""
CLIMB = ", ".join(f"rate {share * CAPACITY_PER_S:g}/s 20s" for share in (0.2, 0.4, 0.6, 0.8, 1.2, 1.4, 1.6))
GOAL_WAIT, GOAL_CAPACITY = 0.1, 0.05


def main() -> None:
    print(
        f"waiting time over theory (goal: within {GOAL_WAIT:.0%}); capacity over {CAPACITY_PER_S:g}/s (goal: {GOAL_CAPACITY:.0%})"
    )
    with ThreadPoolExecutor(len(KINDS)) as pool:
        for row in pool.map(_measured, KINDS):
            print(row, flush=True)


def _measured(kind: str) -> str:
    """The row of one service, from three runs."""
    port = rig.free_port()
    with rig.running([sys.executable, "-m", "benchmarks.queue_server", str(port), kind, str(CAPACITY_PER_S)], port):
        added_s = _means_s(port, "/idle", f"rate {CAPACITY_PER_S / 2:g}/s 20s")[0] - KINDS[kind].service_s
        plan = ", ".join(f"rate {load * CAPACITY_PER_S:g}/s {max(SHARE * seconds, 12):.0f}s" for load, seconds in LOADS.items())
        means_s = _means_s(port, "/", plan)
        verdict = _verdict(port)
    ratios = [
        (mean_s - KINDS[kind].service_s - added_s) / theory_wait_s(load, KINDS[kind])
        for load, mean_s in zip(LOADS, means_s, strict=True)
    ]
    waits = ", ".join(f"{load:.0%} {ratio:.3f}" for load, ratio in zip(LOADS, ratios, strict=True))
    return f"{kind}: {waits}; client and timers {1000 * added_s:.2f} ms; {_capacity(verdict)}"


def _means_s(port: int, path: str, plan: str) -> list[float]:
    """The mean time from plan of each level."""
    with tempfile.TemporaryDirectory() as folder:
        closed = [event for event in read(_run(Path(folder), port, path, plan)) if isinstance(event, LevelClosed)]
    figures = [event.figures.offered for event in closed if event.figures.offered is not None]
    assert all(each.from_plan_ms.mean for each in figures)
    assert not any(each.dropped.total for each in figures)
    return [(each.from_plan_ms.mean or 0.0) / 1000 for each in figures]


def _verdict(port: int) -> RateVerdict | None:
    with tempfile.TemporaryDirectory() as folder:
        verdict = Timeline(list(read(_run(Path(folder), port, "/", CLIMB)))).verdict
    return verdict.rates if verdict is not None else None


def _capacity(verdict: RateVerdict | None) -> str:
    capacity = verdict.capacity if verdict is not None else None
    if capacity is None or capacity.kind != "capacity":
        return "no capacity found"
    low, high = capacity.low_per_s or 0.0, capacity.high_per_s or 0.0
    holds = "holds" if low <= CAPACITY_PER_S <= high else "misses"
    return f"capacity {capacity.per_s / CAPACITY_PER_S:.3f}, its interval [{low:.0f}-{high:.0f}] {holds} it"


def _run(folder: Path, port: int, path: str, plan: str) -> Path:
    """The log of a run with this plan."""
    profile = folder / "bench.toml"
    profile.write_text(rig.PROFILE.format(url=f"http://127.0.0.1:{port}", users=1, wait_s=0, client="fast", path=path))
    command = [str(rig.BIN / "capexplorer"), "--sessions-dir", str(folder), "run", str(profile), "--headless", "--plan", plan]
    subprocess.run(command, check=True, capture_output=True, timeout=1200)
    return next(folder.glob("*.jsonl"))
