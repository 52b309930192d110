"""Host checks: what an exploration needs of the machine, and whether it has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from ..model.limits import Limits, Machine, NetworkLimits
from .causes.generator_saturation import OTHERS_LEAST

State = Literal["ok", "bounds", "missing", "unavailable"]
"""`bounds`: the exploration needs more than this limit allows. `missing`: something that the app or the profile uses is absent or
not permitted. `unavailable`: the limit could not be read."""

Scalar = int | float | str | bool | None

UNAVAILABLE = "unavailable"


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What an exploration needs of the machine; the defaults are those of an empty profile."""

    users: int = 2_000
    """The most users allowed (`guards.max_users`). With keep-alive each user holds one connection."""
    keep_alive: bool = True
    wait_s: float | None = None
    """Mean think time; None: not known (a locustfile)."""
    starts_target: bool = True
    """Whether the app starts the target, on this machine."""
    limits: Limits = msgspec.field(default_factory=Limits)

    @property
    def connections_per_s(self) -> float | None:
        """Upper bound of new connections a second, without keep-alive and if responses took no time; None: not known."""
        return self.users / self.wait_s if self.wait_s else None

    @property
    def spawn(self) -> int:
        """Users started in one second, who may all connect at once: a step starts at most 100 a second."""
        return min(self.users, 100)


class Check(msgspec.Struct, frozen=True, kw_only=True):
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


# -- Checks of permissions and programs: without them evidence is incomplete, or a profile cannot run.


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


# -- Checks of cores and memory, of cgroup limits on them, and of other processes that use them.
#
# A check whose state is `bounds` found a limit on the load.


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
    # the load runs in one thread; screen and probes use a few percent of another core
    of_target = len(its) if its is not None else usable - 1 if shared else usable
    return Check(
        id="cores",
        title="cores",
        state="bounds" if shared and usable <= 2 else "ok",
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
    needed = 512 << 20  # the app needs about 150 MB with 100 users (measured), the target some of its own
    return Check(
        id="memory",
        title="memory",
        state="bounds" if least < needed else "ok",
        readings=readings,
        here=f"{least / 2**30:.1f} GiB" + (", by the cgroup" if limited else ", no limit of a cgroup found"),
        bounds_at=f"{least / 2**30:.1f} GiB for generator and target together",
        lift="the container's memory limit" if limited else "",
    )


# -- Checks of limits on open files: each connection needs a descriptor at both ends.

_OWN = 50
"""Descriptors of the app itself without load: log, pipes, event loops, open files of /proc (measured: 48)."""

_ENOUGH = 65_536
"""The least limit that is recommended."""


def kept_connections(machine: Machine, needs: Needs) -> Check:
    """Whether the generator can check at any number of users that a kept connection is still open: select() is limited."""
    if machine.has_poll is None:
        return unavailable("kept_connections", "kept connections, generator", {"has_poll": None})
    selectable = 1_024  # FD_SETSIZE: select() takes descriptors below this
    most = selectable - _OWN
    return Check(
        id="kept_connections",
        title="kept connections, generator",
        state="ok" if machine.has_poll or not needs.keep_alive or needs.users <= most else "bounds",
        readings={"has_poll": machine.has_poll},
        here="any number (poll)" if machine.has_poll else f"descriptors below {selectable:,} (select)",
        bounds_at="" if machine.has_poll else f"{most:,} users: further ones connect for each request",
        lift="" if machine.has_poll else "fewer users",
    )


def fds_of_generator(machine: Machine, needs: Needs) -> Check:
    """Open files of the generator. The app raises its soft limit to the hard one, unless the profile limits it."""
    limited = needs.limits.generator.open_files
    limit = machine.fds_hard_limit if limited is None else limited
    readings = {"fds_soft_limit": machine.host.fds_limit, "fds_hard_limit": machine.fds_hard_limit, "limit_of_profile": limited}
    if limit is None:
        return unavailable("fds_generator", "open files, generator", readings)
    enough = max(_ENOUGH, 2 * limit)
    most = limit - _OWN - min(512, limit // 8)  # the probes keep as many files of the target's threads
    return Check(
        id="fds_generator",
        title="open files, generator",
        state="bounds" if needs.users > most else "ok",
        readings=readings | {"connections_at_most": most},
        here=f"{limit:,} by [limits]" if limited is not None else f"{limit:,} (the hard limit: the app raises its own)",
        bounds_at=f"{most:,} users with a connection each",
        lift=limit_option("generator.open_files", enough)
        if limited is not None
        else f"as root, before the start: ulimit -n {enough}",
    )


def fds_of_target(machine: Machine, needs: Needs) -> Check:
    """Open files of the target. One that the app starts has the soft limit of the shell, or that of the profile; the limit of one
    that runs already is not known.
    """
    limited = needs.limits.target.open_files
    limit = (machine.host.fds_limit if limited is None else limited) if needs.starts_target else None
    readings = {"fds_soft_limit": machine.host.fds_limit, "limit_of_profile": limited}
    if limit is None:
        return unavailable("fds_target", "open files, target", readings)
    # without load 20 descriptors: streams, listeners, log (7 for `mixed`, measured; assumed for others)
    most, hard = max(limit - 20, 0), machine.fds_hard_limit
    return Check(
        id="fds_target",
        title="open files, target",
        state="bounds" if needs.users > most else "ok",
        readings=readings | {"connections_at_most": most},
        here=f"{limit:,} by [limits]" if limited is not None else f"{limit:,} (the soft limit here)",
        bounds_at=f"about {most:,} connections to one process",
        lift=limit_option("target.open_files", hard if hard and hard > limit else max(_ENOUGH, 2 * limit)),
    )


def fds_of_system(machine: Machine, needs: Needs) -> Check:
    """Open files of all processes together; a connection on loopback needs two."""
    most, used = machine.host.fds_limit_of_system, machine.fds_of_system
    readings = {"fds_of_system": used, "fds_limit_of_system": most}
    if most is None or used is None:
        return unavailable("fds_system", "open files, whole system", readings)
    left = max(most - used, 0)
    return Check(
        id="fds_system",
        title="open files, whole system",
        state="bounds" if 2 * needs.users > left else "ok",
        readings=readings,
        here=f"{used:,} of {most:,}",
        bounds_at=f"{left // 2:,} connections on loopback",
        lift=f"sysctl -w fs.file-max={2 * most}",
    )


# -- Checks of limits on connections: ephemeral ports and when they are free again, a listener's queues, connection tracking.

_WIDEST = '"1024 65535"'
"""The widest port range, as sysctl takes it."""


def ports(machine: Machine, needs: Needs) -> Check:
    """Ephemeral ports: from one source address to one destination there are at most as many connections as ports."""
    host, limited = machine.host, needs.limits.network.ip_local_port_range
    capacity, span = _ports(machine, needs), limited or host.port_range
    readings = {
        "port_first": span[0] if span else None,
        "port_last": span[1] if span else None,
        "ports_reserved": 0 if limited else host.ports_reserved,
        "ports_capacity": capacity,
    }
    if capacity is None or span is None:
        return unavailable("ports", "ephemeral ports", readings)
    reserved = f", {readings['ports_reserved']:,} of them reserved" if readings["ports_reserved"] else ""
    return Check(
        id="ports",
        title="ephemeral ports",
        state="bounds" if needs.users > capacity else "ok",
        readings=readings,
        here=f"{span[0]}-{span[1]}{reserved}" + (" by [limits]" if limited else ""),
        bounds_at=f"{capacity:,} connections to one address and port",
        lift=_port_lift(*span, limited=limited is not None),
    )


def _port_lift(first: int, last: int, *, limited: bool) -> str:
    if limited:
        return limit_option("network.ip_local_port_range", "[10000,65534]")
    if last - first > 60_000:
        return "more source or destination addresses"
    return f"sysctl -w net.ipv4.ip_local_port_range={_WIDEST}"


def new_connections(machine: Machine, needs: Needs) -> Check:
    """New connections a second: P ports allow P/60 without reuse of ports in TIME_WAIT, P with it. On loopback tcp_tw_reuse 2
    is as good as 1 (measured).
    """
    limited, capacity = needs.limits.network.tcp_tw_reuse, _ports(machine, needs)
    reuse = machine.host.tcp_tw_reuse if limited is None else limited
    readings = {"tcp_tw_reuse": reuse, "ports_capacity": capacity, "tcp_tw_reuse_delay_ms": machine.tcp_tw_reuse_delay_ms}
    if reuse is None or capacity is None:
        return unavailable("new_connections", "new connections", readings)
    # TCP_TIMEWAIT_LEN is 60 s; before Linux 6.14 a port is reused after 1 s, which the kernel does not report
    free_after_s = (machine.tcp_tw_reuse_delay_ms or 1000) / 1000 if reuse else 60.0
    ceiling_rps = capacity / free_after_s
    asked_rps = 0.0 if needs.keep_alive else needs.connections_per_s
    loopback = " on loopback; elsewhere a sixtieth" if reuse == 2 else ""
    return Check(
        id="new_connections",
        title="new connections",
        state="bounds" if asked_rps is None or asked_rps > ceiling_rps else "ok",
        readings=readings | {"ceiling_per_s": round(ceiling_rps, 1), "asked_at_most_per_s": asked_rps},
        here=f"tcp_tw_reuse {reuse}"
        + (" by [limits]" if limited is not None else "")
        + f": a port is free again after {free_after_s:g} s",
        bounds_at=f"{ceiling_rps:,.0f} a second, when the client closes first{loopback}",
        lift="users.keep_alive = true" + _reuse_lift(reuse, limited is not None),
    )


def _reuse_lift(reuse: int, limited: bool) -> str:
    if reuse == 1:
        return ""
    return f"; {limit_option('network.tcp_tw_reuse', 1)}" if limited else "; sysctl -w net.ipv4.tcp_tw_reuse=1"


def _ports(machine: Machine, needs: Needs) -> int | None:
    """Number of ephemeral ports that can be used; in the session's own network namespace none are reserved."""
    limited = needs.limits.network.ip_local_port_range
    return limited[1] - limited[0] + 1 if limited else machine.host.ports_capacity


def accept_queue(machine: Machine, needs: Needs) -> Check:
    """The kernel queues at most somaxconn established connections for a listener, even if its backlog is larger."""
    limited = needs.limits.network.somaxconn
    most = machine.host.somaxconn if limited is None else limited
    if most is None:
        return unavailable("accept_queue", "accept queue (somaxconn)", {"somaxconn": None})
    enough = max(4096, 2 * most)
    return Check(
        id="accept_queue",
        title="accept queue (somaxconn)",
        state="bounds" if needs.spawn > most else "ok",
        readings={"somaxconn": most, "spawned_per_s": needs.spawn},
        here=f"{most:,}" + (" by [limits]" if limited is not None else ""),
        bounds_at=f"{most:,} connections that wait for accept(), or the target's own backlog if that is less",
        lift=(limit_option("network.somaxconn", enough) if limited is not None else f"sysctl -w net.core.somaxconn={enough}")
        + " and the target's backlog",
    )


def syn_backlog(machine: Machine, needs: Needs) -> Check:
    """Half-open connections: those whose handshake is not complete."""
    most = machine.host.tcp_max_syn_backlog
    if most is None:
        return unavailable("syn_backlog", "half-open connections", {"tcp_max_syn_backlog": None})
    return Check(
        id="syn_backlog",
        title="half-open connections",
        state="bounds" if needs.spawn > most else "ok",
        readings={"tcp_max_syn_backlog": most},
        here=f"tcp_max_syn_backlog {most:,}",
        bounds_at=f"{most:,} handshakes at once, over a network",
        lift=f"sysctl -w net.ipv4.tcp_max_syn_backlog={max(8192, 2 * most)}",
    )


def conntrack(machine: Machine, needs: Needs) -> Check:
    """Connection tracking, if the kernel does it: connections in TIME_WAIT stay in its table for 120 s."""
    most, count = machine.host.conntrack_max, machine.conntrack
    readings = {"conntrack": count, "conntrack_max": most}
    if most is None:
        return Check(id="conntrack", title="conntrack", state="ok", readings=readings, here="not present: nothing is tracked")
    if count is None:
        return unavailable("conntrack", "conntrack", readings)
    left = max(most - count, 0)
    churn_per_s = left / 120  # seconds for which it keeps a closed connection, by default
    asked_rps = 0.0 if needs.keep_alive else needs.connections_per_s
    return Check(
        id="conntrack",
        title="conntrack",
        state="bounds" if needs.users > left or (asked_rps or 0.0) > churn_per_s else "ok",
        readings=readings,
        here=f"{count:,} of {most:,}",
        bounds_at=f"{left:,} connections, or {churn_per_s:,.0f} new ones a second, if loopback is tracked",
        lift=f"sysctl -w net.netfilter.nf_conntrack_max={4 * most}",
    )


_ALL = (
    fds_of_generator, fds_of_target, fds_of_system, kept_connections, ports, new_connections, accept_queue, syn_backlog,
    conntrack, cores, cgroup_cpus, neighbours, memory, pressure, other_users, namespaces, programs,
)  # fmt: skip


def checks(machine: Machine, needs: Needs) -> tuple[Check, ...]:
    """The results of all checks, in the order of display."""
    return tuple(check(machine, needs) for check in _ALL)
