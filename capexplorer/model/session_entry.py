"""The summary of a saved session, for lists."""

from __future__ import annotations

from pathlib import Path

import msgspec


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a saved session, for lists. If `problem` is set, all but `id`, `path` and `size_bytes` may be unknown."""

    id: str
    path: Path
    size_bytes: int
    started_at: str | None = None
    """Wall time, ISO 8601 with offset."""
    profile: str | None = None
    target: str | None = None
    label: str | None = None
    duration_s: float | None = None
    levels: int | None = None
    complete: bool = False
    """Whether its last event is `ended`."""
    problem: str | None = None
    """Why it cannot be opened, in one line."""
