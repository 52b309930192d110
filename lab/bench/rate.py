"""Time from plan at 200 iterations per second, on a server that stalls for 200 ms every 2 s: measured percentiles divided by the
calculated ones.

Generators take turns: this app with two of its clients and, if they are installed, k6 (constant-arrival-rate, 100 virtual
users) and oha (-q, --latency-correction). k6 does not report the time from plan; with enough users its iterations begin on
time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from capexplorer.model.events import LevelClosed
from capexplorer.model.percentiles import Latency
from capexplorer.session.reader import read

from . import rig
from .stalling_server import expected_ms
from .tools import TOOLS

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = 24
RATE = 200
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
GOAL = 0.05

K6 = """\
import http from "k6/http";
export const options = {{
  scenarios: {{ rate: {{ executor: "constant-arrival-rate", rate: {rate}, timeUnit: "1s", duration: "{seconds}s",
                        preAllocatedVUs: 100, maxVUs: 500 }} }},
  summaryTrendStats: ["p(50)", "p(99)", "p(99.9)"],
}};
export default function () {{ http.get("{url}/"); }}
"""

Percentiles = Mapping[str, float]
"""Percentiles in ms by the names of QUANTILES."""


def main() -> None:
    tools: dict[str, Callable[[str], Percentiles]] = {
        "fast": lambda url: _app(url, "fast"),
        "lean": lambda url: _app(url, "lean"),
    }
    others = {"k6": _k6, "oha": _oha}
    tools |= {name: run for name, run in others.items() if _path(name)}
    found: dict[str, list[Percentiles]] = {name: [] for name in tools}
    port = rig.free_port()
    url = f"http://127.0.0.1:{port}"
    with rig.running([sys.executable, "-m", "lab.bench.stalling_server", str(port)], port):
        expected = {name: expected_ms(quantile) for name, quantile in QUANTILES.items()}
        print(f"{RATE}/s for {SECONDS} s, {ROUNDS} rounds; expected ms: {_shown(expected)}")
        for round_ in range(ROUNDS):
            for name in tools if round_ % 2 == 0 else reversed(tools):
                found[name].append(tools[name](url))
                print(f"{name:>5}: {_shown(found[name][-1])}", flush=True)
    for name, rounds in found.items():
        ratios = {quantile: rig.median([one[quantile] / expected[quantile] for one in rounds]) for quantile in QUANTILES}
        print(f"median over expected, {name}: " + ", ".join(f"{quantile} {ratio:.3f}" for quantile, ratio in ratios.items()))
    print(f"goal: within {GOAL:.0%}")


def _path(name: str) -> str:
    """The path of a generator; empty: it is not installed."""
    return next((tool.path or "" for tool in TOOLS if tool.name == name), "")


def _shown(values: Percentiles) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in values.items())


def _app(url: str, client: str) -> Percentiles:
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "bench.toml"
        profile.write_text(rig.PROFILE.format(url=url, users=1, wait_s=0, client=client, path="/"))
        command = [str(rig.BIN / "capexplorer"), "--sessions-dir", folder, "run", str(profile), "--headless"]
        subprocess.run([*command, "--plan", f"rate {RATE}/s {SECONDS}s"], check=True, capture_output=True, timeout=SECONDS + 60)
        log = next(Path(folder).glob("*.jsonl"))
        closed = [event for event in read(log) if isinstance(event, LevelClosed)]
        offered = closed[0].figures.offered
        assert offered is not None and not offered.dropped.total
        return _of(offered.from_plan_ms)


def _of(latency: Latency) -> Percentiles:
    return {"p50": latency.p50 or 0.0, "p99": latency.p99 or 0.0, "p99.9": latency.p999 or 0.0}


def _k6(url: str) -> Percentiles:
    with tempfile.TemporaryDirectory() as folder:
        script, summary = Path(folder) / "rate.js", Path(folder) / "summary.json"
        script.write_text(K6.format(rate=RATE, seconds=SECONDS, url=url))
        command = [_path("k6"), "run", "--quiet", "--summary-export", str(summary), str(script)]
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS + 60)
        values = json.loads(summary.read_text())["metrics"]["iteration_duration"]
    return {name: float(values[f"p({name[1:]})"]) for name in QUANTILES}


def _oha(url: str) -> Percentiles:
    command = [_path("oha"), "-q", str(RATE), "-z", f"{SECONDS}s", "-c", "100", "--latency-correction"]
    done = subprocess.run(
        [*command, "--no-tui", "--output-format", "json", f"{url}/"], check=True, capture_output=True, timeout=90
    )
    values = json.loads(done.stdout)["latencyPercentiles"]
    return {name: float(values[name]) * 1000 for name in QUANTILES}
