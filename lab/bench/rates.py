"""Offered rates on real servers whose latencies are known: stalls, queues, and the p99 beside a screen."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from capexplorer.model.events import LevelClosed
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.verdicts import RateVerdict
from lab.kit.runs import Ran, events_of, headless
from lab.kit.servers import fast_server, free_port, listening
from lab.simulation.open_queue import theory_wait_s
from lab.simulation.queues import System

from .app import in_pairs, on_screen, profile_of
from .clients import TOOLS
from .servers import expected_ms

RATE = 200
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}

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


def explored(url: str, plan: str, *arguments: str, client: str = "fast", path: str = "/", timeout_s: float = 600) -> Ran:
    with tempfile.TemporaryDirectory() as folder:
        profile = profile_of(Path(folder), url, client=client, path=path)
        return headless(Path(folder), profile, "--plan", plan, *arguments, timeout_s=timeout_s)


def rate(rounds: int = 5, seconds: int = 24) -> None:
    """Time from plan at 200 iterations per second, on a server that stalls for 200 ms every 2 s: measured percentiles divided by
    the calculated ones.

    Generators take turns: this app with two of its clients and, if they are installed, k6 (constant-arrival-rate, 100 virtual
    users) and oha (-q, --latency-correction). k6 does not report the time from plan; with enough users its iterations begin on
    time.
    """
    tools: dict[str, Callable[[str], Percentiles]] = {
        "fast": lambda url: _app(url, "fast", seconds),
        "lean": lambda url: _app(url, "lean", seconds),
    }
    paths = {tool.name: tool.path for tool in TOOLS}
    if k6 := paths["k6"]:
        tools["k6"] = lambda url: _k6(k6, url, seconds)
    if oha := paths["oha"]:
        tools["oha"] = lambda url: _oha(oha, url, seconds)
    found: dict[str, list[Percentiles]] = {name: [] for name in tools}
    port = free_port()
    with listening([sys.executable, "-m", "lab.bench.servers", "stalling", str(port)], port):
        expected = {name: expected_ms(quantile) for name, quantile in QUANTILES.items()}
        print(f"{RATE}/s for {seconds} s, {rounds} rounds; expected ms: {_shown(expected)}")
        for round_ in range(rounds):
            for name in tools if round_ % 2 == 0 else reversed(tools):
                found[name].append(tools[name](f"http://127.0.0.1:{port}"))
                print(f"{name:>5}: {_shown(found[name][-1])}", flush=True)
    for name, of_tool in found.items():
        ratios = {quantile: median(one[quantile] / expected[quantile] for one in of_tool) for quantile in QUANTILES}
        print(f"median over expected, {name}: " + ", ".join(f"{quantile} {ratio:.3f}" for quantile, ratio in ratios.items()))
    print("goal: within 5%")


def _shown(values: Percentiles) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in values.items())


def _app(url: str, client: str, seconds: int) -> Percentiles:
    ran = explored(url, f"rate {RATE}/s {seconds}s", client=client, timeout_s=seconds + 60)
    offered = events_of(ran.events, LevelClosed)[0].figures.offered
    assert offered is not None and not offered.dropped.total
    latency = offered.from_plan_ms
    return {"p50": latency.p50 or 0.0, "p99": latency.p99 or 0.0, "p99.9": latency.p999 or 0.0}


def _k6(program: str, url: str, seconds: int) -> Percentiles:
    with tempfile.TemporaryDirectory() as folder:
        script, summary = Path(folder) / "rate.js", Path(folder) / "summary.json"
        script.write_text(K6.format(rate=RATE, seconds=seconds, url=url))
        command = [program, "run", "--quiet", "--summary-export", str(summary), str(script)]
        subprocess.run(command, check=True, capture_output=True, timeout=seconds + 60)
        values = json.loads(summary.read_text())["metrics"]["iteration_duration"]
    return {name: float(values[f"p({name[1:]})"]) for name in QUANTILES}


def _oha(program: str, url: str, seconds: int) -> Percentiles:
    command = [program, "-q", str(RATE), "-z", f"{seconds}s", "-c", "100", "--latency-correction", "--no-tui"]
    done = subprocess.run([*command, "--output-format", "json", f"{url}/"], check=True, capture_output=True, timeout=90)
    values = json.loads(done.stdout)["latencyPercentiles"]
    return {name: float(values[name]) * 1000 for name in QUANTILES}


def rate_p99(pairs: int = 5, seconds: float = 20.0) -> None:
    """p99 of the time from plan at 500/s with the live screen, divided by that of a headless run, both with one worker, on one
    server, over the settled seconds of one rate level."""
    settles_s = 8.0  # longest time before them: start of worker and users, and settling of the level
    plan = f"rate 500/s {seconds + settles_s:g}s"

    def measure(name: str) -> tuple[float, float]:
        if name == "screen":
            with on_screen(url, "--workers", "1", "--plan", plan, users=1, wait_s=0) as run:
                time.sleep(seconds + settles_s)
                ran = Ran.of(run.sessions, run.quit())
        else:
            ran = explored(url, plan, "--workers", "1")
        merged = LatencyHistogram()
        for level in events_of(ran.events, LevelClosed):
            if level.figures.offered is not None and level.figures.offered.from_plan is not None:
                merged.add(LatencyHistogram.decode(level.figures.offered.from_plan))
        p50_ms, p99_ms = merged.percentiles_ms((0.50, 0.99))
        return p50_ms or 0.0, p99_ms or 0.0

    with fast_server() as (name, url):
        print(f"{name}; 500/s offered, one worker, {seconds:.0f} s each, {pairs} alternating pairs; time from plan")
        ratios = in_pairs(pairs, ("headless", "screen"), measure)
    print(f"median ratio {median(ratios):.2f} (at most 1.1)")


CAPACITY_PER_S = 100.0
QUEUES = {
    "M/M/1": System(1 / CAPACITY_PER_S, 0),
    "M/D/1": System(1 / CAPACITY_PER_S, 0, service_spread="constant"),
    "M/M/4": System(4 / CAPACITY_PER_S, 0, servers=4),
}
LOADS = {0.5: 40.0, 0.7: 60.0, 0.85: 90.0}
"""Seconds by the share of the capacity that is offered."""
CLIMB = ", ".join(f"rate {share * CAPACITY_PER_S:g}/s 15s" for share in (0.2, 0.4, 0.6, 0.8, 1.2, 1.4, 1.6))


def rate_queues(share: float = 1.0, kinds: tuple[str, ...] = tuple(QUEUES)) -> None:
    """Offered rates on real services that are M/M/1, M/D/1 and M/M/4 queues: waiting times compared with theory, and capacities.

    A mean waiting time is the mean time from plan of a level, less the mean service time and less what client and timers add,
    which requests without a queue (/idle) show at the same rate. It is compared with the mean of the waiting times that the
    server computed for the requests that it got, and that mean with theory: Erlang's C, for constant service times Pollaczek and
    Khinchine. The second comparison has the error of a sample of correlated waiting times, which is printed: 16% for 7,650
    arrivals at 85% of the capacity of M/M/1. `share`: of the seconds, at least 12."""
    print("goals: waiting time within 10% of the queue's own and of theory, capacity within 5%")
    for kind in kinds:
        port, system = free_port(), QUEUES[kind]
        url = f"http://127.0.0.1:{port}"
        with listening([sys.executable, "-m", "lab.bench.servers", "queue", str(port), kind, str(CAPACITY_PER_S)], port):
            for load, seconds in LOADS.items():
                print(f"{kind} at {load:.0%}: {_waiting(url, system, load, max(share * seconds, 12.0))}", flush=True)
            verdict = explored(url, CLIMB).timeline.verdict
            print(f"{kind}: {_capacity(verdict.rates if verdict is not None else None)}", flush=True)


def _waiting(url: str, system: System, load: float, seconds: float) -> str:
    """The waiting time of one level, over that of the queue itself and over theory."""
    per_s = load * CAPACITY_PER_S
    added_s = _mean_s(explored(url, f"rate {per_s:g}/s 12s", path="/idle")) - system.service_s
    _server_wait(url)
    waited_s = _mean_s(explored(url, f"rate {per_s:g}/s {seconds:.0f}s")) - system.service_s - added_s
    arrivals, computed_s = _server_wait(url)
    variance = load * (2 + 5 * load - 4 * load**2 + load**3) / (1 - load) ** 4  # of M/M/1 (Daley 1968); others vary less
    error = math.sqrt(variance / arrivals) / (load / (1 - load))
    return (
        f"{waited_s / computed_s:.3f} of the queue's own mean; that is {computed_s / theory_wait_s(load, system):.2f} of theory "
        f"(standard error {error:.2f}, {arrivals:,} arrivals); client and timers add {1000 * added_s:.2f} ms"
    )


def _server_wait(url: str) -> tuple[int, float]:
    """(arrivals, their mean waiting time) since the last call; (0, 0.0) without arrivals."""
    with urlopen(f"{url}/waits", timeout=10) as reply:
        found = json.load(reply)
    return found["arrivals"], found["waits_s"] / max(found["arrivals"], 1)


def _mean_s(ran: Ran) -> float:
    """The mean time from plan of a level; weighted by iterations if the level was split."""
    figures = [each.figures.offered for each in events_of(ran.events, LevelClosed) if each.figures.offered is not None]
    assert not any(each.dropped.total for each in figures), "iterations were dropped"
    total_ms = sum((each.from_plan_ms.mean or 0.0) * each.finished for each in figures)
    return total_ms / sum(each.finished for each in figures) / 1000


def _capacity(verdict: RateVerdict | None) -> str:
    capacity = verdict.capacity if verdict is not None else None
    if capacity is None or capacity.kind != "capacity":
        return "no capacity found"
    low, high = capacity.low_per_s or 0.0, capacity.high_per_s or 0.0
    holds = "holds" if low <= CAPACITY_PER_S <= high else "misses"
    return f"capacity {capacity.per_s / CAPACITY_PER_S:.3f} of the true one, its interval [{low:.0f}-{high:.0f}] {holds} it"
