"""A cache of the summaries of all sessions in a folder (`.catalog`), so that thousands of them are listed quickly.

An entry is valid as long as size and modification time of its log do not change. The file may be deleted, and failures to read or
write it are ignored.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from ..model import outside
from ..model.session_entry import SessionEntry
from .files import read_small, write_whole

NAME = ".catalog"
_VERSION = 1
_LARGEST_BYTES = 64 * 1024 * 1024


class _Known(msgspec.Struct, frozen=True, array_like=True):
    """A SessionEntry without its path, and the state of its log."""

    size_bytes: int
    changed_ns: int
    started_at: str | None
    profile: str | None
    target: str | None
    label: str | None
    duration_s: float | None
    levels: int | None


class _Catalog(msgspec.Struct, frozen=True):
    version: int = _VERSION
    sessions: dict[str, _Known] = {}
    """Complete sessions that can be opened, by file name, if that is UTF-8."""


_decoder = msgspec.json.Decoder(_Catalog)


def entries(folder: Path, suffix: str, read: Callable[[Path], SessionEntry | None]) -> list[SessionEntry]:
    """The summaries of all sessions in `folder`, in any order; `read` is called for those that are not in the cache. Raises
    OSError if the folder cannot be read.
    """
    known, kept, found = _load(folder), dict[str, _Known](), list[SessionEntry]()
    with os.scandir(folder) as files:
        logs = [file for file in files if file.name.endswith(suffix)]
    for file in logs:
        had = known.get(file.name)
        state = _state(file)
        entry = _entry(folder / file.name, had) if had is not None and (had.size_bytes, had.changed_ns) == state else None
        if entry is None:
            entry = read(folder / file.name)
            had = _to_keep(entry, state)
        if had is not None and outside.is_valid(file.name):
            kept[file.name] = had
        if entry is not None:
            found.append(entry)
    if kept != known:
        _save(folder, kept)
    return found


def _state(file: os.DirEntry[str]) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:  # deleted meanwhile
        return None
    return status.st_size, status.st_mtime_ns


def _entry(path: Path, known: _Known) -> SessionEntry:
    return SessionEntry(
        id=path.name.removesuffix(path.suffix),
        path=path,
        size_bytes=known.size_bytes,
        started_at=known.started_at,
        profile=known.profile,
        target=known.target,
        label=known.label,
        duration_s=known.duration_s,
        levels=known.levels,
        complete=True,
    )


def _to_keep(entry: SessionEntry | None, state: tuple[int, int] | None) -> _Known | None:
    """What the cache keeps of an entry. None if its log has no end, since it may still grow, or a problem, which may go away:
    these are read each time.
    """
    if entry is None or state is None or not entry.complete or entry.problem is not None:
        return None
    return _Known(*state, entry.started_at, entry.profile, entry.target, entry.label, entry.duration_s, entry.levels)


def _load(folder: Path) -> dict[str, _Known]:
    try:
        catalog = _decoder.decode(read_small(folder / NAME, _LARGEST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return catalog.sessions if catalog.version == _VERSION else {}


def _save(folder: Path, sessions: dict[str, _Known]) -> None:
    with contextlib.suppress(OSError):
        write_whole(folder / NAME, msgspec.json.encode(_Catalog(sessions=sessions)))
