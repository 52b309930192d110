"""Appends events to a session log so that everything recorded can be read, even after a crash.

Used by one native thread (the pump) of a process that gevent has patched: so without locks, sleeps and buffered files, only with
`os` calls. Must not decide what happens to a run whose log fails.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from ..errors import LogWriteError
from ..model.events import SCHEMA, Ended, Event, Header, Mark, Sample
from ..model.sources import Clock
from ..paths import PRIVATE_FILE, PRIVATE_FOLDER
from .canonical import canonical
from .codec import encode, sealed

# -- new file ------------------------------------------------------------------------------------------------------------------
# A file that gets its name only after its first content is on the disk, so that a crash leaves no empty file; and that is made
# again if it is removed while it is open.


_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)

_PIECE_BYTES = 1 << 20


class NewFile:
    """A file that is opened at once, so that errors are found early, and gets its name by `appear`."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if `path` exists, or its folder is missing or not writable, or there is no space."""
        self.path = path
        self._hidden_as: Path | None = None
        """Its temporary name, on file systems without unnamed files."""
        self._has_appeared = False
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        try:
            self.fd = os.open(path.parent, os.O_TMPFILE | _FLAGS, PRIVATE_FILE)
        except (AttributeError, OSError):  # not on Linux; not this file system (NFS); or a failure that shows again here
            hidden = path.with_name(f".{path.name}.new")
            self.fd = os.open(hidden, os.O_CREAT | os.O_EXCL | _FLAGS, PRIVATE_FILE)
            self._hidden_as = hidden

    def appear(self) -> None:
        """Give the file its name, after everything written so far is on the disk. Without effect if it has its name. Raises
        OSError.
        """
        if self._has_appeared:
            return
        os.fsync(self.fd)
        if self._hidden_as is not None:
            os.rename(self._hidden_as, self.path)
        else:  # with `src_dir_fd` Python calls linkat, which alone can follow this link to the file
            os.link(f"/proc/self/fd/{self.fd}", self.path, src_dir_fd=self.fd, follow_symlinks=True)
        self._has_appeared = True

    def has_left(self) -> bool:
        """Whether its name no longer leads to it: it was removed, moved or replaced. Raises OSError."""
        if not self._has_appeared:
            return False
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(self.fd))
        except FileNotFoundError:
            return True

    def again(self) -> NewFile:
        """A file of this name with this content, which stays readable here after its removal; close this one then. What has taken
        the name meanwhile is kept beside it as `NAME.replaced`. Raises OSError.
        """
        self.path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.rename(self.path, self.path.with_name(f"{self.path.name}.replaced"))
        fresh = NewFile(self.path)
        try:
            position = 0
            while piece := os.pread(self.fd, _PIECE_BYTES, position):
                position += os.write(fresh.fd, piece)
            fresh.appear()
        except OSError:
            fresh.close()
            raise
        return fresh

    def close(self) -> None:
        """Close the file; delete it if it has no name yet."""
        os.close(self.fd)
        if self._hidden_as is not None and not self._has_appeared:
            with suppress(OSError):
                os.unlink(self._hidden_as)


_SYNC_AFTER_S = 4.0
"""Seconds between fsyncs; with a flush each second, an fsync happens at least every 5 s."""


class SessionWriter:
    """Writes events to a new file. The header, marks and the end are written and synced at once. A sample is passed to the
    operating system at once, with everything before it, since the process may be killed in the analysis that follows. All other
    events wait for `flush`.

    A file that is removed, moved or replaced while it is written is made again, with everything recorded, at the next `flush`.

    The file gets its name once its whole header is on the disk: a process that is killed earlier leaves no empty log.

    If the disk fails, LogWriteError is raised once; from then on events are kept in memory until `retry` or `close` writes
    them. Complete lines on the disk are never removed.
    """

    def __init__(self, path: Path, clock: Clock = time.monotonic) -> None:
        """Create the file. Raises LogWriteError if `path` exists, or its folder is missing or not writable, or there is no
        space.
        """
        self.path = path
        self.failure: LogWriteError | None = None
        """Set while events cannot be written."""
        self.made_again = 0
        """How often the file was gone and has been made again."""
        self._clock = clock
        self._kept = bytearray()
        self._lines = 0
        self._size = 0
        self._synced_at, self._synced_size = clock(), 0
        self._began = self._ended = False
        try:
            self._file: NewFile | None = NewFile(path)
        except OSError as error:
            raise LogWriteError(f"{path}: the session log cannot be created: {error.strerror or error}") from None

    def write(self, event: Event) -> None:
        """Write one event as it will be read (`canonical`); events after `ended` are dropped. Raises ValueError unless the header
        is the first event, and only it.
        """
        self.write_canonical(canonical(event))

    def write_canonical(self, event: Event) -> None:
        """As `write`, for an event that `canonical` returned: it is written unchanged, with any secret that it has."""
        if isinstance(event, Header) == self._began:
            raise ValueError(f"the header comes first, and once; this is a {type(event).__name__}")
        if self._ended:
            return
        self._began, self._ended = True, isinstance(event, Ended)
        if isinstance(event, Header):  # a copy of an older log is of today's schema
            event = msgspec.structs.replace(event, schema=SCHEMA)
        self._lines += 1
        self._kept += sealed(encode(event), self._lines) + b"\n"
        if isinstance(event, Header | Mark | Ended):
            self._save(sync=True)
        elif isinstance(event, Sample):
            self.flush()

    def flush(self) -> None:
        """Pass everything to the operating system; to be called every tick. Raises LogWriteError, once, if that fails."""
        self._save(sync=self._clock() - self._synced_at >= _SYNC_AFTER_S, look=True)

    def retry(self) -> bool:
        """Try to write the kept events after a failure. Returns whether all of them are on the disk."""
        self.failure = None
        try:
            self._save(sync=True, look=True)
        except LogWriteError as error:
            self.failure = error
        return self.failure is None

    def close(self) -> None:
        """Write everything, with a last try if the disk had failed, and close the file; may be called twice.

        Raises LogWriteError if that fails for the first time; `failure` is set if it failed again.
        """
        if self._file is None:
            return
        try:
            if self.failure is None:
                self._save(sync=True, look=True)
            else:
                self.retry()
        finally:
            self._file.close()
            self._file = None

    def _save(self, *, sync: bool, look: bool = False) -> None:
        """`look`: make sure that the file is still there."""
        if self.failure is not None or self._file is None:
            return
        try:
            if look and self._file.has_left():
                self._make_again(self._file)
            if look and os.fstat(self._file.fd).st_size < self._size:
                raise OSError(errno.EIO, "another program has shortened it")
            self._append(self._file.fd)
            if self._began:
                self._file.appear()
            if sync and self._size > self._synced_size:
                os.fsync(self._file.fd)
                self._synced_size = self._size
            if sync:
                self._synced_at = self._clock()
        except OSError as error:
            self.failure = LogWriteError(f"{self.path}: the session log cannot be written: {error.strerror or error}")
            raise self.failure from None

    def _make_again(self, file: NewFile) -> None:
        self._file = file.again()
        file.close()
        self.made_again += 1

    def _append(self, fd: int) -> None:
        """Write the kept lines. If the disk fails in between, the file ends after a complete line, and the others stay kept."""
        written = 0
        try:
            while written < len(self._kept):
                with memoryview(self._kept) as view, view[written:] as rest:
                    written += os.write(fd, rest)
        except OSError:
            written = self._cut_back(fd, written)
            raise
        finally:
            self._size += written
            del self._kept[:written]

    def _cut_back(self, fd: int, written: int) -> int:
        """Remove an incomplete line from the end of the file. Returns the number of kept bytes that are then in the file."""
        whole = self._kept.rfind(b"\n", 0, written) + 1
        try:
            os.ftruncate(fd, self._size + whole)
        except OSError:
            return written  # then the incomplete line stays, and the next try completes it
        return whole
