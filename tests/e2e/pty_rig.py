"""A terminal of our own: what was written to it, and whether it was given back as it was. Only helps the tests beside it."""

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

from .rig import HERE, PROGRAM, TIMEOUT_S, Marked, Run, session_path

_AS_LEADER = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
"""What a login does: a session of its own with this terminal, so that a hang-up reaches it."""


_SCREEN_MODES = {"1049": "h", "2004": "h", "1004": "h", "2048": "h", "2026": "h", "25": "l", "7": "l"} | dict.fromkeys(
    ("1000", "1002", "1003", "1006", "1015", "1016"), "h"
)
"""Modes of the terminal, each with the letter by which a screen sets it; the other one resets it."""


def modes_left_on(written: str) -> list[str]:
    """What a screen has set and nobody has reset: modes, and the keyboard protocol."""
    other = {"h": "l", "l": "h"}
    left = [
        mode
        for mode, by_screen in _SCREEN_MODES.items()
        if written.rfind(f"\x1b[?{mode}{by_screen}") > written.rfind(f"\x1b[?{mode}{other[by_screen]}")
    ]
    return left + ["keyboard"] * (written.rfind("\x1b[>") > written.rfind("\x1b[<u"))


class OnTerminal(Run):
    """A run on a pseudo-terminal of 100x30. Its output is read at each check of the test, so that the run never blocks on it."""

    def __init__(
        self, process: subprocess.Popen[bytes], folder: Path, sessions: Path, marked: Marked, fds: tuple[int, int]
    ) -> None:
        super().__init__(process, folder, sessions, marked)
        self._master: int | None = fds[0]
        self._slave = fds[1]
        self._written = b""
        os.set_blocking(fds[0], False)

    @property
    def written(self) -> str:
        """All it wrote to the terminal so far."""
        if self._master is not None:
            with suppress(BlockingIOError, OSError):
                while chunk := os.read(self._master, 65_536):
                    self._written += chunk
        return self._written.decode("utf-8", "replace")

    stderr = written

    def settings(self) -> list[Any]:
        """Of the terminal (stty)."""
        return termios.tcgetattr(self._slave)

    def type(self, keys: str) -> None:
        """As if typed."""
        assert self._master is not None
        os.write(self._master, keys.encode())

    def hang_up(self) -> None:
        """The other end goes: SSH is gone."""
        assert self._master is not None
        os.close(self._master)
        self._master = None

    def exit_code(self) -> int:
        """Wait for its end; nothing may be left of it."""
        self.wait_for(lambda: self.process.poll() is not None, "its end")
        self.marked.assert_gone()
        return self.process.returncode

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Until something is so, reading all the while."""
        deadline_s = monotonic() + TIMEOUT_S
        while not condition():
            assert monotonic() < deadline_s, f"not seen: {what}; it wrote {self.written[-2000:]!r}"
            _ = self.written
            sleep(0.05)

    def assert_given_back(self) -> None:
        """The stream ends on the main screen, with the cursor, without mouse and paste modes, and a line about the session."""
        written = self.written
        assert "\x1b[?1049h" in written
        _, leave, rest = written.rpartition("\x1b[?1049l")
        assert leave, "the alternate screen was not left"
        assert "\x1b[?1049h" not in rest
        assert not modes_left_on(written)
        assert f"saved: {session_path(self.sessions)}" in rest

    def close(self) -> None:
        """Our descriptors."""
        if self._master is not None:
            os.close(self._master)
        os.close(self._slave)


@contextmanager
def on_terminal(folder: Path, *args: str, cwd: Path = HERE) -> Iterator[OnTerminal]:
    """Start `capexplorer run ARGS` on a terminal; killed at the end at the latest."""
    sessions = folder / "sessions"
    with command_on_terminal(folder, "run", *args, "--sessions-dir", str(sessions), cwd=cwd) as run:
        yield run


@contextmanager
def command_on_terminal(folder: Path, *words: str, cwd: Path = HERE) -> Iterator[OnTerminal]:
    """Start `capexplorer WORDS` on a terminal; killed at the end at the latest."""
    fds = os.openpty()
    ioctl(fds[1], termios.TIOCSWINSZ, pack("HHHH", 30, 100, 0, 0))
    marked, sessions = Marked(TERM="xterm-256color"), folder / "sessions"
    command = [sys.executable, "-c", _AS_LEADER, PROGRAM, *words]
    process = subprocess.Popen(command, cwd=cwd, env=marked.environment, stdin=fds[1], stdout=fds[1], stderr=fds[1])
    run = OnTerminal(process, folder, sessions, marked, fds)
    try:
        yield run
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        run.close()
        marked.kill_rest()
