"""The screen's own descriptors of the terminal: Textual draws on duplicates, so that descriptors 1 and 2 can be redirected.

User code prints, gevent prints tracebacks, and Locust logs, all of which would corrupt the screen. A separate process restores
the terminal if this one is killed (`terminal_keeper.py`). `terminal_driver.py` lets Textual draw here. Must not know Textual,
events, panes or where the descriptors are redirected to.

Must be imported before gevent patches `os`: its `close` leaves a pipe open until its hub next turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from os import close, waitpid
from typing import Any

import msgspec

from ..errors import InputError
from ..procs import isolated


class Terminal(msgspec.Struct):
    """Our own descriptors of the terminal. `drawn`: application mode was entered and not yet left."""

    input_fd: int
    output_fd: int
    drawn: bool = False
    gone: bool = False
    """Whether a write or a read failed, because the terminal is gone."""
    keeper: Keeper | None = None
    _own_settings: list[Any] | None = None
    """The terminal's settings while application mode is on."""

    def about_to_draw(self) -> None:
        """Note that application mode is entered next."""
        self.drawn, self._own_settings = True, None
        if self.keeper is not None:
            self.keeper.send(True)

    def drawing(self) -> None:
        """Note that application mode was entered, so that the present settings are those of the screen."""
        self._own_settings = _attributes(self.input_fd)
        if self.keeper is not None:
            self.keeper.send(self._own_settings or True)

    def was_taken(self) -> bool:
        """Whether another process has changed the terminal's settings since then."""
        now = _attributes(self.input_fd)
        return self.drawn and None not in (now, self._own_settings) and now != self._own_settings

    def left(self) -> None:
        """Note that the terminal has left application mode."""
        self.drawn = False
        if self.keeper is not None:
            self.keeper.send(False)

    def size(self) -> tuple[int, int]:
        """Columns and lines; 80x24 if the terminal does not report its size."""
        with contextlib.suppress(OSError):
            columns, lines = os.get_terminal_size(self.output_fd)
            if columns > 0 and lines > 0:
                return columns, lines
        return 80, 24

    def write(self, data: str) -> int:
        """Write all of `data`, or stop when the terminal is gone. Never raises."""
        rest = memoryview(data.encode("utf-8", "replace"))
        while rest and not self.gone:
            try:
                rest = rest[os.write(self.output_fd, rest) :]
            except BlockingIOError:  # another process that shares the terminal may have made it non-blocking
                self._wait_writable()
            except OSError:
                self.gone = True
        return len(data)

    def _wait_writable(self) -> None:
        with selectors.SelectSelector() as selector:
            selector.register(self.output_fd, selectors.EVENT_WRITE)
            selector.select(0.1)


class Keeper:
    """The app's side of the process that restores the terminal if this one is killed."""

    def __init__(self, terminal: Terminal, attributes: list[Any] | None) -> None:
        """Start it. Raises OSError if it cannot be started."""
        reader, self._writer = os.pipe()
        descriptors = (terminal.input_fd, terminal.output_fd)
        try:
            self._process = subprocess.Popen(
                isolated.command("capexplorer.tui.terminal_keeper", *map(str, descriptors)),
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,
            )
        except OSError:
            close(self._writer)
            raise
        finally:
            close(reader)
        self.send(attributes)

    def send(self, what: list[Any] | bool | None) -> None:
        """Send one line of its protocol. Never raises: it may have been killed."""
        from .terminal_keeper import plain

        line = json.dumps(plain(what) if isinstance(what, list) else what).encode() + b"\n"
        with contextlib.suppress(OSError):
            os.write(self._writer, line)

    def end(self) -> None:
        """End it. Returns after its end."""
        close(self._writer)
        with contextlib.suppress(ChildProcessError):
            waitpid(self._process.pid, 0)
        self._process.returncode = 0


@contextlib.contextmanager
def own_terminal() -> Iterator[Terminal]:
    """A context with duplicates of the terminal on stdin and stderr. It restores the terminal at its end, in any case.

    Raises InputError if stdin or stderr is no terminal.
    """
    if not (os.isatty(0) and os.isatty(2)):
        raise InputError("the live screen needs a terminal on stdin and stderr; otherwise use `run --headless`")
    terminal = Terminal(_duplicate(0), _duplicate(2))
    attributes = _attributes(terminal.input_fd)
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            terminal.keeper = Keeper(terminal, attributes)
    try:
        yield terminal
    finally:
        if terminal.drawn:
            from .terminal_keeper import LEAVE

            terminal.write(LEAVE)
        _restore(terminal.input_fd, attributes)
        terminal.left()
        if terminal.keeper is not None:
            terminal.keeper.end()
        close(terminal.input_fd)
        close(terminal.output_fd)


def _duplicate(fd: int) -> int:
    """A duplicate that children do not inherit, with a number from 10 up, since user code may expect low numbers."""
    if sys.platform == "win32":
        return os.dup(fd)
    import fcntl

    return int(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10))


def _attributes(fd: int) -> list[Any] | None:
    if sys.platform == "win32":
        return None
    import termios

    try:
        return termios.tcgetattr(fd)
    except termios.error:
        return None


def _restore(fd: int, attributes: list[Any] | None) -> None:
    if attributes is None or sys.platform == "win32":
        return
    import termios

    with contextlib.suppress(termios.error):
        termios.tcsetattr(fd, termios.TCSANOW, attributes)
