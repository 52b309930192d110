"""The values of a host check: what an exploration needs of the machine, and what a check found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...model.limits import Limits

State = Literal["ok", "bounds", "missing", "unavailable"]
"""`bounds`: the exploration needs more than this limit. `missing`: something that the app or the profile uses is absent or not
allowed. `unavailable`: could not be read."""

Scalar = int | float | str | bool | None

UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """What an exploration needs; the defaults are those of an empty profile."""

    users: int = 2_000
    """The most users allowed (`guards.max_users`). With keep-alive each user holds one connection."""
    keep_alive: bool = True
    wait_s: float | None = None
    """Mean think time; None: not known (a locustfile)."""
    starts_target: bool = True
    limits: Limits = field(default_factory=Limits)

    @property
    def connections_per_s(self) -> float | None:
        """Upper bound of new connections a second, if responses take no time; None: not known."""
        return self.users / self.wait_s if self.wait_s else None

    @property
    def spawn(self) -> int:
        """Users started in one second, who may connect at once: a step starts at most 100 a second."""
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
    """The readings in words."""
    bounds_at: str = ""
    """The limit, in words."""
    lift: str = ""
    """The command or setting that raises the limit."""


def unavailable(check_id: str, title: str, readings: Mapping[str, Scalar]) -> Check:
    """A check whose reading could not be taken; not the same as no limit."""
    return Check(id=check_id, title=title, state="unavailable", readings=readings, here=UNAVAILABLE)


def limit_option(key: str, value: object) -> str:
    """The option that raises a limit set by the profile itself."""
    return f"--limit {key}={value}"
