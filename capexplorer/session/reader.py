"""A saved log back to events, whatever happened to the file: what can be read is read, and what cannot is noted.

Reads on from where it stands, a part at a time (a day's log has hundreds of megabytes, and may still grow), and any line again by
where it begins. Must not repair or write anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from ..errors import SessionError
from ..model.events import SCHEMA, Event, Header
from .codec import Line, LineError, decode, decode_plain, from_plain
from .upgrade import CONVERTERS, Converter, can_upgrade, upgraded

_LONGEST_HEADER_BYTES = 16 * 1024 * 1024
"""A file without line ends is refused after this."""
_PART_BYTES = 256 * 1024
_MOST_NOTES = 20


class SessionReader:
    """An open session: iterate over it, once, for its events, the header first; or `read_on`. Close it, or use it in a `with`."""

    header: Header
    notes: list[str]
    """What was left out, by line number; complete when all was read. The first 20, and then how many more."""

    def __init__(self, path: Path, converters: Mapping[int, Converter] = CONVERTERS) -> None:
        """Open `path` and read its header. Raises SessionError, one line, when it is not a session that we can read."""
        self.path = path
        self.notes = []
        self._left_out = 0
        self._converters = converters
        self._file = _open(path)
        self.position = 0
        """Bytes read; all before are done with."""
        self._lines = 0
        try:
            self._read_header()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Event]:
        yield self.header
        while events := self.read_on():
            yield from (event for _, event in events if event is not None)

    def read_on(self, most_bytes: int = _PART_BYTES, *, wait: bool = False) -> list[tuple[int, Event | None]]:
        """The next lines, about `most_bytes` of them: where each begins and its event, None for one left out. Empty: no more yet.

        A last line without its end is dropped with a note; with `wait` it is left for later, since someone is writing it.
        """
        lines = self._next_lines(most_bytes)
        if wait and lines and not lines[-1].endswith(b"\n"):
            lines.pop()
        events = []
        for line in lines:
            self._lines += 1
            events.append((self.position, self._event(self._lines, line)))
            self.position += len(line)
        return events

    def event_at(self, position: int) -> Event:
        """The event whose line begins at `position`, as `read_on` told. Raises SessionError when the file was changed."""
        try:
            self._file.seek(position)
            line = self._file.readline()
            event = self._decoded(line)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        except LineError as error:
            raise SessionError(f"{self.path}: changed while it was open: {error}") from None
        if event is None:
            raise SessionError(f"{self.path}: changed while it was open")
        return event

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._file.close()

    def __enter__(self) -> SessionReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _next_lines(self, most_bytes: int) -> list[bytes]:
        try:
            self._file.seek(self.position)
            return self._file.readlines(most_bytes)
        except OSError as error:
            raise _unreadable(self.path, error) from None

    def _decoded(self, line: bytes) -> Event | None:
        return decode(line) if self._schema == SCHEMA else self._upgraded(decode_plain(line))

    def _event(self, number: int, line: bytes) -> Event | None:
        try:
            event = self._decoded(line)
        except LineError as error:
            if not line.endswith(b"\n"):
                self._note(f"line {number}: cut off, dropped (the recording was ended while it was written)")
            elif line.strip():
                self._note(f"line {number}: skipped: {error}")
            return None
        if isinstance(event, Header):
            self._note(f"line {number}: skipped: a second header")
            return None
        return event

    def _upgraded(self, line: Line) -> Event | None:
        """A converter meets lines of any shape; what it trips over is a bad line, not a defect."""
        try:
            converted = upgraded(line, self._schema, self._converters)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LineError(f"cannot be upgraded from schema {self._schema}: {error}") from None
        return None if converted is None else from_plain(converted)

    def _read_header(self) -> None:
        try:
            line = self._file.readline(_LONGEST_HEADER_BYTES)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        self.position, self._lines = len(line), 1
        line = line.removeprefix(b"\xef\xbb\xbf")
        _refuse_what_is_no_log(self.path, line)
        try:
            fields = decode_plain(line)
        except LineError as error:
            whole = line.endswith(b"\n")
            reason = str(error) if whole else "its header is cut off: nothing was recorded"
            raise SessionError(f"{self.path}: {reason}") from None
        self._schema = self._schema_of(fields)
        try:
            header = self._upgraded(fields)
        except LineError as error:
            raise SessionError(f"{self.path}: {error}") from None
        if not isinstance(header, Header):
            raise SessionError(f"{self.path}: its header cannot be upgraded from schema {self._schema}")
        self.header = header

    def _schema_of(self, fields: Line) -> int:
        if fields["type"] != "header":
            raise SessionError(f"{self.path}: no header in its first line, but a `{fields['type'][:40]}`")
        schema = fields.get("schema")
        if not isinstance(schema, int) or isinstance(schema, bool):
            raise SessionError(f"{self.path}: its header names no schema")
        if schema > SCHEMA:
            raise SessionError(f"{self.path}: written by a newer capexplorer (schema {schema}; this one reads up to {SCHEMA})")
        if not can_upgrade(schema, self._converters):
            raise SessionError(f"{self.path}: of schema {schema}, which this capexplorer does not read")
        return schema

    def _note(self, text: str) -> None:
        self._left_out += 1
        if self._left_out <= _MOST_NOTES:
            self.notes.append(text)
        else:
            self.notes[_MOST_NOTES:] = [f"{self._left_out - _MOST_NOTES} more lines left out"]


def open_session(path: Path, converters: Mapping[int, Converter] = CONVERTERS) -> SessionReader:
    """Open a saved session. Raises SessionError, in one line."""
    return SessionReader(path, converters)


def read(path: Path) -> Iterator[Event]:
    """All events of a saved session, the header first. Raises SessionError before the first."""
    with open_session(path) as session:
        yield from session


def _open(path: Path) -> BinaryIO:
    if path.is_dir():
        raise SessionError(f"{path}: a folder, not a session")
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise SessionError(f"{path}: no such session") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> SessionError:
    return SessionError(f"{path}: cannot be read: {error.strerror or error}")


def _refuse_what_is_no_log(path: Path, line: bytes) -> None:
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
