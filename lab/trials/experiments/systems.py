"""The services with a known knee: k workers that each sleep s, users that think for Z, so N* = k/s x (s + Z)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from capexplorer import profile

PROFILES = Path(__file__).resolve().parent / "profiles"


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
        """The path of its profile."""
        return PROFILES / f"{self.name}.toml"

    @property
    def capacity_rps(self) -> float:
        return self.workers / self.sleep_s

    @property
    def knee_users(self) -> float:
        """N*."""
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
