"""Opens files that other programs may have created: only regular files, with lines of bounded length. Files of the app are
private.

Opening a named pipe would block; a file without line ends, such as gigabytes of a sparse file, would fill the memory.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import BinaryIO

from ..paths import PRIVATE_FILE

LONGEST_LINE_BYTES = 8 * 1024 * 1024
"""The longest line that a run writes holds a level's figures, below 1 MB."""
_PIECE_BYTES = 1024 * 1024


class NotRegularError(OSError):
    """A folder, a named pipe, a device, a socket."""


def open_regular(path: Path) -> BinaryIO:
    """The file for reading; never waits for a writer. Raises OSError, NotRegularError among them."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotRegularError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(fd, "rb")


def read_small(path: Path, most_bytes: int) -> bytes:
    """The beginning of a regular file. Raises OSError."""
    with open_regular(path) as file:
        return file.read(most_bytes)


def write_whole(path: Path, content: bytes) -> None:
    """Writes a new private file beside it and renames it, so that a reader sees the old content or the new. Raises OSError."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb") as file:
            file.write(content)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


class Lines:
    """The lines of a file that may still grow, a part at a time."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.position = 0
        """Number of bytes of the lines that were returned."""

    def next_part(self, most_bytes: int) -> list[tuple[int, bytes | None]]:
        """Where each of the next lines begins, and the line; None for one longer than LONGEST_LINE_BYTES.

        About `most_bytes` of them, at least one; empty: no more yet. The file's last line may lack its line end. Raises OSError.
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

    def line_at(self, position: int) -> bytes:
        """The line that begins there. Raises OSError."""
        self.file.seek(position)
        return self.file.readline(LONGEST_LINE_BYTES + _PIECE_BYTES)

    def put_back(self, line: bytes) -> None:
        """Return the last line again later, when more of it has been written."""
        self.position -= len(line)

    def _pass_over(self, read_bytes: int) -> int:
        """Skip to the byte after the next line end. Returns where the line began."""
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
    """Position of the next data of a sparse file: a hole has no line ends, and may have terabytes."""
    try:
        return os.lseek(file.fileno(), position, os.SEEK_DATA)
    except AttributeError:  # not on this platform
        return position
    except OSError as error:
        return os.fstat(file.fileno()).st_size if error.errno == errno.ENXIO else position
