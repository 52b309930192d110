"""Load generators compared on one nginx: requests per CPU second, and p50 and p99 at an equal rate.

The generators take turns, in rounds; figures are medians. CPU is that of a generator's whole process tree, and requests are
counted by nginx, over the same seconds in the middle of each run, so that start-up, the tool's own figures and other processes
hardly matter. `python -m lab.bench clients --page` saves the results and makes docs/bench.md of them.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from lab.trials.record import commit

from . import clients_page, rig
from .tools import RATE, TOOLS, USERS, Tool

ROUNDS = 5
SETTLE_S = 2.0
"""Seconds from the first requests to the measured window: by then all users and connections exist."""
WINDOW_S = 4.0
AROUND_S = 3.0
"""Additional seconds of a run, for its start and its end."""


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m lab.bench clients")
    parser.add_argument("--page", action="store_true", help="save the results, and make docs/bench.md of them")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args(options)
    with rig.fast_server() as (name, url):
        if name != "nginx":
            print("needs nginx, which counts requests: the Debian package nginx-light")
            return
        for tool in TOOLS:
            if tool.path is None:
                print(f"{tool.name} is not installed: {tool.install}")
        tools = [tool for tool in TOOLS if tool.path is not None]
        versions = {tool.name: _version(tool) for tool in tools}
        rows: list[dict[str, Any]] = []
        for round_ in range(1, arguments.rounds + 1):
            rows += _round(tools, url, round_)
            found = {
                "commit": commit(),
                "users": USERS,
                "rate": RATE,
                "cpus": psutil.cpu_count(),
                "versions": versions,
                "rows": rows,
            }
            if arguments.page:  # saved after each round, in case a later one fails
                clients_page.keep({"at": datetime.now().astimezone().isoformat(timespec="seconds"), **found})
    print(clients_page.table(found))


def _round(tools: Sequence[Tool], url: str, number: int) -> list[dict[str, Any]]:
    rows = []
    for tool in tools:
        for at_rate in (False, True):
            row = {"tool": tool.name, "round": number, "at_rate": at_rate, **_run(tool, url, at_rate)}
            rows.append(row)
            print(clients_page.line(row), flush=True)
    return rows


def _run(tool: Tool, url: str, at_rate: bool) -> dict[str, Any]:
    """One run: requests and CPU seconds of a window, p50 and p99 in ms, and the cores that other processes used."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [str(tool.path), *tool.command(folder, url, SETTLE_S + WINDOW_S + AROUND_S, at_rate)]
        before = _served(url)
        with (folder / "stdout").open("w+") as output:
            process = psutil.Popen(command, cwd=folder, stdout=output, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            _wait_for_requests(url, before)
            time.sleep(SETTLE_S)
            first = _reading(process, url)
            time.sleep(WINDOW_S)
            last = _reading(process, url)
            process.wait(60)
            output.seek(0)
            p50_ms, p99_ms = tool.latency(folder, output.read()) if at_rate else (0.0, 0.0)
    seconds, requests, cpu_s, busy_s, server_s = (end - begin for begin, end in zip(first, last, strict=True))
    return {
        "requests": round(requests),
        "seconds": round(seconds, 3),
        "cpu_s": round(cpu_s, 3),
        "p50_ms": round(p50_ms, 3),
        "p99_ms": round(p99_ms, 3),
        "others_cores": round(max(0.0, busy_s - cpu_s - server_s) / seconds, 2),
    }


def _wait_for_requests(url: str, before: float) -> None:
    deadline_s = time.monotonic() + 30
    while _served(url) - before < 100:
        if time.monotonic() > deadline_s:
            raise TimeoutError("nginx received no requests within 30 s")
        time.sleep(0.1)


def _reading(process: psutil.Process, url: str) -> tuple[float, float, float, float, float]:
    """(now, requests served, CPU seconds of the generator, of the machine, of nginx)."""
    times = psutil.cpu_times()
    busy_s = sum(times) - times.idle - times.iowait - times.guest - times.guest_nice
    nginx = sum(_cpu_s(each) for each in psutil.process_iter() if each.name() == "nginx")
    return time.monotonic(), _served(url), _tree_cpu_s(process), busy_s, nginx


def _tree_cpu_s(process: psutil.Process) -> float:
    return sum(_cpu_s(each) for each in (process, *process.children(recursive=True)))


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


_status_requests = itertools.count(1)
"""Counts this benchmark's own requests for the status, which nginx counts as well."""


def _served(url: str) -> float:
    """Requests that nginx has served, without those for its status: the third number of its status."""
    with urllib.request.urlopen(f"{url}/status", timeout=30) as reply:
        return float(reply.read().split(b"\n")[2].split()[2]) - next(_status_requests)


def _version(tool: Tool) -> str:
    version = subprocess.run(
        [str(tool.path), "-v" if tool.name == "wrk" else "--version"], capture_output=True, text=True, check=False
    )
    return next(iter((version.stdout or version.stderr).splitlines()), "").split(" from ")[0].split(" Copyright")[0]
