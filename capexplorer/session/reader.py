"""Reads the events of a saved log, even if the file is damaged: lines that cannot be read are left out and noted.

Each line has a seal (`codec`): a line that was changed by a single digit, duplicated or moved is left out, and missing lines are
noted. The log is read in parts, since a day's log has hundreds of megabytes and may still grow, and any line can be read again by
its position. Must not repair or write anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from .. import __version__
from ..errors import SessionError
from ..model.events import SCHEMA, Event, Header
from .codec import Line, LineError, Numbering, SealError, decode, decode_plain, from_plain, has_seal, number_of
from .files import LONGEST_LINE_BYTES, Lines, NotRegularError, open_regular

_PART_BYTES = 128 * 1024
"""Size of a part. Its events take 0.24 MB, which fit the cache of a core; parts of twice the size take 6 to 17% longer."""
_MOST_NOTES = 20
_THIS = f"capexplorer {__version__}"


class SessionReader:
    """An open session. Its events, the header first, are read once, by iteration or by `read_on`. Close it, or use `with`."""

    header: Header
    notes: list[str]
    """What was left out or is missing so far, by line number: the first 20 notes, then the number of further ones."""
    damaged: int
    """Number of lines left out or missing so far, without a last line that was cut off when the recording was killed."""

    def __init__(self, path: Path) -> None:
        """Open `path` and read its header. Raises SessionError if this version cannot read it as a session."""
        self.path = path
        self.notes = []
        self.damaged = 0
        self._noted = 0
        self._source = Lines(_open(path))
        self._count = 0
        """Number of lines read so far."""
        try:
            self._read_header()
        except BaseException:
            self.close()
            raise

    @property
    def position(self) -> int:
        """Number of bytes read so far."""
        return self._source.position

    def __iter__(self) -> Iterator[Event]:
        yield self.header
        while events := self.read_on():
            yield from (event for _, event in events if event is not None)

    def read_on(self, most_bytes: int = _PART_BYTES, *, wait: bool = False) -> list[tuple[int, Event | None]]:
        """(position, event) of each of the next lines, about `most_bytes`; empty if there are no more yet. The event is None
        for a line that is left out.

        A last line without its line end is left out; with `wait` it is read later, since it may still be written, and a log that
        was removed and written again is followed.
        """
        lines = self._next_lines(most_bytes)
        if wait and not lines and self._follows():
            lines = self._next_lines(most_bytes)
        if wait and lines and (last := lines[-1][1]) is not None and not last.endswith(b"\n"):
            self._source.put_back(last)
            lines.pop()
        return [(place, self._event(line)) for place, line in lines]

    def event_at(self, position: int) -> Event:
        """The event whose line begins at `position`, which `read_on` returned. Raises SessionError if the file was changed."""
        try:
            line = self._source.line_at(position)
            number_of(line)
            return decode(line)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        except (LineError, SealError) as error:
            raise SessionError(f"{self.path}: changed while it was open: {error}") from None

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._source.file.close()

    def __enter__(self) -> SessionReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _next_lines(self, most_bytes: int) -> list[tuple[int, bytes | None]]:
        try:
            return self._source.next_part(most_bytes)
        except OSError as error:
            raise _unreadable(self.path, error) from None

    def _follows(self) -> bool:
        try:
            return self._source.follow(self.path)
        except OSError:  # removed, and not there again yet
            return False

    def _event(self, line: bytes | None) -> Event | None:
        """The event of the next line; None, with a note, if the line is left out."""
        self._count += 1
        if line is None:
            self._leave_out(f"longer than {LONGEST_LINE_BYTES >> 20} MB")
            return None
        try:
            self._check_place(number_of(line))
            event = decode(line)
        except SealError as error:
            self._leave_out_broken(line, str(error))
            return None
        except LineError as error:  # intact: of a form that came with another version, or that something else has written
            self._leave_out_broken(line, f"{error}{self._other_version}")
            return None
        if isinstance(event, Header):
            self._leave_out("a second header")
            return None
        return event

    def _check_place(self, number: int) -> None:
        """Note lines that are missing before this one. Raises SealError for a line that is duplicated or moved."""
        if missing := self._numbering.take(number):
            self.damaged += missing
            self._note(f"line {self._count}: {missing} line{'s' * (missing > 1)} missing before it")

    def _leave_out_broken(self, line: bytes, why: str) -> None:
        if not line.strip():
            return
        if line.endswith(b"\n") or has_seal(line):
            self._leave_out(why)
        else:
            self._note(f"line {self._count}: cut off, dropped (the recording was ended while it was written)")

    def _leave_out(self, why: str) -> None:
        self._numbering.skip()
        self.damaged += 1
        self._note(f"line {self._count}: skipped: {why}")

    def _read_header(self) -> None:
        try:
            line = self._source.line_at(0)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        self._source.position, self._count = len(line), 1
        line = line.removeprefix(b"\xef\xbb\xbf")
        _check_is_log(self.path, line)
        self._numbering = Numbering(last=1)
        try:
            if has_seal(line):
                number_of(line)
            fields = decode_plain(line)
        except SealError as error:
            raise SessionError(f"{self.path}: line 1, its header, is {error}") from None
        except LineError as error:
            whole = line.endswith(b"\n")
            reason = str(error) if whole else "its header is cut off: nothing was recorded"
            raise SessionError(f"{self.path}: {reason}") from None
        self._check_schema(fields)
        if not has_seal(line):
            raise SessionError(f"{self.path}: line 1, its header, is damaged: it has no checksum")
        try:
            header = from_plain(fields)
        except LineError as error:
            raise SessionError(f"{self.path}: {error}") from None
        assert isinstance(header, Header)
        self.header = header
        writer = _writer(fields)
        self._other_version = "" if writer == _THIS else f" (written by {writer}; this is {_THIS})"

    def _check_schema(self, fields: Line) -> None:
        if fields["type"] != "header":
            raise SessionError(f"{self.path}: no header in its first line, but a `{fields['type'][:40]}`")
        schema = fields.get("schema")
        if not isinstance(schema, int) or isinstance(schema, bool):
            raise SessionError(f"{self.path}: its header names no schema")
        if schema != SCHEMA:
            raise SessionError(f"{self.path}: has format {schema}, written by {_writer(fields)}; {_THIS} reads format {SCHEMA}")

    def _note(self, text: str) -> None:
        self._noted += 1
        if self._noted <= _MOST_NOTES:
            self.notes.append(text)
        else:
            self.notes[_MOST_NOTES:] = [f"{self._noted - _MOST_NOTES} more notes"]


def _writer(fields: Line) -> str:
    """The version that has written a header, of any format."""
    versions = fields.get("versions")
    version = versions.get("capexplorer") if isinstance(versions, dict) else None
    return f"capexplorer {version[:20]}" if isinstance(version, str) else "an unknown version"


def open_session(path: Path) -> SessionReader:
    """Open a saved session. Raises SessionError."""
    return SessionReader(path)


def read(path: Path) -> Iterator[Event]:
    """All events of a saved session, the header first. Raises SessionError before the first event."""
    with open_session(path) as session:
        yield from session


def _open(path: Path) -> BinaryIO:
    try:
        return open_regular(path)
    except FileNotFoundError:
        raise SessionError(f"{path}: no such session") from None
    except NotRegularError:
        what = "a folder, not a session" if path.is_dir() else "not a regular file"
        raise SessionError(f"{path}: {what}") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> SessionError:
    return SessionError(f"{path}: cannot be read: {error.strerror or error}")


def _check_is_log(path: Path, line: bytes) -> None:
    if not line:
        raise SessionError(f"{path}: empty: nothing was recorded")
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SessionError(f"{path}: encoded as UTF-16; a session log is UTF-8")
    if not line.lstrip().startswith(b"{") or b"\0" in line:
        raise SessionError(f"{path}: not a session log: its first line is no header")
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        if line.endswith(b"\n") or error.reason != "unexpected end of data":
            raise SessionError(f"{path}: not UTF-8 (byte {error.start} of its header)") from None
