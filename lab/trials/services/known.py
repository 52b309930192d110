"""The services: k requests at a time, each for s, and users that think for Z, so N* = k / s x (s + Z). No threshold was tuned on
them; docs/services.md says what they led to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.trials.programs import missing

HERE = Path(__file__).resolve().parent

PROGRAMS = {
    "node": "node",
    "go": "go",
    "java": "java",
    "postgresql-pool": "psql",
    "postgresql-row": "psql",
    "redis": "redis-server",
    "nginx": "nginx",
    "haproxy": "haproxy",
}
"""The program that a service needs beside Python's packages."""


def why_not(service: str) -> str:
    """One line that names the missing program and its package; empty if nothing is missing."""
    return missing(PROGRAMS[service]) if service in PROGRAMS else ""


@dataclass(frozen=True, slots=True)
class KnownService:
    """A service and its users: `workers` requests at a time, each for `sleep_s`; users think for `think_s` on average."""

    name: str
    workers: int
    sleep_s: float
    think_s: float
    delays: bool = False
    """Whether it is a rate limiter: a request that is not delayed takes no time."""

    @property
    def capacity_rps(self) -> float:
        return self.workers / self.sleep_s

    @property
    def knee_users(self) -> float:
        """N*."""
        return self.capacity_rps * (self.think_s + (0.0 if self.delays else self.sleep_s))

    @property
    def profile(self) -> str:
        """Its profile, as TOML."""
        return (
            f'title = "{self.name}: {self.capacity_rps:.4g}/s, knee at {self.knee_users:.3g} users"\n'
            f'target = "pool"\n'
            f'params = {{ service = "{self.name}", workers = {self.workers}, sleep_ms = {1000 * self.sleep_s} }}\n'
            f"[users]\nwait_s = {{ poisson = {1 / self.think_s} }}\n"
            '[[users.task]]\nname = "/work"\n'
            "[guards]\nmax_users = 300\n"
        )


SERVICES = (
    KnownService("node", 5, 0.100, 0.40),
    KnownService("go", 8, 0.150, 0.40),
    KnownService("java", 6, 0.120, 0.50),
    KnownService("uvicorn", 3, 0.060, 0.50),
    KnownService("gunicorn", 4, 0.080, 0.40),
    KnownService("postgresql-pool", 4, 0.100, 0.50),
    KnownService("postgresql-row", 1, 0.050, 1.00),
    KnownService("redis", 5, 0.090, 0.40),
    KnownService("nginx", 6, 0.100, 0.40, delays=True),
    KnownService("haproxy", 6, 0.100, 0.40),
)
