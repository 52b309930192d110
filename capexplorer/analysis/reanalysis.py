"""A saved session judged again by this version's detectors: the marks recorded, the marks found now, and their differences.

Pure: reads a timeline, does not change it, and returns values. `wording` has the sentences.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from typing import Any

import msgspec

from ..model.catalogue import RAISED
from ..model.events import Ended, Event, FigureChange, Header, Mark, MarkChange, Reanalysed, Telemetry, Verdict
from ..model.timeline import Timeline
from . import capacity_marks, leaks, reply_kinds
from .bottleneck.bottlenecks import marks as marks_of_bottlenecks
from .causes.cause_detector import CauseDetector
from .epoch.epoch import Epoch, epoch_of, epochs_of, indices
from .telemetry.detector import ServiceTelemetry

# -- The detectors of this version over a whole timeline, for imports and `--reanalyse`, and which marks are theirs. Pure.
#
# A live run calls the same functions as its levels grow (`run.live_levels`), so it marks the same things. Causes are found by the
# `CauseDetector`, event by event, in live runs and here alike.

Detected = Mark | Verdict | Telemetry
"""One result of a detector."""

Detector = Callable[[Timeline], Sequence[Detected]]
"""Timeline so far -> current marks, one a key, none retracted, and verdicts. No clock, no I/O."""


def capacity(timeline: Timeline) -> tuple[Detected, ...]:
    """Verdicts, knees and recoveries of each epoch. The time of a mark is the end of the level since which it has been valid."""
    found: list[Detected] = []
    for index in indices(timeline):
        last = [level for level in timeline.levels if level.opened.epoch == index][-1]
        found += _capacity_of_epoch(epoch_of(timeline, index, at_s=last.ended_s or timeline.last_s))
    return tuple(found)


def shifts(timeline: Timeline) -> tuple[Mark, ...]:
    """Shifts inside levels, and those that opened one."""
    return tuple(capacity_marks.shifts(timeline))


def stalls(timeline: Timeline) -> tuple[Mark, ...]:
    """Short stalls inside levels."""
    return tuple(mark for epoch in indices(timeline) for mark in capacity_marks.stalls(timeline, epoch))


def bottlenecks(timeline: Timeline) -> tuple[Mark, ...]:
    """What limits the service in each epoch, or that no limit was reached."""
    return tuple(mark for epoch in epochs_of(timeline) for mark in marks_of_bottlenecks(epoch))


def resource_growth(timeline: Timeline) -> tuple[Mark, ...]:
    """Leaks of each epoch."""
    return tuple(mark for epoch in indices(timeline) for mark in leaks.marks(timeline, epoch))


def replies(timeline: Timeline) -> tuple[Mark, ...]:
    """Hints that replies of each epoch changed their kind with load."""
    return tuple(mark for epoch in indices(timeline) for mark in reply_kinds.marks(timeline, epoch))


DETECTORS: tuple[Detector, ...] = (capacity, shifts, stalls, bottlenecks, resource_growth, replies)
"""All detectors, in the order in which they run."""

OBSERVED_BY_RUN_KINDS = frozenset(("stop_rule",))
OBSERVED_BY_RUN_KEYS = frozenset(
    (
        "cause:user_code_error",
        "cause:users_stopped",
        "cause:custom_metrics",
        "cause:load_thread_blocked",
        "cause:load_thread_ended",
        "cause:worker_lost",
        "cause:unusable_values",
        "cause:log_write_failed",
    )
)
"""Kinds and keys of marks that the live run makes from its own observations. The log does not contain their evidence, so no
detector can find them again."""


def is_detected(mark: Mark) -> bool:
    """Whether a detector made the mark, not the run itself."""
    observed = mark.kind in OBSERVED_BY_RUN_KINDS or mark.key in OBSERVED_BY_RUN_KEYS or mark.key.endswith(RAISED)
    return not observed


def detect(timeline: Timeline, detectors: Sequence[Detector] | None = None) -> tuple[Detected, ...]:
    """All findings of `detectors` (this version's, unless given), ordered by time."""
    found = [each for detector in (DETECTORS if detectors is None else detectors) for each in detector(timeline)]
    return tuple(sorted(found, key=lambda each: each.t_s))


def _capacity_of_epoch(epoch: Epoch) -> Iterator[Detected]:
    last = epoch.verdict
    if last is None:
        return
    yield last
    yield from capacity_marks.of_verdict(last, _valid_since(epoch))
    yield from capacity_marks.recoveries(epoch)


def _valid_since(epoch: Epoch) -> capacity_marks.Since:
    """The end of the level since which each mark has been valid without interruption."""
    since: capacity_marks.Since = {}
    for count, level in enumerate(epoch.all_levels, 1):
        whole = count == len(epoch.all_levels)
        found = (epoch if whole else epoch_of(epoch.timeline, epoch.index, epoch.all_levels[:count])).verdict
        current = {(mark.key, mark.kind) for mark in capacity_marks.of_verdict(found)} if found is not None else set()
        ended_s = level.ended_s or epoch.timeline.last_s
        since = {each: since.get(each, ended_s) for each in current}
    return since


_COMPARED = ("kind", "id", "epoch", "users", "severity", "confidence")
_ROUNDING = 1e-6
"""Relative difference of two floats that adding the same values in another order may make."""


class Reanalysis(msgspec.Struct, frozen=True):
    """Marks of detectors, recorded and found now, none retracted. Marks that the run made itself are in neither."""

    recorded: tuple[Mark, ...]
    found: tuple[Mark, ...]
    changes: tuple[MarkChange, ...]
    """New and changed marks in the order of `found`, then the marks that are gone."""
    verdicts: tuple[Verdict, ...] = ()
    """Verdicts found now, one an epoch."""
    revisions: tuple[Mark, ...] = ()
    """Earlier revisions of the causes in `found`: opened, updated, closed, opened again."""
    telemetry: tuple[Telemetry, ...] = ()
    """What the service's own log and metrics did, by epoch."""

    @property
    def findings(self) -> tuple[Detected, ...]:
        """All that was found now, earlier revisions of marks included."""
        return (*self.verdicts, *self.revisions, *self.found, *self.telemetry)

    def as_event(self, version: str) -> Reanalysed:
        """The changes as an event of the log. `version`: that of the app."""
        return Reanalysed(t_s=0.0, version=version, recorded=len(self.recorded), found=len(self.found), changes=self.changes)


def reanalyse_events(events: Iterable[Event], detectors: Sequence[Detector] | None = None) -> Reanalysis:
    """Run the detectors over a whole session, and the detector of causes event by event, as a live run does."""
    timeline, detector, causes, telemetry = Timeline(), CauseDetector(), list[Mark](), ServiceTelemetry()
    for event in events:
        timeline.apply(event)
        causes.extend(detector.process(event))
        if not isinstance(event, Verdict | Ended):  # they ask for what is known, by the recorded verdicts
            telemetry.process(event, timeline)
    found = reanalyse(timeline, detectors, causes)
    judged = without_detected(timeline)
    for each in sorted((*found.verdicts, *found.found), key=lambda each: each.t_s):
        judged.apply(each)
    return msgspec.structs.replace(found, telemetry=telemetry.process(Ended(t_s=timeline.last_s, reason=""), judged))


def reanalyse(timeline: Timeline, detectors: Sequence[Detector] | None = None, causes: Sequence[Mark] = ()) -> Reanalysis:
    """Run the detectors (this version's, unless given) over a whole session, and compare with what was recorded.

    `causes`: every revision that a CauseDetector returned for the same events.
    """
    recorded = tuple(mark for mark in timeline.marks.values() if mark.state != "retracted" and is_detected(mark))
    last = {mark.key: mark for mark in causes}
    findings = detect(_with_causes(without_detected(timeline), causes), detectors)
    found = (*(each for each in findings if isinstance(each, Mark)), *last.values())
    verdicts = tuple(each for each in findings if isinstance(each, Verdict))
    earlier = tuple(mark for mark in causes if mark is not last[mark.key])
    return Reanalysis(recorded, found, changes(recorded, found), verdicts, earlier)


def _with_causes(bare: Timeline, causes: Sequence[Mark]) -> Timeline:
    """The timeline with the causes found, which detectors read."""
    bare.marks.update((mark.key, mark) for mark in causes)
    bare.journal = list(merge(bare.journal, causes, key=lambda entry: entry.t_s))
    return bare


def changes(recorded: Iterable[Mark], found: Iterable[Mark]) -> tuple[MarkChange, ...]:
    """New, changed and gone marks, matched by key. Times and revisions are not compared."""
    then, now = ({mark.key: mark for mark in marks} for marks in (recorded, found))
    listed = []
    for key, mark in now.items():
        if key not in then:
            listed.append(MarkChange(kind="new", key=key, found=mark))
        elif figures := _figures(then[key], mark):
            listed.append(MarkChange(kind="changed", key=key, recorded=then[key], found=mark, figures=figures))
    listed += [MarkChange(kind="gone", key=key, recorded=mark) for key, mark in then.items() if key not in now]
    return tuple(listed)


def reanalysed_events(events: Iterable[Event], analysis: Reanalysis, version: str) -> Iterator[Event]:
    """The events with the marks found now instead of those recorded, each at its time, and the changes after the header."""
    for event in with_marks(events, analysis.findings):
        yield event
        if isinstance(event, Header):
            yield analysis.as_event(version)


def without_detected(timeline: Timeline) -> Timeline:
    """The session without marks of detectors. Shares all other values with `timeline`: apply no more events to it."""
    bare = copy.copy(timeline)
    bare.marks = {key: mark for key, mark in timeline.marks.items() if not is_detected(mark)}
    bare.verdicts, bare.telemetry = {}, {}
    bare.journal = [entry for entry in timeline.journal if not (isinstance(entry, Mark) and is_detected(entry))]
    return bare


def with_marks(events: Iterable[Event], found: Sequence[Detected]) -> Iterator[Event]:
    """The events with these findings instead of the detectors' recorded ones, each at its time, between header and end."""
    waiting = sorted(found, key=lambda mark: mark.t_s)
    begun = False
    for event in events:
        while begun and waiting and (waiting[0].t_s < event.t_s or isinstance(event, Ended)):
            yield waiting.pop(0)
        begun = True  # the header stays first
        if not (isinstance(event, Verdict | Telemetry) or (isinstance(event, Mark) and is_detected(event))):
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
    """Whether both are equal, floats within _ROUNDING. A log has lists where a detector makes tuples."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if isinstance(before, int | float) and isinstance(after, int | float):
        return math.isclose(before, after, rel_tol=_ROUNDING, abs_tol=1e-9) or (math.isnan(before) and math.isnan(after))
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        return len(before) == len(after) and all(map(_same, before, after))
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return before.keys() == after.keys() and all(_same(value, after[name]) for name, value in before.items())
    return bool(before == after)
