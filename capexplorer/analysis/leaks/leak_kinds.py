"""Which resources may leak, and which growth over which time is a leak."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ...model.events import HostFacts
from ...model.timeline import Timeline
from .constant_load import ConstantLoad

MIB = float(1 << 20)


@dataclass(frozen=True, slots=True)
class GrowthThreshold:
    """Least growth over a stretch of at least `seconds`: `growth` in the unit of its kind, and `share` of the value at its
    start.
    """

    seconds: float
    growth: float
    share: float
    from_start: bool = False
    """Applies also while the target warms up."""


@dataclass(frozen=True, slots=True)
class LeakKind:
    """A resource that may leak. `thresholds` ascend by length."""

    id: str
    columns: tuple[str, ...]
    """Candidates; the first that was measured is used."""
    unit: Literal["bytes", "fds"]
    thresholds: tuple[GrowthThreshold, ...]
    confident_s: tuple[float, float]
    """Lengths of a stretch, in seconds, from which confidence is medium, and high."""
    shared: str | None = None
    """A column whose growth is subtracted: every connection takes a descriptor at both ends, so users who open a second
    connection make the target's count grow too."""


MEMORY = (
    GrowthThreshold(45, 64 * MIB, 1.0, from_start=True),
    GrowthThreshold(60, 8 * MIB, 0.10),
    GrowthThreshold(300, 4 * MIB, 0.05),
    GrowthThreshold(1_800, 2 * MIB, 0.02),
)
"""The first threshold finds memory that doubles within a minute, before the kernel kills the process. The others are many times
the growth of healthy services after warm-up: the mixed target, of 34 MB, grew by 0.6 MB in two minutes and seven levels
(measured)."""

FDS = (GrowthThreshold(30, 20, 0.10, from_start=True), GrowthThreshold(120, 12, 0.05), GrowthThreshold(600, 8, 0.02))
"""Growth in descriptors. Their count stays constant at one user count, so small growth is enough: a leak of two a second is found
after 30 s."""

KINDS = (
    LeakKind("memory_leak", ("target_rss_bytes",), "bytes", MEMORY, (300.0, 1_800.0)),
    LeakKind("fd_leak", ("target_fds_fullest", "target_fds"), "fds", FDS, (60.0, 300.0), shared="generator_fds"),
    LeakKind("generator_memory", ("generator_rss_bytes",), "bytes", MEMORY[1:], (300.0, 1_800.0)),
)


# -- resource limits -----------------------------------------------------------------------------------------------------------
# The limit of a resource that leaks, and how much is left of it.


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
