"""A file that gets its name only after its first content is on the disk, so that a crash leaves no empty file; and that is made
again if it is removed while it is open."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from ..paths import PRIVATE_FILE, PRIVATE_FOLDER

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
