"""Checks of permissions and programs: without them evidence is incomplete, or a profile cannot run."""

from __future__ import annotations

from ...model.limits import NetworkLimits
from ...model.machine import Machine
from .check import Check, Needs, unavailable


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
