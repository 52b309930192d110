"""A digest of all that a screen or a report reads of a timeline: equal digests mean equal screens and reports.

The headline test of record and replay compares these; nothing else should need it.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from capexplorer.model.level import Level
from capexplorer.model.timeline import Timeline


def digest(timeline: Timeline) -> str:
    """SHA-256 over all of it, columns up to its last tick."""
    whole = hashlib.sha256()
    for name, column in timeline.columns.items():
        whole.update(name.encode())
        whole.update(column[: len(timeline)].tobytes())
    whole.update(msgspec.json.encode(_plain(timeline)))
    return whole.hexdigest()


def _plain(timeline: Timeline) -> list[Any]:
    failures = [(*key, count.count, count.first_s, count.last_s) for key, count in timeline.failures.items()]
    return [
        (timeline.header, timeline.target, timeline.last, timeline.ended, timeline.broken),
        (timeline.ticks, timeline.step_size, timeline.last_s, timeline.phase, timeline.wanted),
        [_level(level) for level in timeline.levels],
        list(timeline.marks.items()),
        list(timeline.verdicts.items()),
        timeline.journal,
        list(timeline.log),
        failures,
        [(signature, example) for signature, example in timeline.examples.items()],
    ]


def _level(level: Level) -> tuple[Any, ...]:
    known = (level.opened, level.first_index, level.opened_index, level.closed, level.settled_s, level.ended_s)
    return (*known, level.figures, level.endpoints, level.bins)
