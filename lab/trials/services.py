"""Ten real services whose capacity is known by construction, each explored five times (`make services`).

k requests at a time, each for s, and users that think for Z, so N* = k / s x (s + Z). No threshold was tuned on them.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal, Protocol, get_args

import msgspec

from lab.kit.programs import missing
from lab.kit.runs import LAB, Ran, headless
from lab.kit.tables import filled, table
from lab.trial import Judged, Result, Trial, commits, counted
from lab.trials.faults.trial import HARMLESS, current_of

Axis = Literal["users", "rate"]

TIMEOUT_S = 600.0
NEAR, NEAR_RATE = 0.10, 0.03
REPEATS = 5

BLAMES = ("bottleneck", "cause")
RIGHT = {
    "worker_pool_exhausted", "lock_or_pool_limit", "queue_growth", "rate_limit", "connection_churn", "service_closes_connections",
    *HARMLESS,
}  # fmt: skip
"""Ids that are right for all services: requests wait for a worker, a connection, a lock, a token or their turn; below the knee no
limit is reached, or think time is the limit. Gunicorn's sync workers close each connection."""


@dataclass(frozen=True, slots=True)
class KnownService:
    """A service and its users: `workers` requests at a time, each for `sleep_s`; users think for `think_s` on average."""

    name: str
    workers: int
    sleep_s: float
    think_s: float
    waits_for: str
    """What requests wait for."""
    program: str = ""
    """What it needs beside Python's packages."""
    delays: bool = False
    """Whether it is a rate limiter: a request that is not delayed takes no time."""
    overload_ids: tuple[str, ...] = ()
    """Of causes that it really has once far more requests wait than it has places for, as they do beyond its capacity by rate."""

    @property
    def capacity_rps(self) -> float:
        return self.workers / self.sleep_s

    @property
    def knee_users(self) -> float:
        return self.capacity_rps * (self.think_s + (0.0 if self.delays else self.sleep_s))

    @property
    def profile(self) -> str:
        return (
            f'title = "{self.name}: {self.capacity_rps:.4g}/s, knee at {self.knee_users:.3g} users"\n'
            f'target = "pool"\n'
            f'params = {{ service = "{self.name}", workers = {self.workers}, sleep_ms = {1000 * self.sleep_s} }}\n'
            f"[users]\nwait_s = {{ poisson = {1 / self.think_s} }}\n"
            '[[users.task]]\nname = "/work"\n'
            "[guards]\nmax_users = 300\n"
        )


# Java's server closes connections beyond 200 that are idle, some while a request arrives. A handler of the Redis service that
# waits 20 s for a connection fails, and the token that it was given is lost.
SERVICES = (
    KnownService("node", 5, 0.100, 0.40, "a semaphore in JavaScript", "node"),
    KnownService("go", 8, 0.150, 0.40, "a channel of tokens", "go"),
    KnownService("java", 6, 0.120, 0.50, "a pool of threads", "java", overload_ids=("connection_reset",)),
    KnownService("uvicorn", 3, 0.060, 0.50, "an asyncio semaphore"),
    KnownService("gunicorn", 4, 0.080, 0.40, "worker processes, in the accept queue"),
    KnownService("postgresql-pool", 4, 0.100, 0.50, "connections to PostgreSQL", "psql"),
    KnownService("postgresql-row", 1, 0.050, 1.00, "a lock on one row in PostgreSQL", "psql"),
    KnownService("redis", 5, 0.090, 0.40, "tokens in a list of Redis", "redis-server", overload_ids=("server_error",)),
    KnownService("nginx", 6, 0.100, 0.40, "`limit_req`, which delays", "nginx", delays=True),
    KnownService("haproxy", 6, 0.100, 0.40, "`maxconn` of the proxy before a service", "haproxy"),
)


class Known(Protocol):
    """A service with a truth."""

    @property
    def capacity_rps(self) -> float: ...

    @property
    def knee_users(self) -> float: ...


def judge(service: Known, knee: dict[str, Any], blamed: Sequence[str]) -> Judged:
    """`knee`: that of the summary, empty without one. Wrong are a knee or a capacity that is more than 10% off, and ids that the
    service does not have."""
    problems = [name for name, found, true in _compared(service, knee) if found is not None and abs(found / true - 1) > NEAR]
    absent = [name for name, found, _ in _compared(service, knee) if found is None]
    wrongly_blamed = [each for each in blamed if each not in RIGHT]
    return Judged(missing=tuple(absent), wrong=(*problems, *wrongly_blamed))


def judge_rate(service: KnownService, found: dict[str, Any], blamed: Sequence[str]) -> Judged:
    """`found`: the verdict on offered rates, empty without one. Wrong are a capacity that is more than 3% off, and ids that the
    service does not have."""
    per_s = found.get("per_s") if found.get("kind") == "capacity" else None
    is_near = per_s is None or abs(per_s / service.capacity_rps - 1) <= NEAR_RATE
    wrongly_blamed = [each for each in blamed if each not in (*RIGHT, *service.overload_ids)]
    return Judged(missing=("capacity",) * (per_s is None), wrong=(*("capacity",) * (not is_near), *wrongly_blamed))


def _compared(service: Known, knee: dict[str, Any]) -> Sequence[tuple[str, float | None, float]]:
    return (("knee", knee.get("users"), service.knee_users), ("capacity", knee.get("capacity_rps"), service.capacity_rps))


def judged(service: KnownService, ran: Ran, axis: Axis) -> Judged:
    blamed = sorted({mark.id for mark in current_of(ran.marks) if mark.kind in BLAMES})
    if axis == "users":
        verdict = ran.knee or {}
        found = judge(service, verdict, blamed)
        names = ("users", "users_low", "users_high", "capacity_rps", "confidence", "limit")
    else:
        capacities = [each.rates.capacity for each in ran.timeline.verdicts.values() if each.rates is not None]
        capacity = capacities[-1] if capacities else None
        verdict = msgspec.structs.asdict(capacity) if capacity is not None else {}
        found = judge_rate(service, verdict, blamed)
        names = ("kind", "per_s", "low_per_s", "high_per_s", "confidence", "limit")
    figures = {name: verdict.get(name) for name in names} | {
        "blamed": blamed,
        "explored_s": ran.timeline.last_s,
        "host_cpu_ratio": ran.median("host_cpu_ratio"),
        "load_average": ran.median("load_average_1m"),
        "exit_code": ran.exit_code,
    }
    return Judged(missing=found.missing, wrong=found.wrong, figures=figures)


class Services(Trial[KnownService]):
    """The autopilot on each. The services sleep rather than compute, so several can run at once."""

    name = "services"
    about = "The autopilot on ten services of known capacity."
    cases = {each.name: each for each in SERVICES}
    parallel = 2
    repeats = REPEATS

    def why_not(self, case: KnownService, options: argparse.Namespace) -> str:
        if importlib.util.find_spec("uvicorn") is None:
            return "uvicorn is not installed: `make services` installs lab/trials/services.lock first"
        return missing(case.program) if case.program else ""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--axis", choices=get_args(Axis), default="users", help="what the autopilot steps")

    def variants(self, case: KnownService, options: argparse.Namespace) -> Sequence[str]:
        return ("" if options.axis == "users" else "rate",)

    def carry_out(self, case: KnownService, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        profile = folder / f"{case.name}.toml"
        profile.write_text(case.profile, encoding="utf-8")
        ran = headless(folder, str(profile), "--autopilot", *filter(None, (variant,)), timeout_s=TIMEOUT_S, cwd=LAB)
        return judged(case, ran, options.axis)

    def page(self, results: Sequence[Result]) -> str:
        of_users = [each for each in results if not each.variant]
        by_rate = [each for each in results if each.variant]
        return self._page(of_users, by_rate)

    def _page(self, results: Sequence[Result], by_rate: Sequence[Result]) -> str:
        rows = [self._row(each, [one for one in results if one.case == each.name]) for each in SERVICES]
        agree = [_agree([one for one in results if one.case == each.name]) for each in SERVICES]
        holds = sum(_holds(self.cases[each.case], each.figures) for each in results)
        wrongly = sum(bool(set(each.figures.get("blamed", ())) - RIGHT) for each in results)
        head = ("service", "k requests wait for", "k", "s", "Z", "k/s", "N*", "knees found", "capacities, 1/s", "right", "load")
        counts = {"runs": len(results), "hold": holds, "wrongly": wrongly, "agree": sum(agree), "services": len(agree)}
        widths = {
            "half_width": _median_half_width(results, "users"),
            "high": sum(each.figures.get("confidence") == "high" for each in results),
            "took_s": f"{median(each.figures['explored_s'] for each in results):.0f}",
        }
        hold_rate = sum(_holds_rate(self.cases[each.case], each.figures) for each in by_rate)
        rates = (
            f"- By offered rate, capacities within 3%: {counted(by_rate)}; intervals that contain k/s: {hold_rate},"
            f" half of their width is {_median_half_width(by_rate, 'per_s')}.\n"
        )
        found = {"counted": counted(results), "commits": commits(results), "services_found": table(head, rows, "llr")}
        return filled(self.name, by_rate=rates if by_rate else "", **counts, **widths, **found)

    @staticmethod
    def _row(service: KnownService, results: Sequence[Result]) -> tuple[object, ...]:
        truth = (f"{service.sleep_s:g} s", f"{service.think_s:g} s", f"{service.capacity_rps:.4g}/s", f"{service.knee_users:.3g}")
        knees, rates = (_range([each.figures.get(name) for each in results]) for name in ("users", "capacity_rps"))
        right = f"{sum(each.right for each in results)} of {len(results)}"
        load = max((each.figures.get("load_average") or 0.0 for each in results), default=0.0)
        return (service.name, service.waits_for, service.workers, *truth, knees, rates, right, f"{load:.1f}")


def _range(values: Sequence[float | None]) -> str:
    """The least and the greatest, and how many of them there are none of."""
    known = [each for each in values if each is not None]
    missing = f", {len(values) - len(known)} missing" if len(known) < len(values) else ""
    return f"{min(known):.1f}–{max(known):.1f}{missing}" if known else "–"


def _holds(service: KnownService, found: dict[str, Any]) -> bool:
    """Whether the interval contains N*."""
    low, high = found.get("users_low"), found.get("users_high")
    return low is not None and high is not None and low <= service.knee_users <= high


def _holds_rate(service: KnownService, found: dict[str, Any]) -> bool:
    """Whether the interval contains k/s."""
    low, high = found.get("low_per_s"), found.get("high_per_s")
    return low is not None and high is not None and low <= service.capacity_rps <= high


_ENDS = {"users": ("users_low", "users_high"), "per_s": ("low_per_s", "high_per_s")}


def _median_half_width(results: Sequence[Result], name: str) -> str:
    """Median of half of the interval, as a share of the value."""
    low, high = _ENDS[name]
    known = [
        (figures[high] - figures[low]) / 2 / figures[name]
        for figures in (each.figures for each in results)
        if figures.get(low) is not None and figures.get(high) is not None
    ]
    return f"{median(known):.1%}" if known else "–"


def _agree(results: Sequence[Result]) -> bool:
    found = [each.figures for each in results if each.figures.get("users_low") is not None]
    return len(found) == len(results) and all(
        other["users_low"] <= one["users"] <= other["users_high"] for one in found for other in found
    )
