"""Runs a program on a pseudo-terminal: its output with times, keys, a hang-up, and whether it restored the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fcntl import ioctl
from pathlib import Path
from select import select
from struct import pack
from time import monotonic, sleep
from typing import Any

from .runs import PROGRAM, ROOT, TIMEOUT_S, MarkedEnvironment, Run, session_path

_START_AS_SESSION_LEADER = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
"""Makes the program the leader of a new terminal session, as a login does, so that it gets SIGHUP at a hang-up."""

_SCREEN_MODES = {"1049": "h", "2004": "h", "1004": "h", "2048": "h", "2026": "h", "25": "l", "7": "l"} | dict.fromkeys(
    ("1000", "1002", "1003", "1006", "1015", "1016"), "h"
)
"""DEC private modes, each with the letter by which the screen changes it; the other letter of `h` and `l` restores it."""


def modes_left_on(written: str) -> list[str]:
    """Terminal modes and the keyboard protocol that the output has changed and not restored."""
    other = {"h": "l", "l": "h"}
    left = [
        mode
        for mode, by_screen in _SCREEN_MODES.items()
        if written.rfind(f"\x1b[?{mode}{by_screen}") > written.rfind(f"\x1b[?{mode}{other[by_screen]}")
    ]
    return left + ["keyboard"] * (written.rfind("\x1b[>") > written.rfind("\x1b[<u"))


class OnTerminal(Run):
    """A run on a pseudo-terminal. A thread reads and times its output, so that the run never blocks on it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        folder: Path,
        sessions: Path,
        marked: MarkedEnvironment,
        fds: tuple[int, int],
        settings: list[Any],
    ) -> None:
        """`settings`: those of the terminal before the process began."""
        super().__init__(process, folder, sessions, marked)
        self.settings_before = settings
        self.chunks: list[tuple[float, bytes]] = []
        """Monotonic times and pieces of the output."""
        self.started_s = monotonic()
        self._master, self._slave = fds
        self._is_closed, self._is_all_read = threading.Event(), threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._is_closed.is_set():
            has_ended = self.process.poll() is not None
            if select([self._master], [], [], 0.05)[0]:
                with suppress(OSError):
                    self.chunks.append((monotonic(), os.read(self._master, 65_536)))
            elif has_ended:
                self._is_all_read.set()
        self._is_all_read.set()

    @property
    def written(self) -> str:
        return b"".join(data for _, data in list(self.chunks)).decode("utf-8", "replace")

    stderr = written

    def settings(self) -> list[Any]:
        return termios.tcgetattr(self._slave)

    def set(self, settings: list[Any]) -> None:
        """Change the settings, as another program on the terminal does."""
        termios.tcsetattr(self._slave, termios.TCSANOW, settings)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size, and tell the process."""
        ioctl(self._slave, termios.TIOCSWINSZ, pack("HHHH", lines, columns, 0, 0))
        os.kill(self.process.pid, signal.SIGWINCH)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def hang_up(self) -> None:
        """Close the other end of the terminal, as at the end of an SSH connection: the run gets SIGHUP."""
        if not self._is_closed.is_set():
            self._is_closed.set()
            self._reader.join()  # a descriptor that is being read stays open
            os.close(self._master)

    def exit_code(self) -> int:
        """After the process has ended, and all that it wrote has been read."""
        self.wait_for(lambda: self.process.poll() is not None and self._is_all_read.is_set(), "the end of the process")
        self.marked.assert_no_process_left()
        return self.process.returncode

    def wait_for(self, condition: Callable[[], object], expected: str) -> None:
        """Wait until a condition is true. `expected`: a noun for the failure message."""
        deadline_s = monotonic() + TIMEOUT_S
        while not condition():
            assert monotonic() < deadline_s, f"not seen: {expected}; last output: {self.written[-2000:]!r}"
            sleep(0.02)

    def seen_s(self, text: bytes) -> float:
        """Wait until `text` has been written; returns the seconds from the start."""
        self.wait_for(lambda: text in b"".join(data for _, data in list(self.chunks)), repr(text))
        together = b""
        for at_s, data in self.chunks:
            together += data
            if text in together:
                return at_s - self.started_s
        raise AssertionError(text)

    def bytes_between(self, begin_s: float, end_s: float) -> int:
        return sum(len(data) for at_s, data in self.chunks if begin_s <= at_s < end_s)

    def quit(self) -> int:
        for keys in ("q", "\r"):
            with suppress(OSError):
                self.type(keys)
            sleep(0.5)  # the dialog that asks appears meanwhile
        return self.exit_code()

    def assert_terminal_restored(self) -> None:
        """The output ends on the main screen, with the cursor, without mouse and paste modes, and with the session's path."""
        written = self.written
        assert "\x1b[?1049h" in written, "the alternate screen was never entered"
        _, leave, rest = written.rpartition("\x1b[?1049l")
        assert leave, "the alternate screen was not left"
        assert "\x1b[?1049h" not in rest, "the alternate screen was entered again"
        assert modes_left_on(written) == []
        assert f"saved: {session_path(self.sessions)}" in rest

    def close(self) -> None:
        self.hang_up()
        os.close(self._slave)


@contextmanager
def on_terminal(folder: Path, *args: str, cwd: Path = ROOT, size: tuple[int, int] = (100, 30)) -> Iterator[OnTerminal]:
    """`capexplorer run ARGS` on a terminal; it is killed at the end if it still runs."""
    sessions = folder / "sessions"
    with command_on_terminal(folder, "run", *args, "--sessions-dir", str(sessions), cwd=cwd, size=size) as run:
        yield run


@contextmanager
def command_on_terminal(
    folder: Path,
    *words: str,
    cwd: Path = ROOT,
    size: tuple[int, int] = (100, 30),
    program: Sequence[str] = (PROGRAM,),
    **more: str,
) -> Iterator[OnTerminal]:
    """`capexplorer WORDS` on a terminal; it is killed at the end if it still runs. `more`: further environment variables."""
    fds = os.openpty()
    ioctl(fds[1], termios.TIOCSWINSZ, pack("HHHH", size[1], size[0], 0, 0))
    settings = termios.tcgetattr(fds[1])
    marked = MarkedEnvironment(TERM="xterm-256color", **more)
    marked.environment.pop("COLORTERM", None)
    command = [sys.executable, "-IS", "-c", _START_AS_SESSION_LEADER, *program, *words]
    process = subprocess.Popen(command, cwd=cwd, env=marked.environment, stdin=fds[1], stdout=fds[1], stderr=fds[1])
    run = OnTerminal(process, folder, folder / "sessions", marked, fds, settings)
    try:
        yield run
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        run.close()
        marked.kill_remaining()
