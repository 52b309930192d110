"""stdout of a command: if it cannot be written (a full disk, a closed descriptor), the command ends with one line and an exit
code."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import Any

from .errors import CapexplorerError, InputError


class ReaderGoneError(CapexplorerError):
    """The reader of stdout closed it (`| head`); this is not reported."""

    exit_code = 128 + getattr(signal, "SIGPIPE", 13)


class StdoutError(InputError):
    """stdout cannot be written."""


class _Stdout(io.FileIO):
    """Descriptor 1. Its errors are not OSErrors: those of stdout alone may end a command in one line."""

    def write(self, data: Any, /) -> int:
        """Raises ReaderGoneError, StdoutError."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ReaderGoneError("stdout: the reader has closed it") from None
        except OSError as error:
            raise StdoutError(f"stdout: cannot be written: {error.strerror or error}") from None


def install() -> None:
    """Make it `sys.stdout`. Closed descriptors among 0 to 2 are opened first: no log may get one of these numbers."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if descriptor == 1 else os.O_RDWR)  # gets the lowest that is free; 1 takes no writes
    before = sys.stdout
    buffered = io.BufferedWriter(_Stdout(1, "wb", closefd=False))
    encoding, errors = (before.encoding, before.errors) if before is not None else ("utf-8", "strict")
    sys.stdout = io.TextIOWrapper(buffered, encoding, errors, line_buffering=os.isatty(1))
    if sys.stderr is None:  # Python found 2 closed
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def give_up() -> None:
    """Discard all further and buffered output, since the interpreter flushes once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
