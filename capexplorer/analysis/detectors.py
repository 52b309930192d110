"""The detectors of this version, and which marks are theirs. Pure: the same timeline gives the same marks.

Live, import and `--reanalyse` all run these, so what one of them marks, the others mark too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model.events import Mark
from ..model.timeline import Timeline

Detector = Callable[[Timeline], Sequence[Mark]]
"""From everything known so far to its marks as they stand, one a key, none retracted. No clock, no I/O."""

DETECTORS: tuple[Detector, ...] = ()
"""In the order in which their marks are told."""

WITNESSED_KINDS = frozenset(("stop_rule",))
WITNESSED_IDS = frozenset(("user_code_error", "log_write_failed"))
"""Marks that the run itself made of what it saw: no log can show it again, so no detector can find or lose them."""


def is_detected(mark: Mark) -> bool:
    """Whether a mark is a detector's, not the run's own witness."""
    return mark.kind not in WITNESSED_KINDS and mark.id not in WITNESSED_IDS


def detect(timeline: Timeline, detectors: Sequence[Detector] | None = None) -> tuple[Mark, ...]:
    """All marks of `detectors` (this version's, unless given), in time's order."""
    marks = [mark for detector in (DETECTORS if detectors is None else detectors) for mark in detector(timeline)]
    return tuple(sorted(marks, key=lambda mark: mark.t_s))
