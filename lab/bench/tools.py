"""The load generators that `clients` compares: how each is started, and its latency figures."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import rig

USERS = 50
RATE = 500
"""Requests per second of all users together in runs at the equal rate: 50 users wait 0.1 s."""
WAIT_S = USERS / RATE

Latency = tuple[float, float]
"""(p50, p99) in ms."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One generator."""

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
        found = rig.BIN / self.program
        if found.exists():
            return str(found)
        places = [os.environ.get("PATH", ""), *(str(Path.home() / place) for place in ("go/bin", ".cargo/bin"))]
        return shutil.which(self.program, path=os.pathsep.join(places))


def _app(client: str) -> Callable[[Path, str, float, bool], Sequence[str]]:
    def command(folder: Path, url: str, seconds: float, at_rate: bool) -> Sequence[str]:
        profile = folder / "bench.toml"
        wait_s = WAIT_S if at_rate else 0.0
        profile.write_text(rig.PROFILE.format(url=url, users=USERS, wait_s=wait_s, client=client, path="/"))
        plan = f"{USERS}:{seconds:.0f}s"
        return ["run", str(profile), "--headless", "--plan", plan, "--sessions-dir", str(folder / "sessions")]

    return command


def _app_latency(folder: Path, _: str) -> Latency:
    p50_ms, p99_ms = rig.Run(folder / "sessions").latency().percentiles_ms((0.50, 0.99))
    return p50_ms or 0.0, p99_ms or 0.0


def _locust(folder: Path, url: str, seconds: float, at_rate: bool) -> Sequence[str]:
    wait_s = WAIT_S if at_rate else 0.0
    text = rig.LOCUSTFILE.format(out=str(folder / "out.json"), kind="FastHttpUser", wait_s=wait_s)
    (folder / "bench_locust.py").write_text(text if at_rate else _without_listeners(text))
    return ["-f", str(folder / "bench_locust.py"), "--headless", "-H", url, "-u", str(USERS), "-r", str(USERS),
            "-t", f"{seconds + 2:.0f}s", "--only-summary", "--loglevel", "ERROR"]  # fmt: skip


def _without_listeners(text: str) -> str:
    """The locustfile without the listeners of this benchmark, since Locust's own CPU use is measured."""
    return re.sub(r"@events\..*?(?=\n(?:@|class ))", "", text, flags=re.DOTALL)


def _locust_latency(folder: Path, _: str) -> Latency:
    starts, latencies_ms = json.loads((folder / "out.json").read_text())
    kept = [ms for at, ms in zip(starts, latencies_ms, strict=True) if at >= starts[0] + 4]
    return rig.percentile(kept, 0.50), rig.percentile(kept, 0.99)


_K6 = """\
import http from "k6/http";
import {{ sleep }} from "k6";
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


_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def _wrk_latency(_: Path, output: str) -> Latency:
    found = {share: float(value) * _MS[unit] for share, value, unit in re.findall(r"(50|99)%\s+([\d.]+)(us|ms|s)\b", output)}
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
