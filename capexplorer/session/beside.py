"""Files beside the log of a session: its digest, and the requests that a run keeps whole.

The digest has facts that only the whole log shows: best goodput, marks, damaged lines, verdict. Goodput and marks are in
few lines; only these are decoded, and of all others only the checksums are tested. A `Judge` returns the verdict. The digest is
cached in the folder of the log (`ID.digest`), and is valid as long as size and modification time of the log do not change. The
cache may be deleted, and failures to write it are ignored.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ..errors import SessionError
from ..model.kept_request import EVEN_MOST, FAILURES_MOST, SLOWEST_MOST, KeptRequest, RequestBrief
from .codec import Numbering, SealError, has_seal, number_of
from .files import SUFFIX, Lines, open_regular, read_small, write_whole

DIGEST_SUFFIX = ".digest"
_VERSION = 3
_LONGEST_DIGEST_BYTES = 4096
_PART_BYTES = 1024 * 1024
_DECODED_PREFIXES = (b'{"type":"level_closed",', b'{"type":"mark",')
"""How the lines that are decoded begin: the codec writes compact JSON, type first."""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about one whole log."""

    version: int = _VERSION
    size_bytes: int
    changed_ns: int
    best_goodput_rps: float | None = None
    """Highest goodput of its settled levels, 1/s; None if no level has one."""
    marks: int = 0
    """Number of marks whose last revision is not retracted."""
    verdict: str | None = None
    """The verdict as one sentence; None if the judge could not read the log."""
    knee_users: float | None = None
    """Users at the knee; None if the verdict has no knee."""
    damaged_lines: int = 0
    """Number of lines that were changed, removed, duplicated or moved."""


Judge = Callable[[Path], tuple[str | None, float | None]]
"""Reads a log and returns its verdict: (sentence, users at the knee); (None, None) if it cannot be read. Must not raise."""


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


_line_decoder = msgspec.json.Decoder(_LevelClosed | _Mark)
_digest_decoder = msgspec.json.Decoder(Digest)


def digest_path(log: Path) -> Path:
    """Path of the digest of a log: `ID.digest` in the folder of `ID.jsonl`."""
    return log.with_name(log.name.removesuffix(SUFFIX) + DIGEST_SUFFIX)


def digest_of(log: Path, judge: Judge) -> Digest:
    """The digest from the cache, else computed from the log and cached. Raises OSError if the log cannot be read."""
    kept = kept_digest(log)
    if kept is not None:
        return kept
    status = log.stat()  # first: a log that grows meanwhile is judged again
    verdict, knee_users = judge(log)
    found = msgspec.structs.replace(_read(log, status), verdict=verdict, knee_users=knee_users)
    _keep(log, found)
    return found


def kept_digest(log: Path) -> Digest | None:
    """The digest from the cache; None if it has none that is valid. Raises OSError if the log cannot be read."""
    status = log.stat()
    try:
        kept = _digest_decoder.decode(read_small(digest_path(log), _LONGEST_DIGEST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    same = (kept.version, kept.size_bytes, kept.changed_ns) == (_VERSION, status.st_size, status.st_mtime_ns)
    return kept if same else None


def _keep(log: Path, found: Digest) -> None:
    with contextlib.suppress(OSError):
        write_whole(digest_path(log), msgspec.json.encode(found))


def _read(log: Path, status: os.stat_result) -> Digest:
    """The digest of the log's lines, without verdict and knee. `status`: the log's, from before it was read."""
    best: float | None = None
    marks: dict[str, str] = {}
    damage = _Damage()
    for line in _whole_lines(log):
        if not damage.passes(line) or not line.startswith(_DECODED_PREFIXES):
            continue
        try:
            event = _line_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # damaged: the reader reports it
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
    """Complete lines with their line ends; the text `too long` for one that is too long."""
    with open_regular(log) as file:
        source = Lines(file)
        while part := source.next_part(_PART_BYTES):
            yield from (line or b"too long" for _, line in part if line is None or line.endswith(b"\n"))


# -- kept file -----------------------------------------------------------------------------------------------------------------
# The file with the requests that a run keeps whole (`ID.requests`, in the folder of the log): a header, then a line per request.
#
# It exists only with `--keep-bodies`, and is written once at the end of the run, readable only by the user and without secrets.
# The log contains its name.


KEPT_SUFFIX = ".requests"
SCHEMA = 1
_REQUESTS_MOST = 2 * FAILURES_MOST + SLOWEST_MOST + EVEN_MOST
_KEPT_PART_BYTES = 1024 * 1024


class _Head(msgspec.Struct, frozen=True, kw_only=True, tag="requests"):
    """The first line."""

    schema: int
    session: str


_encode = msgspec.json.Encoder().encode


def kept_path(log: Path) -> Path:
    """Path of the kept requests of a log: `ID.requests` in the folder of `ID.jsonl`."""
    return log.with_name(log.name.removesuffix(SUFFIX) + KEPT_SUFFIX)


def write(log: Path, requests: Iterable[KeptRequest]) -> Path:
    """Write the file, with mode 0600. Returns its path. Raises OSError."""
    path = kept_path(log)
    head = _Head(schema=SCHEMA, session=log.name.removesuffix(SUFFIX))
    write_whole(path, b"".join(_encode(each) + b"\n" for each in (head, *requests)))
    return path


class RequestsFile:
    """The `KeptRequests` of a saved session. Raises SessionError for a file that is none."""

    why_none = ""

    def __init__(self, path: Path) -> None:
        try:
            with open_regular(path) as file:
                lines = [line for _, line in _all(Lines(file)) if line is not None]
            head = msgspec.json.decode(lines[0] if lines else b"", type=_Head)
            if head.schema > SCHEMA:
                raise SessionError(f"{path}: kept requests of schema {head.schema}; this version reads up to {SCHEMA}")
            found = [msgspec.json.decode(line, type=KeptRequest) for line in lines[1 : 1 + _REQUESTS_MOST]]
        except OSError as error:
            raise SessionError(f"{path}: cannot be read: {error.strerror or error}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SessionError(f"{path}: not a file of kept requests: {error}") from None
        self._requests = {request.brief.number: request for request in found}

    def briefs(self) -> Sequence[RequestBrief]:
        """Summaries of all requests, in the order in which they began."""
        return sorted((request.brief for request in self._requests.values()), key=lambda brief: brief.t_s)

    def request(self, number: int) -> KeptRequest | None:
        """The request with this number; None: there is none."""
        return self._requests.get(number)


def _all(lines: Lines) -> Iterable[tuple[int, bytes | None]]:
    while part := lines.next_part(_KEPT_PART_BYTES):
        yield from part
