"""The facts about a session that lists show besides its header and its end: best goodput, marks, damaged lines, verdict.

Goodput and marks are on few lines; these are decoded, and of all others only the checksums are checked. A `Judge` has the
verdict. What was found is kept beside the log (`ID.digest`) for as long as size and time of change stay. That file is a cache:
it may be deleted, and failures to write it are ignored.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from .files import Lines, open_regular, read_small, write_whole
from .names import SUFFIX
from .seal import Numbering, SealError, has_seal, number_of

DIGEST_SUFFIX = ".digest"
_VERSION = 3
_LONGEST_DIGEST_BYTES = 4096
_PART_BYTES = 1024 * 1024
_LINES = (b'{"type":"level_closed",', b'{"type":"mark",')
"""As the codec writes them: compact, type first."""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about one whole log."""

    version: int = _VERSION
    size_bytes: int
    changed_ns: int
    best_goodput_rps: float | None = None
    """Highest goodput of its settled levels; None if no level has a goodput."""
    marks: int = 0
    """Current ones: the last revision of each, retracted ones left out."""
    verdict: str | None = None
    """One sentence; None where the judge could not read the log."""
    knee_users: float | None = None
    """Users at the knee; None where the verdict has no knee."""
    damaged_lines: int = 0
    """Changed, missing, doubled or moved; 0 for a log of schema 1, whose lines have no checksums."""


class Judge(Protocol):
    """Reads a log for its verdict: (sentence, users at the knee)."""

    def __call__(self, log: Path, /) -> tuple[str | None, float | None]:
        """Never raises: a log that cannot be read has no verdict."""


class _Figures(msgspec.Struct, frozen=True):
    goodput_rps: float | None = None


class _Bin(msgspec.Struct, frozen=True):
    figures: _Figures = _Figures()


class _LevelClosed(msgspec.Struct, frozen=True, tag_field="type", tag="level_closed"):
    users: int = 0
    figures: _Figures = _Figures()
    bins: tuple[_Bin, ...] = ()


class _Mark(msgspec.Struct, frozen=True, tag_field="type", tag="mark"):
    key: str
    state: Literal["open", "updated", "closed", "retracted"]


_line = msgspec.json.Decoder(_LevelClosed | _Mark)
_digest = msgspec.json.Decoder(Digest)


def path_of(log: Path) -> Path:
    """`ID.digest` beside `ID.jsonl`."""
    return log.with_name(log.name.removesuffix(SUFFIX) + DIGEST_SUFFIX)


def digest_of(log: Path, judge: Judge) -> Digest:
    """The digest from the cache; otherwise from the log, which is then cached. Raises OSError for the log."""
    kept = kept_digest(log)
    if kept is not None:
        return kept
    status = log.stat()  # first: a log that grows meanwhile is judged again
    verdict, knee_users = judge(log)
    found = msgspec.structs.replace(_searched(log, status), verdict=verdict, knee_users=knee_users)
    _keep(log, found)
    return found


def kept_digest(log: Path) -> Digest | None:
    """The digest from the cache only; None if the log must be searched. Raises OSError for the log."""
    status = log.stat()
    try:
        kept = _digest.decode(read_small(path_of(log), _LONGEST_DIGEST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    same = (kept.version, kept.size_bytes, kept.changed_ns) == (_VERSION, status.st_size, status.st_mtime_ns)
    return kept if same else None


def _keep(log: Path, found: Digest) -> None:
    with contextlib.suppress(OSError):
        write_whole(path_of(log), msgspec.json.encode(found))


def _searched(log: Path, status: os.stat_result) -> Digest:
    best: float | None = None
    marks: dict[str, str] = {}
    damage = _Damage()
    for line in _whole_lines(log):
        if not damage.passes(line) or not line.startswith(_LINES):
            continue
        try:
            event = _line.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # torn or damaged: the reader's to note
        if isinstance(event, _Mark):
            marks[event.key] = event.state
            continue
        for goodput_rps in (event.figures.goodput_rps, *(each.figures.goodput_rps for each in event.bins)):
            if event.users and goodput_rps is not None:
                best = max(best or 0.0, goodput_rps)
    current = sum(1 for state in marks.values() if state != "retracted")
    return Digest(
        size_bytes=status.st_size, changed_ns=status.st_mtime_ns, best_goodput_rps=best, marks=current, damaged_lines=damage.lines
    )


class _Damage:
    """Counts the damaged lines of a log whose first line has a seal."""

    def __init__(self) -> None:
        self.lines = 0
        self._numbering: Numbering | None = None
        self._first = True

    def passes(self, line: bytes) -> bool:
        """Whether the next line is intact, as far as its checksum shows."""
        if self._first:
            self._first, self._numbering = False, Numbering(last=0) if has_seal(line) else None
        if self._numbering is None:
            return True
        try:
            self.lines += self._numbering.take(number_of(line))
        except SealError:
            self._numbering.skip()
            self.lines += bool(line.strip())
            return False
        return True


def _whole_lines(log: Path) -> Iterator[bytes]:
    """Lines with their ends, a part of the log at a time; `too long` for one that is."""
    with open_regular(log) as file:
        source = Lines(file)
        while part := source.next_part(_PART_BYTES):
            yield from (line or b"too long" for _, line in part if line is None or line.endswith(b"\n"))
