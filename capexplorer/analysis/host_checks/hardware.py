"""Checks of cores and memory, of cgroup limits on them, and of other processes that use them.

A check whose state is `bounds` found a limit on the load.
"""

from __future__ import annotations

from ...model.limits import Machine
from ..causes.generator_saturation import OTHERS_LEAST
from .check import Check, Needs, unavailable

_GENERATOR_CORES = 1
"""The load runs in one thread; screen and probes use a few percent of another core."""

_LEAST_MEMORY_BYTES = 512 << 20
"""The app needs about 150 MB with 100 users (measured), the target some of its own."""


def cores(machine: Machine, needs: Needs) -> Check:
    """Generator and target share the cores unless each is limited to its own. Up to two shared cores are a limit: the target then
    has at most as many as the generator.
    """
    usable = machine.cpus_usable or machine.host.cpus
    if usable is None:
        return unavailable("cores", "cores", {"cpus_usable": None, "cpus": None})
    own, its = needs.limits.generator.cpus, needs.limits.target.cpus
    apart = own is not None and its is not None and not set(own) & set(its)
    shared = needs.starts_target and not apart
    of_target = len(its) if its is not None else usable - _GENERATOR_CORES if shared else usable
    return Check(
        id="cores",
        title="cores",
        state="bounds" if shared and usable <= 2 * _GENERATOR_CORES else "ok",
        readings={"cpus_usable": usable, "cpus": machine.host.cpus, "shared": shared},
        here=f"{usable} of {machine.host.cpus}"
        + (", shared by generator and target" if shared else ", separate cores for each" * apart),
        bounds_at=f"one core of generator; at its full load {of_target} left for the target"
        if shared
        else "one core of generator",
        lift="" if not shared else _apart(usable),
    )


def _apart(usable: int) -> str:
    """How to separate generator and target."""
    elsewhere = "the target on another machine, with --host URL --allow-host HOST"
    if usable < 2:
        return elsewhere
    rest = ",".join(map(str, range(1, usable)))
    return f"--limit generator.cpus=[0] --limit target.cpus=[{rest}], or {elsewhere}"


def cgroup_cpus(machine: Machine, needs: Needs) -> Check:
    """A CPU quota throttles generator and target, which looks like a slow service."""
    quota, usable = machine.host.cgroup_cpus, machine.cpus_usable or machine.host.cpus
    bounds = quota is not None and usable is not None and quota < usable
    return Check(
        id="cgroup_cpus",
        title="cgroup: CPU",
        state="bounds" if bounds else "ok",
        readings={"cgroup_cpus": quota},
        here="no quota found" if quota is None else f"{quota:g} cores",
        bounds_at="" if quota is None else f"{quota:g} cores for generator and target together, throttled above that",
        lift="" if quota is None else "the container's CPU limit",
    )


def neighbours(machine: Machine, needs: Needs) -> Check:
    """Other processes take CPU from generator and target, so a knee may be theirs and not the service's."""
    others, cpus = machine.neighbours.cpu_ratio, machine.cpus_usable or machine.host.cpus
    if others is None:
        return unavailable("neighbours", "other processes", {"others_cpu_ratio": None, "others": None})
    names = ", ".join(f"{name} {ratio:.2f}" for name, ratio in machine.neighbours.processes.items())
    left = None if cpus is None else max(0.0, cpus - others)
    return Check(
        id="neighbours",
        title="other processes",
        state="bounds" if others >= OTHERS_LEAST else "ok",
        readings={"others_cpu_ratio": round(others, 3), "others": names or None},
        here=f"{others:.2f} of {cpus} cores in use now" + (f": {names}" if names else ""),
        bounds_at="" if left is None else f"{left:.1f} cores left for generator and target",
        lift="" if others < OTHERS_LEAST else "end them, or move them to other cores (taskset, cpuset), before the start",
    )


def memory(machine: Machine, needs: Needs) -> Check:
    """Memory that generator and target may use together."""
    total, limit = machine.host.memory_bytes, machine.host.cgroup_memory_bytes
    readings = {"memory_bytes": total, "cgroup_memory_bytes": limit}
    least = min((each for each in (total, limit) if each is not None), default=None)
    if least is None:
        return unavailable("memory", "memory", readings)
    limited = limit is not None and limit == least
    return Check(
        id="memory",
        title="memory",
        state="bounds" if least < _LEAST_MEMORY_BYTES else "ok",
        readings=readings,
        here=f"{least / 2**30:.1f} GiB" + (", by the cgroup" if limited else ", no limit of a cgroup found"),
        bounds_at=f"{least / 2**30:.1f} GiB for generator and target together",
        lift="the container's memory limit" if limited else "",
    )
