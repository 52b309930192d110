"""The values of a host check: what an exploration needs of the machine, and the result of a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...model.limits import Limits

State = Literal["ok", "bounds", "missing", "unavailable"]
"""`bounds`: the exploration needs more than this limit allows. `missing`: something that the app or the profile uses is absent or
not permitted. `unavailable`: the limit could not be read."""

Scalar = int | float | str | bool | None

UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What an exploration needs of the machine; the defaults are those of an empty profile."""

    users: int = 2_000
    """The most users allowed (`guards.max_users`). With keep-alive each user holds one connection."""
    keep_alive: bool = True
    wait_s: float | None = None
    """Mean think time; None: not known (a locustfile)."""
    starts_target: bool = True
    """Whether the app starts the target, on this machine."""
    limits: Limits = field(default_factory=Limits)

    @property
    def connections_per_s(self) -> float | None:
        """Upper bound of new connections a second, without keep-alive and if responses took no time; None: not known."""
        return self.users / self.wait_s if self.wait_s else None

    @property
    def spawn(self) -> int:
        """Users started in one second, who may all connect at once: a step starts at most 100 a second."""
        return min(self.users, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check."""

    id: str
    title: str
    state: State
    readings: Mapping[str, Scalar]
    """Readings by name; None: could not be read."""
    here: str
    """The readings on this machine, in words."""
    bounds_at: str = ""
    """The load that the limit allows, in words."""
    lift: str = ""
    """The command or setting that raises the limit, or what else helps."""


def unavailable(check_id: str, title: str, readings: Mapping[str, Scalar]) -> Check:
    """The result of a check whose limit could not be read; that does not mean that there is none."""
    return Check(id=check_id, title=title, state="unavailable", readings=readings, here=UNAVAILABLE)


def limit_option(key: str, value: object) -> str:
    """The command-line option that raises a limit set by the profile's `[limits]` table."""
    return f"--limit {key}={value}"
