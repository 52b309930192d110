"""Marks as a report lists them: current ones, knees first, with evidence and advice. Wording is `analysis.wording`."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ..analysis import wording
from ..model.events import Mark, Note
from ..model.timeline import Timeline

_ORDER = ("knee", "at_or_below", "bend", "latency_knee", "bottleneck", "cause", "leak", "shift", "recovery", "stop_rule")


@dataclass(frozen=True, slots=True)
class Finding:
    """One mark, in words."""

    mark: Mark
    said: str
    """What was found, where, how surely."""
    evidence: str
    """`used ratio 0.97, ...`; may hold foreign text."""
    advice: str


def findings(timeline: Timeline) -> list[Finding]:
    """Retracted marks are in the log only; what is of one kind stands in the order found."""
    current = [mark for mark in timeline.marks.values() if mark.state != "retracted"]
    return [_finding(mark) for mark in sorted(current, key=lambda mark: _ORDER.index(mark.kind))]


def _finding(mark: Mark) -> Finding:
    bare = wording.mark(msgspec.structs.replace(mark, evidence={}, advice=""))
    evidence = ", ".join(f"{key.replace('_', ' ')} {_value(value)}" for key, value in mark.evidence.items())
    return Finding(mark, bare, evidence, mark.advice)


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def notes(timeline: Timeline) -> list[Note]:
    """What the user wrote, in order."""
    return [entry for entry in timeline.journal if isinstance(entry, Note)]
