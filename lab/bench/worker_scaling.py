"""Requests per second with 0, 1, 2 and 4 worker processes, on one nginx, with users without waits. 0: users run in the process
of the run.

The numbers of workers take turns, in rounds; figures are medians. If generator and service share a machine, workers scale only
as far as the service leaves cores free. So the cores that the service used are shown; the scaling of a client that uses much
more CPU than the service is that of the workers.

    python -m lab.bench worker_scaling [--rounds N] [--workers N...] [--clients C...]
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import psutil

from . import rig

USERS = 40
SECONDS = 10.0
CLIENTS = ("requests", "fast", "lean")
GOAL = 1.8
"""Requests of two workers divided by those of one, if the service leaves each worker a core."""


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m lab.bench worker_scaling")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2, 4])
    parser.add_argument("--clients", nargs="+", choices=CLIENTS, default=CLIENTS)
    arguments = parser.parse_args(options)
    with rig.fast_server() as (name, url):
        print(f"{name}; {USERS} users without waits, {SECONDS:.0f} s each, {arguments.rounds} rounds, {psutil.cpu_count()} cores")
        print(f"{'client':>9} {'workers':>8} {'requests/s':>11} {'ratio to one':>16} {'cores of service':>17} {'cores busy':>11}")
        for client in arguments.clients:
            found: dict[int, list[tuple[float, float, float]]] = defaultdict(list)
            for _ in range(arguments.rounds):
                for workers in arguments.workers:
                    found[workers].append(_explored(url, client, workers))
            rates = {workers: rig.median([each[0] for each in runs]) for workers, runs in found.items()}
            for workers, runs in found.items():
                service, busy = (rig.median([each[index] for each in runs]) for index in (1, 2))
                over_one = f"{rates[workers] / rates[1]:.2f}" if 1 in rates else "–"
                print(f"{client:>9} {workers:8} {rates[workers]:11.0f} {over_one:>16} {service:17.2f} {busy:11.2f}", flush=True)
    print(f"goal: two workers send {GOAL} times the requests of one, if each has a core of its own")


def _explored(url: str, client: str, workers: int) -> tuple[float, float, float]:
    """Requests a second, the cores that the service used, and all busy cores, over the settled seconds."""
    with tempfile.TemporaryDirectory() as folder:
        profile, sessions = Path(folder) / "bench.toml", Path(folder) / "sessions"
        profile.write_text(rig.PROFILE.format(url=url, users=USERS, wait_s=0, client=client, path="/"))
        command = [str(rig.BIN / "capexplorer"), "run", str(profile), "--sessions-dir", str(sessions), "--headless"]
        command += ["--plan", f"{USERS}:{SECONDS:g}s", *(["--workers", str(workers)] if workers else [])]
        with _CpuOfNginx() as nginx:
            subprocess.run(command, check=True, capture_output=True)
        run = rig.Run(sessions)
        busy = rig.mean([sample.host.cpu_ratio if sample.host is not None else None for sample in run.settled])
        requests = sum(tick.requests for sample in run.samples for tick in sample.endpoints)
        rate_rps = run.rate_rps()
        return rate_rps, nginx.cpu_s / requests * rate_rps, busy


class _CpuOfNginx:
    """CPU seconds of all nginx processes within the context."""

    def __enter__(self) -> _CpuOfNginx:
        self._began_s = self._now_s()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s = self._now_s() - self._began_s

    @staticmethod
    def _now_s() -> float:
        times = [process.cpu_times() for process in psutil.process_iter() if process.name() == "nginx"]
        return float(sum(each.user + each.system for each in times))
