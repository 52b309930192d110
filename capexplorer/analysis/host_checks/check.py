"""The values of a host check: what an exploration needs of the machine, and the result of a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...model.limits import Limits, Machine, NetworkLimits

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


# -- rights --------------------------------------------------------------------------------------------------------------------
# Checks of permissions and programs: without them evidence is incomplete, or a profile cannot run.


def pressure(machine: Machine, needs: Needs) -> Check:
    """Pressure readings (PSI) confirm saturation of CPU, memory and disk."""
    found = machine.pressure_readable
    if found is None:
        return unavailable("pressure", "pressure readings (PSI)", {"pressure_readable": None})
    return Check(
        id="pressure",
        title="pressure readings (PSI)",
        state="ok" if found else "missing",
        readings={"pressure_readable": found},
        here="readable" if found else "not readable",
        bounds_at="" if found else "saturation of memory and disk cannot be confirmed",
        lift="" if found else "boot with psi=1",
    )


def other_users(machine: Machine, needs: Needs) -> Check:
    """Permission to read processes of other users: needed for a service that is not started by the app and runs as another
    user.
    """
    allowed = machine.reads_other_users
    if allowed is None:
        return unavailable("other_users", "other users' processes", {"reads_other_users": None})
    return Check(
        id="other_users",
        title="other users' processes",
        state="ok" if allowed or needs.starts_target else "missing",
        readings={"reads_other_users": allowed},
        here="readable" if allowed else "not readable",
        bounds_at="" if allowed else "open files and disk I/O of a service that runs as another user stay unavailable",
        lift="" if allowed else "run as the service's user, or as root",
    )


def namespaces(machine: Machine, needs: Needs) -> Check:
    """Permission to make network namespaces, which `[limits.network]` of a profile needs."""
    refused, wanted = machine.namespace_refused, needs.limits.network != NetworkLimits()
    return Check(
        id="namespaces",
        title="network namespaces",
        state="missing" if refused else "ok",
        readings={"namespace_refused": refused, "asked_for": wanted},
        here="not allowed" if refused else "allowed",
        bounds_at="" if not refused else "the profile cannot run" if wanted else "[limits.network] cannot be used",
        lift=refused or "",
    )


def programs(machine: Machine, needs: Needs) -> Check:
    """Programs that targets need besides Python."""
    missing = [name for name, path in machine.programs.items() if path is None]
    return Check(
        id="programs",
        title="programs for targets",
        state="missing" if missing else "ok",
        readings=dict(machine.programs),
        here=", ".join(f"{name}: {path or 'not found'}" for name, path in machine.programs.items()) or "none needed",
        bounds_at=f"targets that need {', '.join(missing)} cannot start" if missing else "",
        lift=f"install {', '.join(missing)}, or put it on PATH" if missing else "",
    )
