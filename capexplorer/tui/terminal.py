"""The terminal, kept for the screen: Textual draws on a duplicate, so that descriptors 1 and 2 are free to be routed elsewhere.

User code prints, gevent prints tracebacks, Locust logs; on the screen's own descriptor any of it would tear the screen. Also
here: a driver that outlives its terminal. When SSH goes, writes fail with EIO and reads end; Textual's writer thread would die of
the first and its reader spin on the second. A process beside this one gives the terminal back if this one is killed
(`terminal_keeper.py`). Must not know events, panes or what the descriptors are routed to.

Must be imported before gevent patches `os`: its `close` leaves a pipe open until its hub next turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from os import close, waitpid
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import InputError

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver

_PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
_KEEPER = "import sys; sys.path.append(sys.argv[1]); from capexplorer.tui.terminal_keeper import main; main()"


@dataclass(slots=True)
class Terminal:
    """Our own descriptors of the terminal. `drawn`: application mode was entered and not yet left."""

    input_fd: int
    output_fd: int
    drawn: bool = False
    gone: bool = False
    """A write or a read failed: nobody is there any more."""
    keeper: Keeper | None = None
    _own_settings: list[Any] | None = None
    """While it is drawn on."""

    def about_to_draw(self) -> None:
        """Application mode is entered next."""
        self.drawn, self._own_settings = True, None
        if self.keeper is not None:
            self.keeper.tell(True)

    def drawing(self) -> None:
        """Application mode is entered: the settings are the screen's own."""
        self._own_settings = _attributes(self.input_fd)
        if self.keeper is not None:
            self.keeper.tell(self._own_settings or True)

    def was_taken(self) -> bool:
        """Whether someone else has set it up since then."""
        now = _attributes(self.input_fd)
        return self.drawn and None not in (now, self._own_settings) and now != self._own_settings

    def left(self) -> None:
        """Application mode is left, by whatever way."""
        self.drawn = False
        if self.keeper is not None:
            self.keeper.tell(False)

    def driver_class(self) -> type[Driver] | None:
        """A driver class for `App(driver_class=...)` that draws here. None (Textual's own) where there is no termios."""
        return None if sys.platform == "win32" else _driver_on(self)

    def size(self) -> tuple[int, int]:
        """Columns and lines; 80x24 where the terminal does not tell."""
        with contextlib.suppress(OSError):
            columns, lines = os.get_terminal_size(self.output_fd)
            if columns > 0 and lines > 0:
                return columns, lines
        return 80, 24

    def write(self, data: str) -> int:
        """All of `data`, or nothing more once the terminal is gone. Never raises."""
        rest = memoryview(data.encode("utf-8", "replace"))
        while rest and not self.gone:
            try:
                rest = rest[os.write(self.output_fd, rest) :]
            except BlockingIOError:  # the terminal is shared, and whoever has it too may have made it non-blocking
                self._wait_writable()
            except OSError:
                self.gone = True
        return len(data)

    def _wait_writable(self) -> None:
        with selectors.SelectSelector() as selector:
            selector.register(self.output_fd, selectors.EVENT_WRITE)
            selector.select(0.1)


class Keeper:
    """The app's side of the process that gives the terminal back when this one is killed."""

    def __init__(self, terminal: Terminal, attributes: list[Any] | None) -> None:
        """Raises OSError where it cannot be started."""
        reader, self._writer = os.pipe()
        descriptors = (terminal.input_fd, terminal.output_fd)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _KEEPER, _PACKAGE_ROOT, *map(str, descriptors)],
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
        self.tell(attributes)

    def tell(self, what: list[Any] | bool | None) -> None:
        """One line of its protocol. Never raises: it may have been killed."""
        from .terminal_keeper import plain

        line = json.dumps(plain(what) if isinstance(what, list) else what).encode() + b"\n"
        with contextlib.suppress(OSError):
            os.write(self._writer, line)

    def end(self) -> None:
        """Let it go; returns when it has."""
        close(self._writer)
        with contextlib.suppress(ChildProcessError):
            waitpid(self._process.pid, 0)
        self._process.returncode = 0


@contextlib.contextmanager
def own_terminal() -> Iterator[Terminal]:
    """Duplicates of the terminal on stdin and stderr; everything is as it was afterwards, also when the screen was cut short.

    Raises InputError when stdin or stderr is no terminal.
    """
    if not (os.isatty(0) and os.isatty(2)):
        raise InputError("the live screen needs a terminal on stdin and stderr; without one use `run --headless`")
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
        os.close(terminal.input_fd)
        os.close(terminal.output_fd)


def _duplicate(fd: int) -> int:
    """A descriptor that children do not inherit, out of the way of those that user code expects to be low."""
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


class _Output:
    """What Textual's writer takes for its file."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def write(self, data: str) -> int:
        return self._terminal.write(data)

    def flush(self) -> None:
        pass

    def fileno(self) -> int:
        return self._terminal.output_fd

    def isatty(self) -> bool:
        return True


def _driver_on(terminal: Terminal) -> type[Driver]:  # noqa: C901 - counts the methods of the class within
    """A class, since Textual makes the instance."""
    from textual._xterm_parser import XTermParser
    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        """Draws on `terminal`, and takes the end of input for a hang-up."""

        def __init__(
            self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
        ) -> None:
            super().__init__(app, debug=debug, mouse=mouse, size=size)
            self._file = cast(Any, _Output(terminal))
            self.fileno = terminal.input_fd
            self.input_tty = True

        def _get_terminal_size(self) -> tuple[int, int]:
            return terminal.size()

        def _sigtstp_application(self, *_: object) -> None:
            """In the event loop: gevent runs signal handlers where nothing may wait."""
            self._loop.call_soon_threadsafe(self._stop)

        def _sigcont_application(self, *_: object) -> None:
            self._loop.call_soon_threadsafe(self._come_back)

        def _stop(self) -> None:
            """Leave the screen, then stop the whole job (`make` too) by the signal's own action: the kernel does nothing where no
            shell could continue it.
            """
            self.suspend_application_mode()
            self._must_signal_resume = True
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            os.killpg(0, signal.SIGTSTP)
            signal.signal(signal.SIGTSTP, self._sigtstp_application)
            self._come_back()

        def _come_back(self) -> None:
            """From a stop, if that took the screen. A terminal that hangs up sends SIGCONT too; then nobody is there."""
            if terminal.gone:
                return
            if not self._must_signal_resume and terminal.was_taken():  # by a shell, while SIGSTOP held us
                self.suspend_application_mode()
                self._must_signal_resume = True
            if self._must_signal_resume:
                self.resume_application_mode()
                self._app.refresh(repaint=True, layout=True)

        def start_application_mode(self) -> None:
            terminal.about_to_draw()
            super().start_application_mode()  # type: ignore[no-untyped-call]
            terminal.drawing()

        def stop_application_mode(self) -> None:
            super().stop_application_mode()
            terminal.left()

        def run_input_thread(self) -> None:
            """Read keys until the app ends or nobody is there."""
            parser, decode = XTermParser(self._debug), getincrementaldecoder("utf-8")("replace").decode
            with selectors.SelectSelector() as selector:
                selector.register(self.fileno, selectors.EVENT_READ)
                while not self.exit_event.is_set():
                    if selector.select(0.1):
                        data = _read(self.fileno)
                        if not data:
                            return self._hang_up()
                        for event in parser.feed(decode(data)):
                            self.process_message(event)
                    for event in parser.tick():
                        self.process_message(event)

        def _hang_up(self) -> None:
            terminal.gone = True
            request_exit = getattr(self._app, "request_exit", None)
            if request_exit is not None:
                request_exit("SIGHUP")

    return TerminalDriver


def _read(fd: int) -> bytes:
    """What was typed; empty when nobody is there."""
    try:
        return os.read(fd, 4096)
    except BlockingIOError:
        return b"\x00"
    except OSError:
        return b""
