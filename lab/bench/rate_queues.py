"""Offered rates on real services that are M/M/1, M/D/1 and M/M/4 queues: waiting times compared with theory, and capacities.

A mean waiting time is the mean time from plan of a level, less the mean service time and less what client and timers add, which
requests without a queue (/idle) show at the same rate. It is compared with the mean of the waiting times that the server computed
for the requests that it got, and that mean with theory: Erlang's C, for constant service times Pollaczek and Khinchine. The
second comparison has the error of a sample of correlated waiting times, which is printed: 16% for 7,650 arrivals at 85% of the
capacity of M/M/1.

    SHARE=0.1 python -m lab.bench rate_queues             # a short form: a tenth of the seconds, at least 12
    KINDS=M/M/4 SHARE=6 python -m lab.bench rate_queues   # one queue, with six times the arrivals
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import urlopen

from capexplorer.model.events import LevelClosed
from capexplorer.model.rate_verdicts import RateVerdict
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import read
from lab.simulation.queues import System
from lab.simulation.rate_ladder import theory_wait_s

from . import rig

SHARE = float(os.environ.get("SHARE", "1"))
CAPACITY_PER_S = 100.0
KINDS = {
    "M/M/1": System(1 / CAPACITY_PER_S, 0),
    "M/D/1": System(1 / CAPACITY_PER_S, 0, service_spread="constant"),
    "M/M/4": System(4 / CAPACITY_PER_S, 0, servers=4),
}
CHOSEN = os.environ.get("KINDS", " ".join(KINDS)).split()
LOADS = {0.5: 40.0, 0.7: 60.0, 0.85: 90.0}
"""Seconds by the share of the capacity that is offered."""
CLIMB = ", ".join(f"rate {share * CAPACITY_PER_S:g}/s 15s" for share in (0.2, 0.4, 0.6, 0.8, 1.2, 1.4, 1.6))
GOAL_WAIT, GOAL_CAPACITY = 0.1, 0.05


def main() -> None:
    print(f"goals: waiting time within {GOAL_WAIT:.0%} of the queue's own and of theory, capacity within {GOAL_CAPACITY:.0%}")
    for kind in CHOSEN:
        port = rig.free_port()
        with rig.running([sys.executable, "-m", "lab.bench.queue_server", str(port), kind, str(CAPACITY_PER_S)], port):
            for load, seconds in LOADS.items():
                print(f"{kind} at {load:.0%}: {_waiting(port, KINDS[kind], load, max(SHARE * seconds, 12.0))}", flush=True)
            print(f"{kind}: {_capacity(_verdict(port))}", flush=True)


def _waiting(port: int, system: System, load: float, seconds: float) -> str:
    """The waiting time of one level, over that of the queue itself and over theory."""
    per_s = load * CAPACITY_PER_S
    added_s = _mean_s(port, "/idle", f"rate {per_s:g}/s 12s") - system.service_s
    _server_wait(port)
    waited_s = _mean_s(port, "/", f"rate {per_s:g}/s {seconds:.0f}s") - system.service_s - added_s
    arrivals, computed_s = _server_wait(port)
    theory_s = theory_wait_s(load, system)
    return (
        f"{waited_s / computed_s:.3f} of the queue's own mean; that is {computed_s / theory_s:.2f} of theory "
        f"(standard error {_theory_error(load, arrivals):.2f}, {arrivals:,} arrivals); "
        f"client and timers add {1000 * added_s:.2f} ms"
    )


def _theory_error(load: float, arrivals: int) -> float:
    """Relative standard error of the mean of the waiting times of M/M/1 (Daley 1968); those of the other queues vary less."""
    variance = load * (2 + 5 * load - 4 * load**2 + load**3) / (1 - load) ** 4
    return math.sqrt(variance / arrivals) / (load / (1 - load))


def _server_wait(port: int) -> tuple[int, float]:
    """(arrivals, their mean waiting time) since the last call; (0, 0.0) without arrivals."""
    with urlopen(f"http://127.0.0.1:{port}/waits", timeout=10) as reply:
        found = json.load(reply)
    return found["arrivals"], found["waits_s"] / max(found["arrivals"], 1)


def _mean_s(port: int, path: str, plan: str) -> float:
    """The mean time from plan of a level; weighted by iterations if the level was split."""
    with tempfile.TemporaryDirectory() as folder:
        closed = [event for event in read(_run(Path(folder), port, path, plan)) if isinstance(event, LevelClosed)]
    figures = [event.figures.offered for event in closed if event.figures.offered is not None]
    assert not any(each.dropped.total for each in figures), "iterations were dropped"
    return (
        sum((each.from_plan_ms.mean or 0.0) * each.finished for each in figures) / sum(each.finished for each in figures) / 1000
    )


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
    return f"capacity {capacity.per_s / CAPACITY_PER_S:.3f} of the true one, its interval [{low:.0f}-{high:.0f}] {holds} it"


def _run(folder: Path, port: int, path: str, plan: str) -> Path:
    """The log of a run with this plan."""
    profile = folder / "bench.toml"
    profile.write_text(rig.PROFILE.format(url=f"http://127.0.0.1:{port}", users=1, wait_s=0, client="fast", path=path))
    command = [str(rig.BIN / "capexplorer"), "--sessions-dir", str(folder), "run", str(profile), "--headless", "--plan", plan]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    return next(folder.glob("*.jsonl"))
