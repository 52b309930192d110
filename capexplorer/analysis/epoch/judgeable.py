"""Levels that say nothing about the service: the generator, its host or the way there failed while they were measured.

A generator without ports fails fast and in any number: what is left of goodput then is no capacity of the service's. (A generator
short of CPU is no matter of this room: its levels are flagged, and the knee's limit says so.) Reads cause marks, judges none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.events import Mark
from ...model.findings import Cause
from ...model.timeline import Timeline
from ..causes.catalogue import ENTRIES
from .ladder import LadderLevel

FAILURES_LEAST = 0.01
"""Of a level's requests: a name that was not found twice in three minutes spoils nothing."""

_FLAGGED = ("generator_cpu_saturated", "log_write_failed")


def judgeable_levels(timeline: Timeline, levels: Sequence[LadderLevel]) -> tuple[LadderLevel, ...]:
    """Those that can be judged."""
    spans = list(_spans(timeline))
    ended_s = {level.started_s: level.ended_s or timeline.last_s for level in timeline.levels} if spans else {}
    return tuple(level for level in levels if not _is_spoiled(level, ended_s.get(level.started_s, 0.0), spans))


def _is_spoiled(level: LadderLevel, ended_s: float, spans: Sequence[tuple[float, float]]) -> bool:
    failing = (level.failure_ratio or 0.0) >= FAILURES_LEAST
    return failing and any(first_s < ended_s and last_s > level.started_s for first_s, last_s in spans)


def _spans(timeline: Timeline) -> Iterator[tuple[float, float]]:
    """When such causes were there, from the first occurrence to the last, episode by episode."""
    open_s: dict[str, float] = {}
    for entry in timeline.journal:
        if not isinstance(entry, Mark) or not isinstance(entry.finding, Cause) or not _spoils(entry.id):
            continue
        began_s, last_s = entry.finding.began_s, entry.finding.last_s
        if entry.state == "open" or entry.key not in open_s:
            open_s[entry.key] = entry.t_s if began_s is None else began_s
        yield open_s[entry.key], entry.t_s if last_s is None else last_s


def _spoils(cause: str) -> bool:
    entry = ENTRIES.get(cause)
    own = entry is not None and entry.where in ("generator", "host", "network") and entry.severity == "critical"
    return own and cause not in _FLAGGED
