"""A real terminal to look at: tmux on a socket of its own, keys in, the screen's text out. Only helps the tests beside it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .rig import HERE, PATIENCE_S, PROGRAM, Marked, events_in, until

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Screen:
    """One `capexplorer run` in a tmux window, and its session."""

    def __init__(self, socket: str, sessions: Path, marked: Marked) -> None:
        self._socket, self.sessions, self.marked = socket, sessions, marked
        self.events = lambda: events_in(sessions)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-L", self._socket, "-f", "/dev/null", *words],
            capture_output=True,
            text=True,
            env=self.marked.environment,
            timeout=PATIENCE_S,
            check=True,
        )
        return done.stdout

    def open(self, words: list[str], width: int, height: int, cwd: Path) -> None:
        """The window stays after the program's end, so that its exit code and its last words can be read."""
        self._tmux(
            "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd), "sleep 600",
            ";", "set-option", "-g", "remain-on-exit", "on",
            ";", "set-option", "-g", "window-size", "manual",
            ";", "set-option", "-g", "default-terminal", "tmux-256color",
            ";", "respawn-pane", "-k", "-c", str(cwd), shlex.join(words),
        )  # fmt: skip

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: `+`, `Enter`, `Space`."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Text, letter for letter."""
        self._tmux("send-keys", "-l", text)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def text(self) -> str:
        """What is seen."""
        return self._tmux("capture-pane", "-p")

    def styled(self) -> str:
        """With the escapes of its colours."""
        return self._tmux("capture-pane", "-p", "-e")

    def lines(self) -> list[str]:
        return self.text().split("\n")

    def shows(self, *wanted: str) -> str:
        """The screen once all of these stand on it."""
        return self.once(lambda text: all(each in text for each in wanted), str(wanted))

    def once(self, condition: Callable[[str], object], what: str) -> str:
        """The screen once it is so."""
        last = ""

        def look() -> str:
            nonlocal last
            last = self.text()
            return last if condition(last) else ""

        try:
            return until(look, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last}") from None

    def exit_code(self) -> int:
        """Wait for the program's end; nothing may be left of it but tmux."""

        def look() -> str:
            return self._tmux("display-message", "-p", "#{pane_dead}:#{pane_dead_status}").strip()

        found = until(lambda: (said := look()).startswith("1:") and said, "its end")
        assert isinstance(found, str)
        until(lambda: not self.left(), f"no process left, but {self.left()}", 10.0)
        return int(found[2:])

    def left(self) -> dict[int, str]:
        """Processes that are not tmux."""
        return {pid: command for pid, command in self.marked.processes().items() if not command.startswith("tmux")}

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, check=False)
        until(lambda: not self.marked.processes() or self.marked.kill_rest(), "tmux is gone", 10.0)


@contextmanager
def on_screen(folder: Path, *args: str, size: tuple[int, int], cwd: Path = HERE) -> Iterator[Screen]:
    """Start `capexplorer run ARGS` in tmux; ended with it at the latest."""
    marked, sessions = Marked(), folder / "sessions"
    screen = Screen(f"capexplorer-{marked.mark[:8]}", sessions, marked)
    try:
        screen.open([PROGRAM, "run", *args, "--sessions-dir", str(sessions)], *size, cwd)
        yield screen
    finally:
        screen.close()
