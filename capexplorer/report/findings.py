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


def marked_s(timeline: Timeline) -> dict[str, float]:
    """By key: the moment that a mark stands at, in seconds of the session: since when it has been of its kind; of a shift, when
    the service changed, which is known only later.
    """
    since: dict[str, tuple[object, float]] = {}
    for entry in timeline.journal:
        if isinstance(entry, Mark):
            what = (entry.kind, entry.id, entry.state == "retracted")
            if entry.key not in since or since[entry.key][0] != what:
                since[entry.key] = what, _at_s(entry)
    return {key: t_s for key, (_, t_s) in since.items()}


def _at_s(mark: Mark) -> float:
    at_s = mark.evidence.get("at_s") if mark.kind == "shift" else None
    return float(at_s) if isinstance(at_s, int | float) and not isinstance(at_s, bool) else mark.t_s


def notes(timeline: Timeline) -> list[Note]:
    """What the user wrote, in order."""
    return [entry for entry in timeline.journal if isinstance(entry, Note)]
