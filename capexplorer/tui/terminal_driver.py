"""A driver of Textual that draws on our own descriptors of the terminal, and outlives it.

When SSH goes, writes fail with EIO and reads end; Textual's writer thread would die of the first and its reader spin on the
second. Must not know the app beyond `request_exit`.
"""

from __future__ import annotations

import os
import selectors
import signal
import sys
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any, cast

from .terminal import Terminal

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver


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


def driver_on(terminal: Terminal) -> type[Driver] | None:  # noqa: C901 - counts the methods of the class within
    """For `App(driver_class=...)`: a class, since Textual makes the instance. None (Textual's own) where there is no termios."""
    if sys.platform == "win32":
        return None
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
            """From a stop, if that took the screen. A terminal that hangs up sends SIGCONT too; the terminal is gone then."""
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
            """Read keys until the app ends or the terminal is gone."""
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
    """The typed bytes; empty if the terminal is gone."""
    try:
        return os.read(fd, 4096)
    except BlockingIOError:
        return b"\x00"
    except OSError:
        return b""
