"""Checks of the machine for the command `doctor`: which limits an exploration will reach, and how to raise them. Pure."""

from __future__ import annotations

from ...model.limits import Machine
from .check import Check, Needs, State, namespaces, other_users, pressure, programs
from .hardware import cgroup_cpus, cores, memory, neighbours
from .open_files import fds_of_generator, fds_of_system, fds_of_target, kept_connections
from .sockets import accept_queue, conntrack, new_connections, ports, syn_backlog

__all__ = ["Needs", "Check", "State", "checks"]

_ALL = (
    fds_of_generator, fds_of_target, fds_of_system, kept_connections, ports, new_connections, accept_queue, syn_backlog,
    conntrack, cores, cgroup_cpus, neighbours, memory, pressure, other_users, namespaces, programs,
)  # fmt: skip


def checks(machine: Machine, needs: Needs) -> tuple[Check, ...]:
    """The results of all checks, in the order of display."""
    return tuple(check(machine, needs) for check in _ALL)
