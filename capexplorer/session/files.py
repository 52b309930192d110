"""Reads files that other programs may have created, safely: only regular files, with lines of bounded length. Also writes private
files.

Opening a named pipe would block, and a file without line ends, such as gigabytes of a sparse file, would fill the memory.
"""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import stat
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError, SessionError
from ..model import outside
from ..paths import PRIVATE_FILE, PRIVATE_FOLDER

# -- names ---------------------------------------------------------------------------------------------------------------------
# Ids and file names of sessions: an id consists of the start time, the profile and four random characters.


SUFFIX = ".jsonl"
_LONGEST_SLUG = 40
_CHOOSE = "choose another one by --sessions-dir"


def new_path(folder: Path, profile_name: str, started_at: datetime) -> tuple[str, Path]:
    """The id and path of a new session in the folder: `YYYYMMDD-HHMMSS-PROFILE-xxxx`."""
    profile = slug(profile_name)
    while True:
        name = f"{started_at:%Y%m%d-%H%M%S}-{profile}-{secrets.token_hex(2)}"
        path = folder / f"{name}{SUFFIX}"
        if not path.exists():
            return name, path


def slug(name: str) -> str:
    """`name` reduced to characters that are allowed in a file name and an id."""
    return re.sub(r"[^\w.]+", "-", name, flags=re.ASCII).strip("-.")[:_LONGEST_SLUG] or "session"


def make_folder(folder: Path) -> None:
    """Create the sessions folder if it is missing, private to the user. Raises InputError if it cannot be created or written to,
    or if its name is not UTF-8: logs, screens and other processes could not name the session.
    """
    if os.fsencode(where := os.path.abspath(folder)) != where.encode("utf-8", "replace"):
        raise InputError(f"{where}: the sessions folder has a name that is not UTF-8; {_CHOOSE}")
    try:
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the sessions folder cannot be made: {error.strerror or error}; {_CHOOSE}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: the sessions folder is not writable; {_CHOOSE}")


LONGEST_LINE_BYTES = 8 * 1024 * 1024
"""Longer lines are not read. The longest line that a run writes is that of a level's figures, below 1 MB."""
_PIECE_BYTES = 1024 * 1024


class NotRegularError(OSError):
    """The path is not a regular file, but a folder, a named pipe, a device or a socket."""


def open_regular(path: Path) -> BinaryIO:
    """The file, open for reading; never waits for a writer. Raises OSError, or NotRegularError, which is one."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotRegularError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(fd, "rb")


def read_small(path: Path, most_bytes: int) -> bytes:
    """At most `most_bytes` from the beginning of a regular file. Raises OSError."""
    with open_regular(path) as file:
        return file.read(most_bytes)


def write_whole(path: Path, content: bytes) -> None:
    """Replace the content of `path` by writing a new private file in its folder and renaming it, so that a reader gets either the
    old content or the new. Raises OSError.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb") as file:
            file.write(content)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


class Lines:
    """Reads the lines of a file that may still grow, in parts."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.position = 0
        """Position after the last line that was returned, in bytes."""

    def next_part(self, most_bytes: int) -> list[tuple[int, bytes | None]]:
        """(position, line) of each of the next lines, about `most_bytes` and at least one; empty if there are no more yet.

        A line is None if it is longer than LONGEST_LINE_BYTES. The last line of the file may lack its line end. Raises OSError.
        """
        self.file.seek(self.position)
        data = self.file.read(most_bytes)
        while b"\n" not in data and (more := self.file.read(_PIECE_BYTES)):
            data += more
            if len(data) > LONGEST_LINE_BYTES and b"\n" not in data:
                return [(self._pass_over(len(data)), None)]
        lines: list[tuple[int, bytes | None]] = []
        for line in io.BytesIO(data[: data.rfind(b"\n") + 1 or None]):
            lines.append((self.position, line))
            self.position += len(line)
        return lines

    def follow(self, path: Path) -> bool:
        """Go on in the file that `path` leads to now, if that is another one and at least as long. Returns whether it is.

        A run whose log was removed writes it again, with the same content. Raises OSError.
        """
        there = os.stat(path)
        if os.path.samestat(there, os.fstat(self.file.fileno())) or there.st_size < self.position:
            return False
        left, self.file = self.file, open_regular(path)
        left.close()
        return True

    def line_at(self, position: int) -> bytes:
        """The line that begins at this position. Raises OSError."""
        self.file.seek(position)
        return self.file.readline(LONGEST_LINE_BYTES + _PIECE_BYTES)

    def put_back(self, line: bytes) -> None:
        """Let the next part begin with `line`, the last one that was returned, since more of it may have been written by then."""
        self.position -= len(line)

    def _pass_over(self, read_bytes: int) -> int:
        """Skip to the byte after the next line end. Returns the position at which the line begins."""
        began, self.position = self.position, self.position + read_bytes
        end = -1
        while end < 0:
            self.position = _behind_hole(self.file, self.position)
            self.file.seek(self.position)
            piece = self.file.read(_PIECE_BYTES)
            if not piece:
                break
            end = piece.find(b"\n")
            self.position += len(piece) if end < 0 else end + 1
        return began


def _behind_hole(file: BinaryIO, position: int) -> int:
    """Position of the next data of a sparse file: a hole has no line ends, and may be terabytes long."""
    try:
        return os.lseek(file.fileno(), position, os.SEEK_DATA)
    except AttributeError:  # not on this platform
        return position
    except OSError as error:
        return os.fstat(file.fileno()).st_size if error.errno == errno.ENXIO else position


# -- titles --------------------------------------------------------------------------------------------------------------------
# The title that the user gives a session, in a file of its own: the log is never rewritten.


TITLE_SUFFIX = ".title"
LONGEST = 80
"""Greatest number of characters of a title."""
_TITLE_MOST_BYTES = 32 * LONGEST


def title_path(log: Path) -> Path:
    """Path of the title of a log: `ID.title` in the folder of `ID.jsonl`."""
    return log.with_name(log.name.removesuffix(SUFFIX) + TITLE_SUFFIX)


def read_title(log: Path) -> str | None:
    """The title as one line; None if there is none, or it cannot be read."""
    try:
        content = read_small(title_path(log), _TITLE_MOST_BYTES).decode("utf-8", "replace")
        return " ".join(content.split())[:LONGEST] or None
    except OSError:
        return None


def write_title(log: Path, title: str) -> None:
    """Save the title; an empty one removes the file. Raises SessionError if the folder cannot be written to."""
    path = title_path(log)
    text = outside.text(" ".join(title.split()), LONGEST)
    try:
        if text:
            write_whole(path, f"{text}\n".encode())
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise SessionError(f"{path}: the title cannot be saved: {error.strerror or error}") from None
