"""The detectors of this version over a whole timeline, for imports and `--reanalyse`, and which marks are theirs. Pure.

A live run calls the same functions as its levels grow (`run.live_marks`), so it marks the same things. Causes are found by the
`CauseDetector`, event by event, in live runs and here alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..model.events import Mark, Verdict
from ..model.timeline import Timeline
from . import capacity_marks, reply_kinds
from .bottleneck.bottlenecks import marks as marks_of_bottlenecks
from .causes.catalogue import RAISED
from .epoch.epoch import Epoch, epoch_of, epochs_of, indices
from .leaks import leaks

Detected = Mark | Verdict
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


def bottlenecks(timeline: Timeline) -> tuple[Mark, ...]:
    """What limits the service in each epoch, or that no limit was reached."""
    return tuple(mark for epoch in epochs_of(timeline) for mark in marks_of_bottlenecks(epoch))


def resource_growth(timeline: Timeline) -> tuple[Mark, ...]:
    """Leaks of each epoch."""
    return tuple(mark for epoch in indices(timeline) for mark in leaks.marks(timeline, epoch))


def replies(timeline: Timeline) -> tuple[Mark, ...]:
    """Hints that replies of each epoch changed their kind with load."""
    return tuple(mark for epoch in indices(timeline) for mark in reply_kinds.marks(timeline, epoch))


DETECTORS: tuple[Detector, ...] = (capacity, shifts, bottlenecks, resource_growth, replies)
"""All detectors, in the order in which they run."""

OBSERVED_BY_RUN_KINDS = frozenset(("stop_rule",))
OBSERVED_BY_RUN_KEYS = frozenset(
    (
        "cause:user_code_error",
        "cause:users_stopped",
        "cause:custom_events",
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
