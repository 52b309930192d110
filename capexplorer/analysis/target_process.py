"""Which process of the target an epoch's findings are about."""

from __future__ import annotations

from ..model.events import Target
from ..model.timeline import Timeline


def pid_of(timeline: Timeline, epoch: int) -> int | None:
    """Process id of the epoch's latest target process; None if it is not known."""
    known = (entry.pid for entry in reversed(timeline.journal) if isinstance(entry, Target) and entry.epoch == epoch)
    return next((pid for pid in known if pid is not None), None)
