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


APART = ("columns", "endpoint_columns", "latency_seconds", "levels", "failures", "log")
"""What a timeline shares with others, or has in other forms."""


def _plain(timeline: Timeline) -> list[Any]:
    own = {name: value for name, value in vars(timeline).items() if name[0] != "_" and name not in (*APART, "applied")}
    return [
        [(name, list(value.items()) if isinstance(value, dict) else value) for name, value in sorted(own.items())],
        (timeline.phase, timeline.wanted, list(timeline.log)),
        [(_level(level), timeline.seconds_of(level), timeline.seconds_of(level, settled=False)) for level in timeline.levels],
        [(*key, count.count, count.first_s, count.last_s) for key, count in timeline.failures.items()],
    ]


def _level(level: Level) -> tuple[Any, ...]:
    known = (level.opened, level.first_index, level.opened_index, level.closed, level.settled_s, level.ended_s)
    return (*known, level.figures, level.endpoints, level.bins)
