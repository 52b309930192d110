"""An old session under today's detectors: marks as recorded, marks as found now, and what changed between them.

Pure: reads a timeline, gives values. Must not change the timeline, nor word anything (`wording` does).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Any

from ..model.events import Ended, Event, FigureChange, Header, Mark, MarkChange, Reanalysed, Verdict
from ..model.timeline import Timeline
from .causes.watch import CauseWatch
from .detectors import Detected, Detector, detect, is_detected

_COMPARED = ("kind", "id", "epoch", "users", "severity", "confidence")
_SAME_TO = 1e-6
"""Relative; below it another order of additions may differ."""


@dataclass(frozen=True, slots=True)
class Reanalysis:
    """Marks of detectors, then and now, none retracted; what the run witnessed itself is in neither."""

    recorded: tuple[Mark, ...]
    found: tuple[Mark, ...]
    changes: tuple[MarkChange, ...]
    """In the order of the marks found, then those gone."""
    verdicts: tuple[Verdict, ...] = ()
    """Found now, one an epoch."""
    revisions: tuple[Mark, ...] = ()
    """Earlier ones of causes among `found`: opened, grown, closed, opened again."""

    @property
    def findings(self) -> tuple[Detected, ...]:
        """All that was found."""
        return (*self.verdicts, *self.revisions, *self.found)

    def told(self, version: str) -> Reanalysed:
        """As an event, for whoever shows the marks found. `version`: of the app."""
        return Reanalysed(t_s=0.0, version=version, recorded=len(self.recorded), found=len(self.found), changes=self.changes)


def reanalyse_events(events: Iterable[Event], detectors: Sequence[Detector] | None = None) -> Reanalysis:
    """Detectors over a whole session, and causes watched as its events come, as they are live."""
    timeline, watch, causes = Timeline(), CauseWatch(), list[Mark]()
    for event in events:
        timeline.apply(event)
        causes.extend(watch.apply(event))
    return reanalyse(timeline, detectors, causes)


def reanalyse(timeline: Timeline, detectors: Sequence[Detector] | None = None, causes: Sequence[Mark] = ()) -> Reanalysis:
    """Run the detectors (this version's, unless given) over a whole session, and compare with what was recorded.

    `causes`: every revision that a CauseWatch told over the same events.
    """
    recorded = tuple(mark for mark in timeline.marks.values() if mark.state != "retracted" and is_detected(mark))
    last = {mark.key: mark for mark in causes}
    findings = detect(_with_causes(without_detected(timeline), causes), detectors)
    found = (*(each for each in findings if isinstance(each, Mark)), *last.values())
    verdicts = tuple(each for each in findings if isinstance(each, Verdict))
    earlier = tuple(mark for mark in causes if mark is not last[mark.key])
    return Reanalysis(recorded, found, changes(recorded, found), verdicts, earlier)


def _with_causes(bare: Timeline, causes: Sequence[Mark]) -> Timeline:
    """Detectors know of the causes told before them, as they do live."""
    bare.marks.update((mark.key, mark) for mark in causes)
    bare.journal = list(merge(bare.journal, causes, key=lambda entry: entry.t_s))
    return bare


def changes(recorded: Iterable[Mark], found: Iterable[Mark]) -> tuple[MarkChange, ...]:
    """What differs, by key. Times, revisions and advice are no figures: they may change without being told."""
    then, now = ({mark.key: mark for mark in marks} for marks in (recorded, found))
    listed = []
    for key, mark in now.items():
        if key not in then:
            listed.append(MarkChange(kind="new", key=key, found=mark))
        elif figures := _figures(then[key], mark):
            listed.append(MarkChange(kind="changed", key=key, recorded=then[key], found=mark, figures=figures))
    listed += [MarkChange(kind="gone", key=key, recorded=mark) for key, mark in then.items() if key not in now]
    return tuple(listed)


def reanalysed(timeline: Timeline, analysis: Reanalysis, version: str) -> Timeline:
    """The same session with the marks found for those recorded, and what changed. Shares all else; apply no more events to it."""
    bare = without_detected(timeline)
    bare.marks.update((mark.key, mark) for mark in analysis.found)
    bare.verdicts = {each.epoch: each for each in analysis.verdicts}
    told = sorted((*analysis.revisions, *analysis.found), key=lambda mark: mark.t_s)
    bare.journal = list(merge(bare.journal, told, key=lambda entry: entry.t_s))
    bare.reanalysed = analysis.told(version)
    return bare


def reanalysed_events(events: Iterable[Event], analysis: Reanalysis, version: str) -> Iterator[Event]:
    """The same events with the marks found for those recorded, each at its time, and what changed behind the header."""
    for event in with_marks(events, analysis.findings):
        yield event
        if isinstance(event, Header):
            yield analysis.told(version)


def without_detected(timeline: Timeline) -> Timeline:
    """The same session as if no detector had looked at it. Shares all but its marks; apply no more events to it."""
    bare = copy.copy(timeline)
    bare.marks = {key: mark for key, mark in timeline.marks.items() if not is_detected(mark)}
    bare.verdicts = {}
    bare.journal = [entry for entry in timeline.journal if not (isinstance(entry, Mark) and is_detected(entry))]
    return bare


def with_marks(events: Iterable[Event], found: Sequence[Detected]) -> Iterator[Event]:
    """The same events with these findings for those that detectors made, each at its time, between the header and the end."""
    waiting = sorted(found, key=lambda mark: mark.t_s)
    begun = False
    for event in events:
        while begun and waiting and (waiting[0].t_s < event.t_s or isinstance(event, Ended)):
            yield waiting.pop(0)
        begun = True  # the header stays first
        if not (isinstance(event, Verdict) or (isinstance(event, Mark) and is_detected(event))):
            yield event
    yield from waiting


def _figures(then: Mark, now: Mark) -> tuple[FigureChange, ...]:
    pairs = [(name, getattr(then, name), getattr(now, name)) for name in _COMPARED]
    recorded, found = then.finding.figures(), now.finding.figures()
    names = [*recorded, *(name for name in found if name not in recorded)]
    pairs += [(name, recorded.get(name), found.get(name)) for name in names]
    return tuple(
        FigureChange(name=name, recorded=before, found=after) for name, before, after in pairs if not _same(before, after)
    )


def _same(before: Any, after: Any) -> bool:
    """Equal, or as near as floats get. A log knows lists, where a detector made tuples."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if isinstance(before, int | float) and isinstance(after, int | float):
        return math.isclose(before, after, rel_tol=_SAME_TO, abs_tol=1e-9) or (math.isnan(before) and math.isnan(after))
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        return len(before) == len(after) and all(map(_same, before, after))
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(_same(value, after[name]) for name, value in before.items())
    return bool(before == after)
