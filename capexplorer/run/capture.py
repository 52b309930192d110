"""Output on descriptors 1 and 2 of this process goes to the session instead of the screen.

gevent prints resolver tracebacks under EMFILE, Locust logs, user code prints: any of it would corrupt the screen. The real
stdout and stderr stay available as duplicates.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import IO, Any

from ..load import native
from ..procs.lines import PIECE_BYTES, LineSplitter

OnLine = Callable[[str, str, str], None]
"""source, level, text; called from any thread."""

LINE_BYTES = 8_192
"""A longer line is cut."""


class _Outlet(io.FileIO):
    """The real stdout or stderr. What it does not take (its reader has left, its disk is full) is dropped: the run goes on."""

    failure: str | None = None
    """Why something was dropped, in a few words; None also if the reader has left."""

    def write(self, data: Any, /) -> int:
        """The number of bytes written or dropped."""
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            return len(data)
        except OSError as error:
            self.failure = error.strerror or str(error)
            return len(data)


class Capture:
    """Call `begin` before load starts; `end` restores the descriptors."""

    def __init__(self) -> None:
        self.stdout: IO[str] | None = None
        """The real stdout while captured."""
        self.stderr: IO[str] | None = None
        self._kept: dict[int, int] = {}
        self._outlets: list[_Outlet] = []

    @property
    def stdout_failure(self) -> str | None:
        """Why stdout did not take everything, in a few words; None also if its reader has left."""
        return self._outlets[0].failure if self._outlets else None

    def begin(self, on_line: OnLine) -> None:
        """Redirect 1 and 2 into pipes that native threads read line by line."""
        sys.stdout.flush()
        sys.stderr.flush()
        for fd, source in ((1, "stdout"), (2, "stderr")):
            self._kept[fd] = os.dup(fd)
            reader, writer = os.pipe()
            os.dup2(writer, fd)
            os.close(writer)
            native.start_thread(partial(_read, reader, source, on_line))
        self._outlets = [_Outlet(os.dup(fd), "wb") for fd in self._kept.values()]
        self.stdout, self.stderr = (io.TextIOWrapper(io.BufferedWriter(each), line_buffering=True) for each in self._outlets)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]

    def discard_output(self) -> None:
        """Discard what is written to the real stdout and stderr from now on, because their reader is gone."""
        null = os.open(os.devnull, os.O_WRONLY)
        for fd in self._kept.values():
            os.dup2(null, fd)
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                os.dup2(null, stream.fileno())
        os.close(null)

    def end(self) -> None:
        """Restore descriptors 1 and 2; the pipes close, and their readers end."""
        sys.stdout.flush()
        sys.stderr.flush()
        for fd, kept in self._kept.items():
            os.dup2(kept, fd)
            os.close(kept)
        self._kept.clear()


def _read(reader: int, source: str, on_line: OnLine) -> None:
    """In a thread of its own: report lines until the pipe closes."""
    splitter = LineSplitter()
    while True:
        chunk = os.read(reader, PIECE_BYTES)
        lines = splitter.add(chunk)
        if not chunk or len(splitter.rest) > LINE_BYTES:
            lines += splitter.end()
        for line in lines:
            on_line(source, "info", line[:LINE_BYTES].decode("utf-8", "replace"))
        if not chunk:
            return os.close(reader)


class NoLock:
    """Replaces logging's lock, which would be gevent's; native threads must not share such a lock."""

    def __enter__(self) -> None:
        """Does not block."""

    def __exit__(self, *_: object) -> None:
        """Releases nothing."""

    acquire = release = __enter__


class LogHandler(logging.Handler):
    """Passes the logging module's records on as lines. Without a lock, because native threads and greenlets log together."""

    def __init__(self, on_line: OnLine) -> None:
        super().__init__(logging.INFO)
        self._on_line = on_line

    def createLock(self) -> None:  # noqa: N802 - logging's name
        """No lock is needed: `on_line` is atomic."""
        self.lock = NoLock()  # type: ignore[assignment]

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on one record."""
        source = (
            "locust" if record.name.startswith("locust") else "capexplorer" if record.name.startswith("capexplorer") else "stderr"
        )
        try:
            text = self.format(record)
        except Exception as error:  # arguments that do not fit the message, as user code may give them
            text = f"{record.msg!r} (not formatted: {type(error).__name__})"
        self._on_line(source, record.levelname.lower(), text)

    def install(self) -> None:
        """Make this the only handler of the root logger."""
        root = logging.getLogger()
        root.handlers[:] = [self]
        root.setLevel(logging.INFO)
        # httpx logs every request: ours once a second, those of user code at the offered load.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        logging.raiseExceptions = False
