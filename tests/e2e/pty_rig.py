"""Runs the program on a pseudo-terminal: its output, keys, a hang-up, and whether it restored the terminal. For tests."""

from __future__ import annotations

import os
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fcntl import ioctl
from pathlib import Path
from struct import pack
from time import monotonic, sleep
from typing import Any

from .rig import E2E_FOLDER, PROGRAM, TIMEOUT_S, MarkedEnvironment, Run, session_path

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
    """A run on a pseudo-terminal of 100x30 characters. Its output is read at each check, so that the run never blocks on it."""

    def __init__(
        self, process: subprocess.Popen[bytes], folder: Path, sessions: Path, marked: MarkedEnvironment, fds: tuple[int, int]
    ) -> None:
        super().__init__(process, folder, sessions, marked)
        self._master: int | None = fds[0]
        self._slave = fds[1]
        self._written = b""
        os.set_blocking(fds[0], False)

    @property
    def written(self) -> str:
        """All output on the terminal so far."""
        if self._master is not None:
            with suppress(BlockingIOError, OSError):
                while chunk := os.read(self._master, 65_536):
                    self._written += chunk
        return self._written.decode("utf-8", "replace")

    stderr = written

    def settings(self) -> list[Any]:
        """The settings of the terminal, as `stty` shows them."""
        return termios.tcgetattr(self._slave)

    def type(self, keys: str) -> None:
        """Send keys, as if a person typed them."""
        assert self._master is not None
        os.write(self._master, keys.encode())

    def hang_up(self) -> None:
        """Close the other end of the terminal, as at the end of an SSH connection: the run gets SIGHUP."""
        assert self._master is not None
        os.close(self._master)
        self._master = None

    def exit_code(self) -> int:
        """Wait until the run has ended; fails if it leaves a process."""
        self.wait_for(lambda: self.process.poll() is not None, "the end of the process")
        self.marked.assert_no_process_left()
        return self.process.returncode

    def wait_for(self, condition: Callable[[], object], expected: str) -> None:
        """Wait until a condition is true, and read the output meanwhile. `expected`: a noun for the failure message."""
        deadline_s = monotonic() + TIMEOUT_S
        while not condition():
            assert monotonic() < deadline_s, f"not seen: {expected}; last output: {self.written[-2000:]!r}"
            _ = self.written
            sleep(0.05)

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
        """Close both ends of the terminal."""
        if self._master is not None:
            os.close(self._master)
        os.close(self._slave)


@contextmanager
def on_terminal(folder: Path, *args: str, cwd: Path = E2E_FOLDER) -> Iterator[OnTerminal]:
    """`capexplorer run ARGS` on a terminal; it is killed at the end if it still runs."""
    sessions = folder / "sessions"
    with command_on_terminal(folder, "run", *args, "--sessions-dir", str(sessions), cwd=cwd) as run:
        yield run


@contextmanager
def command_on_terminal(folder: Path, *words: str, cwd: Path = E2E_FOLDER) -> Iterator[OnTerminal]:
    """`capexplorer WORDS` on a terminal; it is killed at the end if it still runs."""
    fds = os.openpty()
    ioctl(fds[1], termios.TIOCSWINSZ, pack("HHHH", 30, 100, 0, 0))
    marked, sessions = MarkedEnvironment(TERM="xterm-256color"), folder / "sessions"
    command = [sys.executable, "-P", "-c", _START_AS_SESSION_LEADER, PROGRAM, *words]
    process = subprocess.Popen(command, cwd=cwd, env=marked.environment, stdin=fds[1], stdout=fds[1], stderr=fds[1])
    run = OnTerminal(process, folder, sessions, marked, fds)
    try:
        yield run
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        run.close()
        marked.kill_remaining()
