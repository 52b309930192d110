"""Services with a known knee: k workers that each sleep s, users that think for Z, so N* = k/s x (s + Z)."""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capexplorer import profile
from capexplorer.steer.plan import parse
from lab.kit.runs import ROOT, Ran, headless
from lab.kit.servers import busy, sleepers
from lab.trial import Judged, kinds

PROFILES = Path(__file__).resolve().parent / "profiles"
REQUEST = b"GET /work HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
KNEE_KINDS = ("knee", "at_or_below", "bend")

TIMEOUT_S = 400.0
"""A run that has found nothing by then counts as a miss."""
WITHIN = 0.15
DISTURBED_LAG_MS = 20.0
"""A run with a higher median p99 of loop lag was disturbed by the machine. The rule was set before the first run."""
CAPACITY_WITHIN = 0.02

THINKING_USERS = (10, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 240)
THINKING_HOLD_S = 25
"""The user counts are climbed up and down: 24 levels, 10 minutes."""
HELD_USERS = (10, 20, 30, 40, 60, 80, 100, 130, 160, 200, 250, 300)
HELD_HOLD_S = 10
SLEEPERS_KNEE = 40


@dataclass(frozen=True, slots=True)
class System:
    """A service and its users: k workers, service time s, think time Z, read from its profile."""

    name: str
    workers: int
    sleep_s: float
    think_s: float
    waits: str
    """The distribution of think times."""

    @property
    def path(self) -> Path:
        return PROFILES / f"{self.name}.toml"

    @property
    def capacity_rps(self) -> float:
        return self.workers / self.sleep_s

    @property
    def knee_users(self) -> float:
        return self.capacity_rps * (self.sleep_s + self.think_s)


def system(name: str) -> System:
    """The system of a profile in `profiles/`, so that documented and actual parameters cannot differ."""
    found = profile.load(PROFILES / f"{name}.toml")
    wait = found.users.wait_s
    assert isinstance(wait, profile.Wait)
    if wait.between is not None:
        waits, think_s = "uniform", sum(wait.between) / 2
    elif wait.poisson is not None:
        waits, think_s = "exponential", 1 / wait.poisson
    else:
        assert wait.constant is not None
        waits, think_s = "constant", wait.constant
    return System(name, int(found.params["workers"]), float(found.params["sleep_ms"]) / 1000, think_s, waits)


SYSTEMS = tuple(system(name) for name in ("four-workers", "eight-workers", "ten-workers"))


def capacity(each: System, folder: Path) -> Judged:
    """Completions of the service while its queue is never empty, without capexplorer, counted over whole rounds of k."""
    with sleepers(each.workers, each.sleep_s * 1000) as (port, pid):
        times = _replies(port, 3 * each.workers, seconds=20.0)
        user, in_kernel = map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])
    rounds = times[each.workers :: each.workers]
    rate = (len(rounds) - 1) * each.workers / (rounds[-1] - rounds[0])
    figures = {"true_rps": each.capacity_rps, "measured_rps": rate, "cores": (user + in_kernel) / os.sysconf("SC_CLK_TCK") / 20}
    return Judged(wrong=() if abs(rate / each.capacity_rps - 1) < CAPACITY_WITHIN else ("capacity",), figures=figures)


def _replies(port: int, connections: int, seconds: float) -> list[float]:
    """Times at which replies arrived, in seconds of the monotonic clock; each connection always has one request in flight."""
    times: list[float] = []
    with selectors.DefaultSelector() as selector:
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
        try:
            for client in clients:
                client.sendall(REQUEST)
                selector.register(client, selectors.EVENT_READ, client)
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s:
                for key, _ in selector.select(1):
                    key.data.recv(4096)
                    times.append(time.monotonic())
                    key.data.sendall(REQUEST)
        finally:
            for client in clients:
                client.close()
    return times


def knee(each: System, folder: Path) -> Judged:
    return judge_knee(each, headless(folder, str(each.path), "--autopilot", timeout_s=TIMEOUT_S))


def judge_knee(each: System, ran: Ran) -> Judged:
    found, lag_ms, levels = ran.knee or {}, ran.median("loop_lag_p99_ms"), ran.timeline.levels
    users, low, high = found.get("users"), found.get("users_low"), found.get("users_high")
    names = ("users", "users_low", "users_high", "capacity_rps", "limit", "confidence")
    figures = {name: found.get(name) for name in names} | {
        "true_users": each.knee_users,
        "true_rps": each.capacity_rps,
        "found": [one["kind"] for one in ran.summary["knees"]],
        "explored_s": ran.timeline.last_s,
        "first_knee_s": next((mark.t_s for mark in ran.marks if mark.kind == "knee"), None),
        "most_users": max((level.users for level in levels), default=0),
        "exit_code": ran.exit_code,
        "loop_lag_p99_ms": lag_ms,
        **{name: ran.median(name) for name in ("generator_cpu_ratio", "target_cpu_ratio")},
        "load_average": ran.median("load_average_1m"),
        "disturbed": lag_ms is None or lag_ms > DISTURBED_LAG_MS,
    }
    wrong = {
        "knee": users is not None and abs(users / each.knee_users - 1) > WITHIN,
        "interval": low is not None and high is not None and not low <= each.knee_users <= high,
    }
    return Judged(missing=("knee",) * (users is None), wrong=kinds(wrong), figures=figures)


def thinking(name: str, folder: Path, hold_s: float = THINKING_HOLD_S) -> Judged:
    """Users that only think: no knee, bend or knee at or below may be marked, not even one that was retracted."""
    users = (*THINKING_USERS, *reversed(THINKING_USERS))
    plan = ",".join(f"{count}:{hold_s}s" for count in users)
    ran = headless(folder, str(PROFILES / f"{name}.toml"), "--plan", plan, timeout_s=len(users) * (hold_s + 10) + 60)
    marked = sorted({mark.kind for mark in ran.marks})
    figures = {"marked": marked, "levels": len(ran.timeline.levels), "goodput_rps": _highest_goodput_rps(ran)}
    figures["no_knee_up_to_users"] = ran.summary["no_knee_up_to_users"]
    bad_end = (f"exit code {ran.exit_code}",) * (ran.exit_code != 0)
    return Judged(wrong=(*(kind for kind in marked if kind in KNEE_KINDS), *bad_end), figures=figures)


def held(folder: Path) -> Judged:
    """capexplorer shares one core with busy processes, the service has the other core: the busy processes must be blamed, and
    never the target."""
    plan = ",".join(f"{count}:{HELD_HOLD_S}s" for count in HELD_USERS)
    limit_s = len(HELD_USERS) * (HELD_HOLD_S + 10) + 60.0
    with sleepers(4, 100.0, before=("taskset", "-c", "1")) as (port, _), busy([0], most_s=limit_s):
        where = ("--host", f"http://127.0.0.1:{port}", "--plan", plan)
        ran = headless(folder, str(PROFILES / "held.toml"), *where, timeout_s=limit_s, before=("taskset", "-c", "0"))
    found = [mark.finding.figures() for mark in ran.marks if mark.kind == "knee"]
    limits = sorted({str(each["limit"]) for each in found if "limit" in each})
    blamed = sorted({mark.id for mark in ran.marks if mark.kind in ("bottleneck", "cause")})
    figures = {
        "limits": limits,
        "marked": blamed,
        "knee_users": (ran.knee or {}).get("users"),
        "goodput_rps": _highest_goodput_rps(ran),
    }
    figures |= {name: ran.median(name) for name in ("loop_lag_p99_ms", "generator_cpu_ratio")}
    missing = () if "noisy_neighbours" in blamed else ("noisy_neighbours",)
    return Judged(missing=missing, wrong=tuple(set(limits) - {"generator", "unknown"}), figures=figures)


def ladder(folder: Path) -> Judged:
    """The plan `ladder` of the profile `sleepers`: the first knee must be marked in time."""
    return in_time(headless(folder, "sleepers", "--plan", "ladder", timeout_s=plan_s("sleepers", "ladder") + 60), SLEEPERS_KNEE)


def in_time(ran: Ran, knee_users: float) -> Judged:
    """Whether the first knee was marked while the first level beyond N*, or the one after it, ran."""
    beyond = [level for level in ran.timeline.levels if level.users > knee_users]
    first = next((mark for mark in ran.marks if mark.kind == "knee"), None)
    if first is None or len(beyond) < 2:
        return Judged(missing=("knee",), figures={"levels": [level.users for level in ran.timeline.levels]})
    until_s = beyond[1].ended_s or ran.timeline.last_s
    figures: dict[str, Any] = {
        "first_knee_s": first.t_s,
        "users": first.users,
        "beyond_from_s": beyond[0].opened.t_s,
        "second_beyond_from_s": beyond[1].opened.t_s,
        "at_the_end": (ran.knee or {}).get("users"),
    }
    return Judged(wrong=() if beyond[0].opened.t_s <= first.t_s <= until_s else ("knee marked too late",), figures=figures)


def _highest_goodput_rps(ran: Ran) -> float:
    return max((level.figures.goodput_rps or 0.0 for level in ran.timeline.levels), default=0.0)


def plan_s(name: str, plan: str, find_s: float = 600.0) -> float:
    """Longest duration of a plan of a shipped profile."""
    found = profile.load(ROOT / "profiles" / f"{name}.toml")
    steps: Sequence[Any] = parse(found.plans.get(plan, plan), plan, found.guards.max_users)
    return float(sum(step.hold_s + 10.0 + find_s * (step.kind == "find") for step in steps))
