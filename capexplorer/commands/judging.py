"""The final verdict on a saved session, for lists with one line per session."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from .. import wording
from ..errors import SessionError
from ..model.timeline import Timeline
from ..replay import Replay

READ_SLICE_S = 0.05
"""Seconds of reading after which other threads may run, so that the screen can be drawn."""


def judged(log: Path) -> tuple[str | None, float | None]:
    """(sentence, users at the knee); None: it cannot be read, or has no knee. Takes a second for a day's log."""
    try:
        with closing(Replay(log)) as recording:
            while recording.read_on(READ_SLICE_S):
                pass
            timeline = recording.at(recording.duration_s)
            return wording.verdict(timeline), knee_users(timeline)
    except (SessionError, OSError):
        return None, None


def knee_users(timeline: Timeline) -> float | None:
    """Users at the knee of the latest epoch with findings; None without a knee, or if the verdict does not report it."""
    marked = (mark.epoch for mark in timeline.marks.values() if mark.state != "retracted")
    epoch = max((*timeline.verdicts, *marked), default=0)
    verdict = wording.reported(timeline).get(epoch)
    found = verdict.capacity.knee if verdict is not None else None
    return found.users if found is not None and found.kind == "knee" else None
