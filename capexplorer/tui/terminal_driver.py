"""A driver for Textual that draws on our own descriptors of the terminal, and continues when the terminal is gone.

When an SSH connection ends, writes fail with EIO and reads return nothing: the first would end Textual's writer thread with an
error, the second would make its reader a busy loop. Must not know the app beyond `request_exit`. Not for Windows, which has no
termios.
"""

from __future__ import annotations

import os
import selectors
import signal
from codecs import getincrementaldecoder
from typing import Any, ClassVar, cast

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from .terminal import Terminal


class _Output:
    """The file that Textual's writer thread writes to."""

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


class TerminalDriver(LinuxDriver):
    """Draws on `terminal`, and treats the end of input as a hang-up. To be used by `on`: Textual creates the instance itself."""

    terminal: ClassVar[Terminal]

    @classmethod
    def on(cls, terminal: Terminal) -> type[TerminalDriver]:
        """The class that draws on this terminal, for `App(driver_class=...)`."""
        return type(cls.__name__, (cls,), {"terminal": terminal})

    def __init__(self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None) -> None:
        # Without it Textual begins with 80x25 for a terminal that reports no size, and then lays both sizes out in turn, forever.
        super().__init__(app, debug=debug, mouse=mouse, size=size or self.terminal.size())
        self._file = cast(Any, _Output(self.terminal))
        self.fileno = self.terminal.input_fd
        self.input_tty = True

    def _get_terminal_size(self) -> tuple[int, int]:
        return self.terminal.size()

    def _sigtstp_application(self, *_: object) -> None:
        """Stop in the event loop: gevent runs signal handlers in its hub, where nothing may block."""
        self._loop.call_soon_threadsafe(self._stop)

    def _sigcont_application(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._resume)

    def _stop(self) -> None:
        """Leave the screen, then stop the whole process group (with `make`, if it started us) by the signal's default action. The
        kernel ignores that if no shell could continue the group.
        """
        self.suspend_application_mode()
        self._must_signal_resume = True
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.killpg(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._sigtstp_application)
        self._resume()

    def _resume(self) -> None:
        """Continue after a stop: draw again if the screen was left. A terminal that hangs up sends SIGCONT, too; then it is
        gone."""
        if self.terminal.gone:
            return
        if not self._must_signal_resume and self.terminal.was_taken():  # by a shell, while SIGSTOP stopped us
            self.suspend_application_mode()
            self._must_signal_resume = True
        if self._must_signal_resume:
            self.resume_application_mode()
            self._app.refresh(repaint=True, layout=True)

    def start_application_mode(self) -> None:
        """Draw from now on."""
        self.terminal.about_to_draw()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.terminal.drawing()

    def stop_application_mode(self) -> None:
        """Leave the screen."""
        super().stop_application_mode()
        self.terminal.left()

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
        self.terminal.gone = True
        request_exit = getattr(self._app, "request_exit", None)
        if request_exit is not None:
            request_exit("SIGHUP")


def _read(fd: int) -> bytes:
    """The typed bytes; empty if the terminal is gone."""
    try:
        return os.read(fd, 4096)
    except BlockingIOError:
        return b"\x00"
    except OSError:
        return b""
