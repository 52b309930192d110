"""Latency of one service as measured by the app, by the service itself, and by wrk at the same concurrency (and so the same
rate)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.request

from . import rig

USERS = 10
SECONDS = 10.0


def main() -> None:
    port = rig.free_port()
    url = f"http://127.0.0.1:{port}"
    with rig.running([sys.executable, "-m", "lab.bench.timed_server", str(port)], port):
        print(f"a server that waits 5 ms; {USERS} connections without think time, {SECONDS:.0f} s each")
        print(f"{'client':14} {'rps':>7} {'p50 ms':>8} {'p99 ms':>8} {'server p50':>11} {'p99 ms':>8} {'client adds p50':>16}")
        for client in ("fast", "requests"):
            _figures(url)
            run = rig.app(url, users=USERS, wait_s=0, seconds=SECONDS, client=client)
            p50, p99 = run.latency().percentiles_ms((0.50, 0.99))
            _row(f"app, {client}", run.rate_rps(), p50 or 0, p99 or 0, _figures(url))
        if shutil.which("wrk"):
            _figures(url)
            rps, p50_ms, p99_ms = _wrk(url)
            _row("wrk", rps, p50_ms, p99_ms, _figures(url))
        else:
            print("wrk            is not installed")


def _row(name: str, rps: float, p50_ms: float, p99_ms: float, server_ms: list[float]) -> None:
    s50, s99 = rig.percentile(server_ms, 0.50), rig.percentile(server_ms, 0.99)
    print(f"{name:14} {rps:7.0f} {p50_ms:8.2f} {p99_ms:8.2f} {s50:11.2f} {s99:8.2f} {p50_ms - s50:+16.2f}", flush=True)


def _figures(url: str) -> list[float]:
    with urllib.request.urlopen(f"{url}/figures", timeout=10) as response:
        found: list[float] = json.load(response)
    return found


def _wrk(url: str) -> tuple[float, float, float]:
    command = ["wrk", "-t1", f"-c{USERS}", f"-d{SECONDS:.0f}s", "--latency", f"{url}/"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    shares = {name: _ms(value) for name, value in re.findall(r"^\s+(50|99)%\s+(\S+)", text, re.MULTILINE)}
    assert rate is not None, text
    return float(rate[1]), shares["50"], shares["99"]


def _ms(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]
