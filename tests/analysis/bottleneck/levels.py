"""Levels of a service that saturates beyond 8 users, and the marks of bottlenecks that these levels give."""

from __future__ import annotations

from typing import Any

import msgspec

from analysis.loads import FACTS, READINGS, Load, closed_session
from capexplorer.analysis.bottleneck import bottlenecks
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.events import HostFacts, Mark

LINEAR = (Load(2, 20, 50), Load(4, 40, 50), Load(8, 78, 52))
"""Levels below the knee: goodput grows with the users."""

FLAT = (Load(16, 100, 110), Load(32, 100, 270))
"""Levels beyond the knee: goodput stays at the capacity of 100/s, and latency grows."""

UNREAD_TARGET = tuple(name for name in READINGS if name.startswith("target."))

TWO_CORES = msgspec.structs.replace(FACTS, cpus=2)


def bottleneck_marks(
    *loads: Load, program: str = "server", host: HostFacts = FACTS, url: str = "http://127.0.0.1:28080"
) -> dict[str, Mark]:
    timeline = closed_session(*loads, program=program, host=host, url=url)
    return {mark.id: mark for mark in bottlenecks.marks(epoch_of(timeline, 0))}


def states_by_id(marks: dict[str, Mark]) -> dict[str, str]:
    return {id_: mark.state for id_, mark in marks.items() if id_ not in ("not_saturated", "think_time_limited")}


def overloaded(readings: dict[str, float], **more: Any) -> tuple[Load, ...]:
    """LINEAR, and FLAT with these readings."""
    return (*LINEAR, *(Load(load.users, load.goodput_rps, load.latency_ms, readings=readings, **more) for load in FLAT))
