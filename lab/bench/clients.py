"""Load generators compared on one nginx: requests per CPU second, and p50 and p99 at an equal rate.

The generators take turns, in rounds; figures are medians. CPU is that of a generator's whole process tree, and requests are
counted by nginx, over the same seconds in the middle of each run, so that start-up, the tool's own figures and other processes
hardly matter. `python -m lab.bench clients --page` saves the results and makes docs/bench.md of them.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from lab.kit.record import RESULTS, commit
from lab.kit.runs import ROOT, Ran, wait_until
from lab.kit.servers import fast_server
from lab.kit.tables import filled, percentile, table

from .app import BIN, LOCUSTFILE, profile_of

USERS = 50
RATE = 500
"""Requests per second of all users together in runs at the equal rate: 50 users wait 0.1 s."""
WAIT_S = USERS / RATE

Latency = tuple[float, float]
"""(p50, p99) in ms."""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    program: str
    install: str
    """How to install it, in words; empty if `make setup` installs it."""
    command: Callable[[Path, str, float, bool], Sequence[str]]
    """Makes the arguments of a run from a folder for files, the URL, the seconds, and whether it runs at the equal rate."""
    latency: Callable[[Path, str], Latency]
    """Reads the latency figures of a run from that folder and its output."""

    @property
    def path(self) -> str | None:
        """Its path; None: it is not installed."""
        found = BIN / self.program
        if found.exists():
            return str(found)
        places = [os.environ.get("PATH", ""), *(str(Path.home() / place) for place in ("go/bin", ".cargo/bin"))]
        return shutil.which(self.program, path=os.pathsep.join(places))


def _app(client: str) -> Callable[[Path, str, float, bool], Sequence[str]]:
    def command(folder: Path, url: str, seconds: float, at_rate: bool) -> Sequence[str]:
        profile = profile_of(folder, url, users=USERS, wait_s=WAIT_S if at_rate else 0.0, client=client)
        plan = f"{USERS}:{seconds:.0f}s"
        return ["run", profile, "--headless", "--plan", plan, "--sessions-dir", str(folder / "sessions")]

    return command


def _app_latency(folder: Path, _: str) -> Latency:
    p50_ms, p99_ms = Ran.of(folder / "sessions").latency().percentiles_ms((0.50, 0.99))
    return p50_ms or 0.0, p99_ms or 0.0


def _locust(folder: Path, url: str, seconds: float, at_rate: bool) -> Sequence[str]:
    wait_s = WAIT_S if at_rate else 0.0
    text = LOCUSTFILE.format(out=str(folder / "out.json"), kind="FastHttpUser", wait_s=wait_s)
    (folder / "bench_locust.py").write_text(text if at_rate else _without_listeners(text))
    return ["-f", str(folder / "bench_locust.py"), "--headless", "-H", url, "-u", str(USERS), "-r", str(USERS),
            "-t", f"{seconds + 2:.0f}s", "--only-summary", "--loglevel", "ERROR"]  # fmt: skip


def _without_listeners(text: str) -> str:
    """The locustfile without the listeners of this benchmark, since Locust's own CPU use is measured."""
    return re.sub(r"@events\..*?(?=\n(?:@|class ))", "", text, flags=re.DOTALL)


def _locust_latency(folder: Path, _: str) -> Latency:
    starts, latencies_ms = json.loads((folder / "out.json").read_text())
    kept = [ms for at, ms in zip(starts, latencies_ms, strict=True) if at >= starts[0] + 4]
    return percentile(kept, 0.50), percentile(kept, 0.99)


_K6 = """\
export const options = {{ vus: {users}, duration: "{seconds:.0f}s", summaryTrendStats: ["med", "p(99)"] }};
export default function () {{ http.get("{url}/"); {wait} }}
export function handleSummary(data) {{ return {{ stdout: JSON.stringify(data.metrics.http_req_duration.values) }}; }}
"""


def _k6(folder: Path, url: str, seconds: float, at_rate: bool) -> Sequence[str]:
    script = folder / "bench.js"
    script.write_text(_K6.format(users=USERS, seconds=seconds, url=url, wait=f"sleep({WAIT_S});" if at_rate else ""))
    return ["run", "--quiet", "--no-usage-report", str(script)]


def _k6_latency(_: Path, output: str) -> Latency:
    values = json.loads(output[output.index("{") : output.rindex("}") + 1])
    return values["med"], values["p(99)"]


def _oha(_: Path, url: str, seconds: float, at_rate: bool) -> Sequence[str]:
    rate = ["-q", str(RATE)] if at_rate else []
    return ["-c", str(USERS), "-z", f"{seconds:.0f}s", *rate, "--no-tui", "--output-format", "json", f"{url}/"]


def _oha_latency(_: Path, output: str) -> Latency:
    values = json.loads(output)["latencyPercentiles"]
    return values["p50"] * 1000, values["p99"] * 1000


def _wrk(folder: Path, url: str, seconds: float, at_rate: bool) -> Sequence[str]:
    (folder / "wait.lua").write_text(f"function delay() return {WAIT_S * 1000:.0f} end\n")
    script = ["-s", str(folder / "wait.lua")] if at_rate else []
    return ["-t1", f"-c{USERS}", f"-d{seconds:.0f}s", "--latency", *script, f"{url}/"]


def _wrk_latency(_: Path, output: str) -> Latency:
    factors = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    found = {share: float(value) * factors[unit] for share, value, unit in re.findall(r"(50|99)%\s+([\d.]+)(us|ms|s)\b", output)}
    return found["50"], found["99"]


TOOLS = (
    Tool("lean", "capexplorer", "", _app("lean"), _app_latency),
    Tool("fast", "capexplorer", "", _app("fast"), _app_latency),
    Tool("requests", "capexplorer", "", _app("requests"), _app_latency),
    Tool("Locust, FastHttpUser", "locust", "", _locust, _locust_latency),
    Tool("k6", "k6", "`go install go.k6.io/k6@latest`", _k6, _k6_latency),
    Tool("oha", "oha", "`cargo install oha --locked`", _oha, _oha_latency),
    Tool("wrk", "wrk", "the Debian package wrk", _wrk, _wrk_latency),
)

# -- runs ----------------------------------------------------------------------------------------------------------------------

ROUNDS = 5
SETTLE_S = 2.0
"""Seconds from the first requests to the measured window: by then all users and connections exist."""
WINDOW_S = 4.0
AROUND_S = 3.0
"""Additional seconds of a run, for its start and its end."""


def clients(page: bool = False, rounds: int = ROUNDS) -> None:
    """All generators that are installed. `page`: save the results, and make docs/bench.md of them."""
    with fast_server() as (name, url):
        if name != "nginx":
            print("needs nginx, which counts requests: the Debian package nginx-light")
            return
        for tool in TOOLS:
            if tool.path is None:
                print(f"{tool.name} is not installed: {tool.install}")
        tools = [tool for tool in TOOLS if tool.path is not None]
        found: dict[str, Any] = {"at": datetime.now().astimezone().isoformat(timespec="seconds"), "commit": commit()}
        found |= {"users": USERS, "rate": RATE, "cpus": psutil.cpu_count()}
        found |= {"versions": {tool.name: _version(tool) for tool in tools}, "rows": []}
        for round_ in range(1, rounds + 1):
            found["rows"] += _round(tools, url, round_)
            if page:  # saved after each round, in case a later one fails
                DATA.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
                PAGE.write_text(page_of(found), encoding="utf-8")
    print(tables(found))


def _round(tools: Sequence[Tool], url: str, number: int) -> list[dict[str, Any]]:
    rows = []
    for tool in tools:
        for at_rate in (False, True):
            row = {"tool": tool.name, "round": number, "at_rate": at_rate, **_run(tool, url, at_rate)}
            rows.append(row)
            print(line(row), flush=True)
    return rows


def _run(tool: Tool, url: str, at_rate: bool) -> dict[str, Any]:
    """One run: requests and CPU seconds of a window, p50 and p99 in ms, and the cores that other processes used."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [str(tool.path), *tool.command(folder, url, SETTLE_S + WINDOW_S + AROUND_S, at_rate)]
        before = _served(url)
        with (folder / "stdout").open("w+") as output:
            process = psutil.Popen(command, cwd=folder, stdout=output, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            wait_until(lambda: _served(url) - before >= 100, "requests at nginx", 30.0, 0.1)
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


def _reading(process: psutil.Process, url: str) -> tuple[float, float, float, float, float]:
    """(now, requests served, CPU seconds of the generator, of the machine, of nginx)."""
    times = psutil.cpu_times()
    busy_s = sum(times) - times.idle - times.iowait - times.guest - times.guest_nice
    tree_s = sum(_cpu_s(each) for each in (process, *process.children(recursive=True)))
    return time.monotonic(), _served(url), tree_s, busy_s, nginx_cpu_s()


def nginx_cpu_s() -> float:
    """CPU seconds of all nginx processes."""
    return sum(_cpu_s(each) for each in psutil.process_iter() if each.name() == "nginx")


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


# -- the page ------------------------------------------------------------------------------------------------------------------

DATA = RESULTS / "clients.json"
PAGE = ROOT / "docs/bench.md"

Row = Mapping[str, Any]

GOALS = (("lean", "fast", 3.0), ("lean", "k6", 1.5))
"""(generator, another one, least ratio of their requests per CPU second)."""
P50_GOAL_MS = 0.2
"""Largest difference between the lean client's p50 and wrk's at the equal rate."""


def line(row: Row) -> str:
    how = "at the equal rate" if row["at_rate"] else "as fast as it can"
    per_cpu = row["requests"] / max(row["cpu_s"], 0.01)
    latency = f"p50 {row['p50_ms']:7.3f} p99 {row['p99_ms']:8.3f} ms, " if row["at_rate"] else ""
    return (
        f"{row['round']} {row['tool']:22} {how:18} {row['requests'] / row['seconds']:8.0f}/s {per_cpu:8.0f} per CPU second, "
        f"{latency}others {row['others_cores']:.1f} cores"
    )


def tables(found: Mapping[str, Any]) -> str:
    """The tables in Markdown: the generators, and the goals below."""
    head = (
        "generator",
        "requests per CPU second",
        "requests/s, as fast as it can",
        "p50 ms at the equal rate",
        "p99 ms",
        "version",
    )
    rows = []
    for tool, version in found["versions"].items():
        fast, even = _rows(found, tool, False), _rows(found, tool, True)
        per_cpu, rate = (
            _spread(_per_cpu(found, tool), ",.0f"),
            f"{median(each['requests'] / each['seconds'] for each in fast):,.0f}",
        )
        latency = (_spread([each["p50_ms"] for each in even], ".2f"), _spread([each["p99_ms"] for each in even], ".1f"))
        rows.append((tool, per_cpu, rate, *latency, version))
    return f"{table(head, rows)}\n\n{table(('what', 'goal', 'found'), _goals(found))}"


def _goals(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    rows = []
    for tool, other, least in GOALS:
        if other in found["versions"]:
            ratios = [first / second for first, second in zip(_per_cpu(found, tool), _per_cpu(found, other), strict=True)]
            what = f"{tool} over {other}, requests per CPU second, ratio in each round"
            rows.append((what, f"at least {least:g}", _spread(ratios, ".2f")))
    if "wrk" in found["versions"]:
        pairs = zip(_rows(found, "lean", True), _rows(found, "wrk", True), strict=True)
        differences = [lean["p50_ms"] - wrk["p50_ms"] for lean, wrk in pairs]
        rows.append(("lean's p50 less wrk's, ms", f"at most {P50_GOAL_MS}", _spread(differences, ".2f")))
    return rows


def _rows(found: Mapping[str, Any], tool: str, at_rate: bool) -> list[Row]:
    return [row for row in found["rows"] if row["tool"] == tool and row["at_rate"] == at_rate]


def _per_cpu(found: Mapping[str, Any], tool: str) -> list[float]:
    return [row["requests"] / row["cpu_s"] for row in _rows(found, tool, False)]


def _spread(values: Sequence[float], form: str) -> str:
    return f"**{median(values):{form}}** ({min(values):{form}}–{max(values):{form}})"


def page_of(found: Mapping[str, Any]) -> str:
    rows = found["rows"]
    return filled(
        "bench",
        tables=tables(found),
        rounds=max(row["round"] for row in rows),
        seconds=median(row["seconds"] for row in rows),
        others=median(row["others_cores"] for row in rows),
        **{name: found[name] for name in ("users", "rate", "cpus", "commit", "at")},
    )
