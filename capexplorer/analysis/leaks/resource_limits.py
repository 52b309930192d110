"""The limit of a resource that leaks, and how much is left of it."""

from __future__ import annotations

import math

from ...model.events import HostFacts
from ...model.timeline import Timeline
from .constant_load import ConstantLoad
from .leak_kinds import LeakKind


def descriptor_limit(timeline: Timeline, kind: LeakKind) -> float | None:
    """Number of descriptors that the target may have open; None for other resources, or if not measured."""
    return _latest(timeline, "target_fds_limit") if kind.unit == "fds" else None


def limit_of(timeline: Timeline, kind: LeakKind, load: ConstantLoad, now: float) -> tuple[float | None, float | None]:
    """(limit, what is left of it), in bytes or descriptors; None: not known. `now`: the value at the end of `load`.

    The limit of descriptors is that of the process; the limit of memory is that of the cgroup, else of the machine.
    """
    if kind.unit == "fds":
        limit = descriptor_limit(timeline, kind)
        return limit, None if limit is None else limit - now
    host = _host(timeline)
    own = load.levels[-1].figures.readings.get("target.memory_limit_bytes")
    limit = own if kind.id == "memory_leak" else _float(host.cgroup_memory_bytes)
    if limit is not None:
        return limit, limit - now
    used = _latest(timeline, "host_memory_bytes")
    return _float(host.memory_bytes), None if used is None or host.memory_bytes is None else host.memory_bytes - used


def _latest(timeline: Timeline, name: str) -> float | None:
    """The latest measured value of a column within the last minute; None without one."""
    column = timeline.columns.get(name)
    recent = [] if column is None else column[max(0, timeline.ticks - 60) : timeline.ticks]
    return next((value for value in reversed(recent) if not math.isnan(value)), None)


def _host(timeline: Timeline) -> HostFacts:
    return timeline.header.host if timeline.header is not None else HostFacts()


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)
