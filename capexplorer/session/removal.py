"""Deletes a session: its log, and the other files with its id. A session that is being recorded is not deleted."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from ..errors import SessionError
from . import digest, kept_file, titles
from .catalog import entry_of

RECORDED_WITHIN_S = 10.0
"""A run writes every second, so a log without an end that changed this recently counts as being recorded."""


def being_recorded(log: Path, *, complete: bool, now_s: float | None = None) -> bool:
    """Whether a run is probably still writing the log. `complete`: it has an end. `now_s`: wall time; None: now."""
    if complete:
        return False
    try:
        changed_s = log.stat().st_mtime
    except OSError:
        return False
    return abs((time.time() if now_s is None else now_s) - changed_s) < RECORDED_WITHIN_S


def delete(log: Path, *, now_s: float | None = None) -> None:
    """Delete the log, then the other files of the session. Raises SessionError: not found, being recorded, or not permitted."""
    entry = entry_of(log)
    if entry is None:
        raise SessionError(f"{log}: no such session")
    if being_recorded(log, complete=entry.complete, now_s=now_s):
        raise SessionError(f"{log}: is being recorded (it has no end, and was just written to)")
    try:
        log.unlink()
    except OSError as error:
        raise SessionError(f"{log}: cannot be deleted: {error.strerror or error}") from None
    for other in (titles.path_of(log), digest.path_of(log), kept_file.path_of(log)):
        with contextlib.suppress(OSError):
            other.unlink()
