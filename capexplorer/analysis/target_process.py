"""Which process, and which version, of the target an epoch's findings are about."""

from __future__ import annotations

from ..model.events import Target
from ..model.timeline import Timeline


def pid_of(timeline: Timeline, epoch: int) -> int | None:
    """Process id of the epoch's latest target process; None if it is not known."""
    known = (entry.pid for entry in reversed(timeline.journal) if isinstance(entry, Target) and entry.epoch == epoch)
    return next((pid for pid in known if pid is not None), None)


def version_of(timeline: Timeline, epoch: int = 0) -> str | None:
    """Version of the service: that of the header, else the one that it named when it became ready; None: not known."""
    if timeline.header is not None and timeline.header.target.version:
        return timeline.header.target.version
    ready = (entry.version for entry in timeline.journal if isinstance(entry, Target) and entry.epoch == epoch)
    return next((version for version in ready if version), None)
