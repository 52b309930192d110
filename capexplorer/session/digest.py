"""What a list tells of a session beside its ends: best goodput, marks, and the verdict on it.

Goodput and marks are searched in the log as bytes, without decoding the rest; a `Judge` has the verdict. What was found is kept
beside the log (`ID.digest`) for as long as size and time of change stay. That file is a cache: anyone may delete it, and where it
cannot be written nothing is said.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from .names import SUFFIX

DIGEST_SUFFIX = ".digest"
_VERSION = 2
_PIECE_BYTES = 4 * 1024 * 1024
_LINES = (b'\n{"type":"level_closed",', b'\n{"type":"mark",')
"""As the codec writes them: compact, type first."""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """Of a whole log."""

    version: int = _VERSION
    size_bytes: int
    changed_ns: int
    best_goodput_rps: float | None = None
    """Of its settled levels; None when none has one."""
    marks: int = 0
    """Current ones: the last revision of each, retracted ones left out."""
    verdict: str | None = None
    """One sentence; None where the judge could not read the log."""
    knee_users: float | None = None
    """Users at the knee; None where the verdict has no knee."""


class Judge(Protocol):
    """Reads a log for its verdict: (sentence, users at the knee)."""

    def __call__(self, log: Path, /) -> tuple[str | None, float | None]:
        """Raises nothing: what cannot be read has no verdict."""


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
    """From the cache, or searched, judged and kept. Raises OSError for the log."""
    kept = kept_digest(log)
    if kept is not None:
        return kept
    found = _searched(log, log.stat())
    verdict, knee_users = judge(log)
    found = msgspec.structs.replace(found, verdict=verdict, knee_users=knee_users)
    _keep(log, found)
    return found


def kept_digest(log: Path) -> Digest | None:
    """From the cache alone: None when the log must be searched. Raises OSError for the log."""
    told = log.stat()
    try:
        kept = _digest.decode(path_of(log).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    same = (kept.version, kept.size_bytes, kept.changed_ns) == (_VERSION, told.st_size, told.st_mtime_ns)
    return kept if same else None


def _keep(log: Path, found: Digest) -> None:
    path = path_of(log)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    with contextlib.suppress(OSError):
        new.write_bytes(msgspec.json.encode(found))
        os.replace(new, path)


def _searched(log: Path, told: os.stat_result) -> Digest:
    best: float | None = None
    marks: dict[str, str] = {}
    for line in _lines(log):
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
    return Digest(size_bytes=told.st_size, changed_ns=told.st_mtime_ns, best_goodput_rps=best, marks=current)


def _lines(log: Path) -> Iterator[bytes]:
    """Whole lines of the two types, in order. A piece at a time: a day's log is 200 MB."""
    with log.open("rb") as file:
        rest = b""
        while piece := file.read(_PIECE_BYTES):
            piece = rest + piece
            end = piece.rfind(b"\n")
            for start in sorted(start for begin in _LINES for start in _found(piece, begin, end)):
                yield piece[start + 1 : piece.index(b"\n", start + 1)]
            rest = piece[max(end, 0) :]


def _found(piece: bytes, begin: bytes, end: int) -> Iterator[int]:
    start = piece.find(begin, 0, end)
    while start >= 0:
        yield start
        start = piece.find(begin, start + 1, end)
