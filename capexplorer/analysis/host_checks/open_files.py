"""Checks of limits on open files: each connection needs a descriptor at both ends."""

from __future__ import annotations

from ...model.limits import Machine
from .check import Check, Needs, limit_option, unavailable

_OWN = 50
"""Descriptors of the app itself without load: log, pipes, event loops, open files of /proc (measured: 48)."""

_THREADS_KEPT, _SHARE_FOR_THREADS = 512, 8
"""The probes keep a file for each thread of the target: at most 512, and an eighth of the limit."""

_TARGETS_OWN = 20
"""Descriptors of a service without load: streams, listeners, log (measured: 7 for `mixed`; assumed for others)."""

_ENOUGH = 65_536
"""The least limit that is recommended."""

_SELECTABLE = 1_024
"""FD_SETSIZE: select() takes descriptors below this."""


def kept_connections(machine: Machine, needs: Needs) -> Check:
    """Whether the generator can check at any number of users that a kept connection is still open: select() is limited."""
    if machine.has_poll is None:
        return unavailable("kept_connections", "kept connections, generator", {"has_poll": None})
    most = _SELECTABLE - _OWN
    return Check(
        id="kept_connections",
        title="kept connections, generator",
        state="ok" if machine.has_poll or not needs.keep_alive or needs.users <= most else "bounds",
        readings={"has_poll": machine.has_poll},
        here="any number (poll)" if machine.has_poll else f"descriptors below {_SELECTABLE:,} (select)",
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
    most = limit - _OWN - min(_THREADS_KEPT, limit // _SHARE_FOR_THREADS)
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
    most, hard = max(limit - _TARGETS_OWN, 0), machine.fds_hard_limit
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
