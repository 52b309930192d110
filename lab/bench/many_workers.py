"""200 simulated workers of 20 endpoints each report once a second over the real socket of a real run.

Goals: at most half a core for the run's process, no late tick, and a log that does not grow with the number of workers. The
baseline is the same run with two such workers and as many requests.

    python -m lab.bench many_workers [--workers N] [--endpoints N] [--seconds S]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from capexplorer.load.workers.secret import VARIABLE

from . import rig

FEW = 2
REQUESTS = 6_000
"""Requests per second of each endpoint, over all workers: equal in both runs, since a histogram of more requests has more
bytes."""

LOCUSTFILE = """
from locust import FastHttpUser, constant, task

class Visitor(FastHttpUser):
    wait_time = constant(1)

    @task
    def visit(self):
        self.client.get("/")
"""


def main(argv: Sequence[str] = ()) -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--workers", type=int, default=200)
    options.add_argument("--endpoints", type=int, default=20)
    options.add_argument("--seconds", type=int, default=40)
    arguments = options.parse_args(argv)
    print(f"{arguments.endpoints} endpoints per worker, {REQUESTS:,} requests/s of each in all, a level of {arguments.seconds} s")
    print("workers  cores of the run  late ticks  settled ticks  requests/s  bytes of the log per tick")
    for workers in (FEW, arguments.workers):
        run, cores = explored(workers, arguments.endpoints, arguments.seconds)
        ticks = [sample for sample in run.samples if sample.workers is not None and sample.phase != "spawning"]
        late = sum(bool(sample.workers and sample.workers.late) for sample in ticks)
        row = f"{workers:7d} {cores:17.2f} {late:7d}/{len(ticks):<3d} {len(run.settled):14d} {run.rate_rps():11,.0f}"
        print(f"{row} {run.bytes / len(run.samples):26,.0f}", flush=True)
    print("goals: at most 0.5 cores, 0 late ticks, equal bytes per tick")


def explored(workers: int, endpoints: int, seconds: int) -> tuple[rig.Run, float]:
    """One headless run, whose workers are all simulated, and the cores that its process used (median of the last `seconds` /
    2)."""
    with tempfile.TemporaryDirectory() as folder, rig.fast_server() as (_, url):
        (Path(folder) / "visits.py").write_text(LOCUSTFILE)
        port = rig.free_port()
        environment = os.environ | {VARIABLE: secrets.token_hex(16)}
        run = subprocess.Popen(
            [str(rig.BIN / "capexplorer"), "run", "-f", "visits.py", "--host", url, "--headless", "--sessions-dir", folder]
            + ["--bind", f"127.0.0.1:{port}", "--expect-workers", str(workers), "--plan", f"{workers * 2}:{seconds}s"],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        simulated = subprocess.Popen(
            [sys.executable, "-m", "lab.bench.simulated_workers", *map(str, (port, workers, endpoints, REQUESTS // workers))],
            env=environment,
        )
        try:
            used = list(cores_by_second(run, at_most_s=seconds + 240))
        finally:
            for process in (run, simulated):
                process.kill()
                process.wait()
        return rig.Run(Path(folder)), rig.median(used[-seconds // 2 :])


def cores_by_second(run: subprocess.Popen[bytes], at_most_s: int) -> Iterator[float]:
    """Cores that the process uses in each second, until it ends."""
    process = psutil.Process(run.pid)
    process.cpu_percent()
    for _ in range(at_most_s):
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(timeout=1)
            return
        yield process.cpu_percent() / 100
