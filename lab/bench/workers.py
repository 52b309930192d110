"""Worker processes: how requests per second grow with their number, and 200 simulated ones in one run."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import psutil

from capexplorer.run.options import SECRET
from lab.kit.runs import PROGRAM, Ran, headless
from lab.kit.servers import fast_server, free_port
from lab.kit.tables import mean

from .app import profile_of
from .clients import nginx_cpu_s

USERS = 40
SECONDS = 10.0
REQUESTS = 6_000
"""Requests per second of each endpoint, over all simulated workers: equal in all runs, since a histogram of more requests has
more bytes."""
FEW = 2

LOCUSTFILE = """
from locust import FastHttpUser, constant, task

class Visitor(FastHttpUser):
    wait_time = constant(1)

    @task
    def visit(self):
        self.client.get("/")
"""


def worker_scaling(
    rounds: int = 3, workers: tuple[int, ...] = (0, 1, 2, 4), clients: tuple[str, ...] = ("requests", "fast", "lean")
) -> None:
    """Requests per second with 0, 1, 2 and 4 worker processes, on one nginx, with users without waits. 0: users run in the
    process of the run.

    The numbers of workers take turns, in rounds; figures are medians. If generator and service share a machine, workers scale
    only as far as the service leaves cores free. So the cores that the service used are shown; the scaling of a client that uses
    much more CPU than the service is that of the workers."""
    with fast_server() as (name, url):
        print(f"{name}; {USERS} users without waits, {SECONDS:.0f} s each, {rounds} rounds, {psutil.cpu_count()} cores")
        print(f"{'client':>9} {'workers':>8} {'requests/s':>11} {'ratio to one':>16} {'cores of service':>17} {'cores busy':>11}")
        for client in clients:
            found: dict[int, list[tuple[float, float, float]]] = defaultdict(list)
            for _ in range(rounds):
                for count in workers:
                    found[count].append(_explored(url, client, count))
            rates = {count: median(each[0] for each in runs) for count, runs in found.items()}
            for count, runs in found.items():
                service, busy = (median(each[index] for each in runs) for index in (1, 2))
                over_one = f"{rates[count] / rates[1]:.2f}" if 1 in rates else "–"
                print(f"{client:>9} {count:8} {rates[count]:11.0f} {over_one:>16} {service:17.2f} {busy:11.2f}", flush=True)
    print("goal: two workers send 1.8 times the requests of one, if each has a core of its own")


def _explored(url: str, client: str, workers: int) -> tuple[float, float, float]:
    """Requests a second, the cores that the service used, and all busy cores, over the settled seconds."""
    with tempfile.TemporaryDirectory() as folder:
        profile, of_workers = (
            profile_of(Path(folder), url, users=USERS, client=client),
            ("--workers", str(workers)) if workers else (),
        )
        before_s = nginx_cpu_s()
        ran = headless(Path(folder), profile, "--plan", f"{USERS}:{SECONDS:g}s", *of_workers, timeout_s=120)
        used_s = nginx_cpu_s() - before_s
    busy = mean(sample.host.cpu_ratio if sample.host is not None else None for sample in ran.settled)
    requests = sum(tick.requests for sample in ran.samples for tick in sample.endpoints)
    return ran.rate_rps(), used_s / requests * ran.rate_rps(), busy


def many_workers(workers: int = 200, endpoints: int = 20, seconds: int = 40) -> None:
    """200 simulated workers of 20 endpoints each report once a second over the real socket of a real run.

    Goals: at most half a core for the run's process, no late tick, and a log that does not grow with the number of workers. The
    baseline is the same run with two such workers and as many requests.
    """
    print(f"{endpoints} endpoints per worker, {REQUESTS:,} requests/s of each in all, a level of {seconds} s")
    print("workers  cores of the run  late ticks  settled ticks  requests/s  bytes of the log per tick")
    for count in (FEW, workers):
        with tempfile.TemporaryDirectory() as folder, fast_server() as (_, url):
            cores = _cores(Path(folder), url, count, endpoints, seconds)
            run = Ran.of(Path(folder))
            size = run.path.stat().st_size / len(run.samples)
        ticks = [sample for sample in run.samples if sample.workers is not None and sample.phase != "spawning"]
        late = sum(bool(sample.workers and sample.workers.late) for sample in ticks)
        row = f"{count:7d} {cores:17.2f} {late:7d}/{len(ticks):<3d} {len(run.settled):14d} {run.rate_rps():11,.0f}"
        print(f"{row} {size:26,.0f}", flush=True)
    print("goals: at most 0.5 cores, 0 late ticks, equal bytes per tick")


def _cores(folder: Path, url: str, workers: int, endpoints: int, seconds: int) -> float:
    """One headless run, whose workers are all simulated; the cores that its process used (median of the last `seconds` / 2)."""
    (folder / "visits.py").write_text(LOCUSTFILE)
    port, environment = free_port(), os.environ | {SECRET: secrets.token_hex(16)}
    command = [PROGRAM, "run", "-f", "visits.py", "--host", url, "--headless", "--sessions-dir", str(folder)]
    command += ["--bind", f"127.0.0.1:{port}", "--expect-workers", str(workers), "--plan", f"{workers * 2}:{seconds}s"]
    run = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    figures = map(str, (port, workers, endpoints, REQUESTS // workers))
    simulated = subprocess.Popen([sys.executable, "-m", "lab.bench.simulated_workers", *figures], env=environment)
    try:
        return median(list(_cores_by_second(run, at_most_s=seconds + 240))[-seconds // 2 :])
    finally:
        for process in (run, simulated):
            process.kill()
            process.wait()


def _cores_by_second(run: subprocess.Popen[bytes], at_most_s: int) -> Iterator[float]:
    """Cores that the process uses in each second, until it ends."""
    process = psutil.Process(run.pid)
    process.cpu_percent()
    for _ in range(at_most_s):
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(timeout=1)
            return
        yield process.cpu_percent() / 100
