"""One exploration of a known service by the autopilot, headless and in real time."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lab.trials.experiments.headless import Ran, run
from lab.trials.faults.judge import HARMLESS

from .known import HERE, KnownService

TIMEOUT_S = 600.0
NEAR = 0.10

BLAMES = ("bottleneck", "cause")
RIGHT = {
    "worker_pool_exhausted",
    "lock_or_pool_limit",
    "queue_growth",
    "rate_limit",
    "connection_churn",
    "service_closes_connections",
    *HARMLESS,
}
"""Ids that are right for all services: requests wait for a worker, a connection, a lock, a token or their turn; below the knee no
limit is reached, or think time is the limit. Gunicorn's sync workers close each connection."""


class ServiceRun(msgspec.Struct, frozen=True, kw_only=True):
    """A row of results."""

    service: str
    number: int
    true_users: float
    true_rps: float
    users: float | None
    users_low: float | None
    users_high: float | None
    capacity_rps: float | None
    confidence: str | None
    limit: str | None
    blamed: tuple[str, ...]
    """Ids of the bottlenecks and causes that were marked at the end."""
    verdict: str
    seconds: float
    host_cpu_ratio: float | None
    """Busy cores; the services use 0.1 cores."""
    load_average: float | None
    """Medians over settled seconds."""
    exit_code: int | None

    @property
    def near(self) -> bool:
        """Whether knee and capacity are within 10% of the truth."""
        return self._within(self.users, self.true_users) and self._within(self.capacity_rps, self.true_rps)

    @property
    def holds(self) -> bool:
        """Whether the interval contains N*."""
        return self.users_low is not None and self.users_high is not None and self.users_low <= self.true_users <= self.users_high

    @property
    def wrongly_blamed(self) -> tuple[str, ...]:
        return tuple(each for each in self.blamed if each not in RIGHT)

    @staticmethod
    def _within(value: float | None, truth: float) -> bool:
        return value is not None and abs(value / truth - 1) <= NEAR


def explored(service: KnownService, number: int, folder: Path) -> ServiceRun:
    """`capexplorer run PROFILE --autopilot --headless` on the service, which it starts itself."""
    folder.mkdir(parents=True)
    profile = folder / f"{service.name}.toml"
    profile.write_text(service.profile, encoding="utf-8")
    return _row(service, number, run(folder, str(profile), "--autopilot", timeout_s=TIMEOUT_S, cwd=HERE))


def _row(service: KnownService, number: int, ran: Ran) -> ServiceRun:
    knee, summary = ran.knee or {}, ran.summary
    current = {mark.key: mark for mark in ran.marks}
    blamed = [mark for mark in current.values() if mark.kind in BLAMES and mark.state != "retracted"]
    return ServiceRun(
        service=service.name,
        number=number,
        true_users=service.knee_users,
        true_rps=service.capacity_rps,
        users=knee.get("users"),
        users_low=knee.get("users_low"),
        users_high=knee.get("users_high"),
        capacity_rps=knee.get("capacity_rps"),
        confidence=knee.get("confidence"),
        limit=knee.get("limit"),
        blamed=tuple(sorted({mark.id for mark in blamed})),
        verdict=str(summary["verdict"]),
        seconds=ran.timeline.last_s,
        host_cpu_ratio=ran.median("host_cpu_ratio"),
        load_average=ran.median("load_average_1m"),
        exit_code=ran.exit_code,
    )
