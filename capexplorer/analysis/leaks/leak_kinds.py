"""Which resources may leak, and which growth over which time is a leak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
