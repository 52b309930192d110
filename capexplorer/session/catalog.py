"""Lists the saved sessions of folders (`paths.sessions`), and finds one by its path, its id, a part of its id or title, or
`last`. Of sessions with the same id, copies of one, the first folder's counts.

Of each file that the cache does not know only the header and the last 64 KB are read, since the picker lists all of them.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from .. import paths
from ..errors import SessionError
from ..model import outside
from ..model.sources import SessionEntry
from . import beside, files
from .codec import SealError, number_of
from .files import SUFFIX, open_regular, read_small, write_whole
from .reader import open_session

# -- catalog cache -------------------------------------------------------------------------------------------------------------
# A cache of the summaries of all sessions in a folder (`.catalog`), so that thousands of them are listed quickly.
#
# An entry is valid as long as size and modification time of its log do not change. The file may be deleted, and failures to read
# or write it are ignored.


NAME = ".catalog"
_VERSION = 1
_LARGEST_BYTES = 64 * 1024 * 1024


class _Known(msgspec.Struct, frozen=True, array_like=True):
    """The state of a log, and what its SessionEntry has from its content."""

    size_bytes: int
    changed_ns: int
    started_at: str | None
    profile: str | None
    target: str | None
    label: str | None
    duration_s: float | None
    levels: int | None


_OF_CACHE = _Known.__struct_fields__[2:]


class _Catalog(msgspec.Struct, frozen=True):
    version: int = _VERSION
    sessions: dict[str, _Known] = {}
    """Complete sessions that can be opened, by file name, if that is UTF-8."""


_catalog_decoder = msgspec.json.Decoder(_Catalog)


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
        entry = _known_entry(folder / file.name, had) if had is not None and (had.size_bytes, had.changed_ns) == state else None
        if entry is None:
            entry = read(folder / file.name)
            had = _to_keep(entry, state)
        if had is not None and outside.utf8(file.name) == file.name:
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


def _known_entry(path: Path, known: _Known) -> SessionEntry:
    of_cache: dict[str, Any] = {name: getattr(known, name) for name in _OF_CACHE}
    return SessionEntry(id=path.stem, path=path, size_bytes=known.size_bytes, complete=True, **of_cache)


def _to_keep(entry: SessionEntry | None, state: tuple[int, int] | None) -> _Known | None:
    """What the cache keeps of an entry. None if its log has no end, since it may still grow, or a problem, which may go away:
    these are read each time.
    """
    if entry is None or state is None or not entry.complete or entry.problem is not None:
        return None
    return _Known(*state, *(getattr(entry, name) for name in _OF_CACHE))


def _load(folder: Path) -> dict[str, _Known]:
    try:
        catalog = _catalog_decoder.decode(read_small(folder / NAME, _LARGEST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return catalog.sessions if catalog.version == _VERSION else {}


def _save(folder: Path, sessions: dict[str, _Known]) -> None:
    with contextlib.suppress(OSError):
        write_whole(folder / NAME, msgspec.json.encode(_Catalog(sessions=sessions)))


_TAIL_BYTES = 64 * 1024
_MOST_NAMES = 5
_FROM_LAST = re.compile(r"last(?:-(?P<before>[0-9]{1,6}))?")


def list_sessions(folders: Sequence[Path]) -> list[SessionEntry]:
    """All sessions in the folders, newest first; those that cannot be opened have a `problem`. Raises SessionError if a folder
    cannot be read.
    """
    found: dict[str, SessionEntry] = {}
    for folder in folders:
        with _readable(folder):
            for entry in entries(folder, SUFFIX, entry_of):
                found.setdefault(entry.id, entry)
    return sorted(found.values(), key=_age, reverse=True)


def logs(folders: Sequence[Path]) -> dict[str, Path]:
    """All logs in the folders by their ids; none is opened. Raises SessionError if a folder cannot be read."""
    found: dict[str, Path] = {}
    for folder in folders:
        with _readable(folder):
            for path in folder.iterdir():
                if path.name.endswith(SUFFIX):
                    found.setdefault(path.stem, path)
    return found


@contextlib.contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """A folder that does not exist has no sessions."""
    try:
        yield
    except FileNotFoundError:
        return
    except OSError as error:
        raise SessionError(f"{folder}: the sessions folder cannot be read: {error.strerror or error}") from None


def find(name: str, folders: Sequence[Path]) -> Path:
    """The session with this name: `last`, `last-1` (the one before) and so on, a path, an id, the name of an included sample
    session, or a part of a single session's id or title, whatever its case.

    Raises SessionError if there is none, or more than one.
    """
    from_last = _FROM_LAST.fullmatch(name)
    if from_last is not None:
        return _last(name, folders, int(from_last["before"] or 0))
    if name.endswith(SUFFIX) or os.sep in name or "/" in name:
        path = next((path for path in (Path(name), *(each / name for each in folders)) if path.exists()), None)
        if path is None:
            raise SessionError(f"{name}: no such session")
        return path
    own, samples = logs(folders), paths.sample_sessions()
    if name in samples and name not in own:
        return samples[name]
    meant = [name] if name in own else [each for each in sorted(own) if name and each.startswith(name)]
    if not meant and name:
        meant = [entry.id for entry in list_sessions(folders) if name.casefold() in _searchable_text(entry)]
    if len(meant) != 1:
        raise SessionError(_unclear(name, folders, sorted(own), meant))
    return own[meant[0]]


def _searchable_text(entry: SessionEntry) -> str:
    """Its id and its title or, without a title, its label, as lists show them."""
    return f"{entry.id}\n{files.read_title(entry.path) or entry.label or ''}".casefold()


def _last(name: str, folders: Sequence[Path], before: int) -> Path:
    """The session that began last; `before`: that many sessions earlier."""
    usable = [entry.path for entry in list_sessions(folders) if entry.problem is None]
    if before >= len(usable):
        raise SessionError(f"no session `{name}`: {len(usable) or 'none'} can be opened in {paths.listed(folders)}")
    return usable[before]


def _unclear(name: str, folders: Sequence[Path], ids: list[str], meant: list[str]) -> str:
    if meant:
        more = ", ..." if len(meant) > _MOST_NAMES else ""
        return f"session `{name}` is not unique: {', '.join(meant[:_MOST_NAMES])}{more}"
    last = f"the last is `{list_sessions(folders)[0].id}`" if ids else "`sample` comes with capexplorer"
    close = difflib.get_close_matches(name, [*ids, *paths.sample_sessions()], n=1, cutoff=0.4)
    hint = f"did you mean `{close[0]}`?" if close else last
    return f"no session `{name}` in {paths.listed(folders)}; {hint}"


class _EventFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of any event that a list needs."""

    type: str
    t_s: float
    level: Any = None
    index: Any = None
    levels: Any = None


_decoder = msgspec.json.Decoder(_EventFields)


def entry_of(path: Path) -> SessionEntry | None:
    """The summary of one session; None if there is no such file."""
    size_bytes = 0
    try:
        size_bytes = path.stat().st_size
        with open_session(path) as session:
            header = session.header
            t_s, levels, complete = _end(path, size_bytes)
    except FileNotFoundError:
        return None
    except (SessionError, OSError) as error:
        problem = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error).removeprefix(f"{path}: ")
        return SessionEntry(id=path.stem, path=path, size_bytes=size_bytes, problem=problem)
    return SessionEntry(
        id=path.stem,
        path=path,
        size_bytes=size_bytes,
        started_at=header.started_at,
        profile=_title(header.profile),
        target=header.target.name,
        label=header.label,
        duration_s=t_s,
        levels=levels,
        complete=complete,
    )


def _title(profile: dict[str, Any]) -> str | None:
    """The profile's name, else its title; None if it has neither."""
    named = profile.get("name") or profile.get("title")
    return str(named) if named else None


def _end(path: Path, size_bytes: int) -> tuple[float | None, int | None, bool]:
    """(time of the last line, number of levels, whether the log has its end): read backwards until both are known."""
    with open_regular(path) as file:
        file.seek(max(0, size_bytes - _TAIL_BYTES))
        lines = file.read(_TAIL_BYTES).split(b"\n")
    t_s: float | None = None
    for each in filter(None, map(_seen, reversed(lines))):
        t_s = each.t_s if t_s is None else t_s
        levels = _levels(each)
        if levels is not None:
            return t_s, levels, each.type == "ended"
    return t_s, 0 if size_bytes <= _TAIL_BYTES else None, False


def _seen(line: bytes) -> _EventFields | None:
    try:
        number_of(line)
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, SealError):
        return None


def _levels(seen: _EventFields) -> int | None:
    """Number of levels up to this line; None if the line does not show it. Levels are numbered from 0."""
    known = {"ended": seen.levels or 0, "sample": seen.level, "level": seen.index, "level_closed": seen.index}.get(seen.type)
    if not isinstance(known, int):
        return None
    return known if seen.type == "ended" else known + 1


def _age(entry: SessionEntry) -> tuple[float, str]:
    try:
        began = datetime.fromisoformat(entry.started_at).timestamp() if entry.started_at else entry.path.stat().st_mtime
    except (ValueError, OSError):
        began = 0.0
    return began, entry.id


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
    for other in (files.title_path(log), beside.digest_path(log), beside.kept_path(log)):
        with contextlib.suppress(OSError):
            other.unlink()
