"""The values of a check: what is asked of the machine, and what is said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...model.limits import Limits

State = Literal["ok", "bounds", "missing", "unavailable"]
"""`bounds`: what is asked for exceeds it. `missing`: something that the app or the profile would use is not here, or not allowed.
`unavailable`: could not be read, so nothing is known."""

Scalar = int | float | str | bool | None

UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """What an exploration asks for; the defaults are those of a profile that says nothing."""

    users: int = 2_000
    """The most that it may come to (`guards.max_users`). With keep-alive a user holds a connection."""
    keep_alive: bool = True
    wait_s: float | None = None
    """Mean think time; None: not known (a locustfile)."""
    starts_target: bool = True
    limits: Limits = field(default_factory=Limits)

    @property
    def connections_per_s(self) -> float | None:
        """At most this many new connections a second: responses that take no time at all. None: no bound is known."""
        return self.users / self.wait_s if self.wait_s else None

    @property
    def spawn(self) -> int:
        """Users of one second, who may connect all at once: a step spawns at most 100 a second."""
        return min(self.users, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One row."""

    id: str
    title: str
    state: State
    readings: Mapping[str, Scalar]
    """What was read, by name with its unit; None: could not be read."""
    here: str
    """The readings in words."""
    bounds_at: str = ""
    """Where it ends."""
    lift: str = ""
    """The command or setting that moves that."""


def unavailable(check_id: str, title: str, readings: Mapping[str, Scalar]) -> Check:
    """Nothing is known of it: not the same as no bound."""
    return Check(id=check_id, title=title, state="unavailable", readings=readings, here=UNAVAILABLE)


def limit_option(key: str, value: object) -> str:
    """How to lift what the profile itself limits."""
    return f"--limit {key}={value}"
