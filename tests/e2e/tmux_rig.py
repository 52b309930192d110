"""A real terminal to look at: tmux on a socket of its own, keys in, the screen's text out. Only helps the tests beside it."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from programs import needs

from capexplorer.model.events import Event, Sample

from .rig import HERE, PROGRAM, TIMEOUT_S, Marked, events_in, of, until

_SAID = "exit code: "
_KEPT_S = 601
_PAUSE_S = 0.2
"""Between two captures of a screen: each starts a process, and a screen changes once a second or by a key."""

needs_tmux = needs("tmux")


class Screen:
    """One `capexplorer run` in a tmux window, and its session."""

    def __init__(self, socket: str, sessions: Path, marked: Marked) -> None:
        self._socket, self.sessions, self.marked = socket, sessions, marked

    def events(self) -> list[Event]:
        """Of its session, as far as it is written."""
        return events_in(self.sessions)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-L", self._socket, "-f", "/dev/null", *words],
            capture_output=True,
            text=True,
            env=self.marked.environment,
            timeout=TIMEOUT_S,
            check=True,
        )
        return done.stdout

    def open(self, words: list[str], width: int, height: int, cwd: Path) -> None:
        """A shell around the program prints its exit code below its last output, and keeps the window open."""
        self.open_shell(["sh", "-c", f'"$@"; echo "{_SAID}$?"; exec sleep {_KEPT_S}', "sh", *words], width, height, cwd)

    def open_shell(self, shell: list[str], width: int, height: int, cwd: Path) -> None:
        """A window for this command alone."""
        self._tmux(
            "start-server",
            ";", "set-option", "-g", "default-terminal", "tmux-256color",
            ";", "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd), shlex.join(shell),
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
            return until(look, what, pause_s=_PAUSE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last}") from None

    def assert_shell_has_its_settings(self) -> None:
        """Of its terminal, at a prompt."""
        self.type("stty -a\n")
        assert not {"-icanon", "-echo", "-isig", "-icrnl"} & set(self.shows("icanon", "isig").split())

    def exit_code(self) -> int:
        """Wait for the program's end; nothing may be left of it but tmux and the shell's sleep."""
        text = self.shows(_SAID)
        until(lambda: not self.left(), "no process left", 60.0)
        return int(text.partition(_SAID)[2].split()[0])

    def left(self) -> dict[int, str]:
        """Processes that are not the rig's."""
        ours = ("tmux ", "sh -c ", f"sleep {_KEPT_S}")
        return {pid: command for pid, command in self.marked.processes().items() if not command.startswith(ours)}

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, check=False)
        self.marked.kill_rest()
        self.marked.assert_gone()


@contextmanager
def on_screen(folder: Path, *args: str, size: tuple[int, int], cwd: Path = HERE, before: Sequence[str] = ()) -> Iterator[Screen]:
    """Start `capexplorer run ARGS`, after the words `before`, in tmux; ended with it at the latest."""
    marked, sessions = Marked(), folder / "sessions"
    screen = Screen(f"capexplorer-{marked.mark[:8]}", sessions, marked)
    try:
        screen.open([*before, PROGRAM, "run", *args, "--sessions-dir", str(sessions)], *size, cwd)
        yield screen
    finally:
        screen.close()


@contextmanager
def run_from_a_shell(folder: Path, before: str = "") -> Iterator[Screen]:
    """A run on the live screen, with settled seconds, started by a person in bash; `before`: words before the command."""
    marked, sessions = Marked(), folder / "sessions"
    screen = Screen(f"capexplorer-{marked.mark[:8]}", sessions, marked)
    try:
        screen.open_shell(["env", "PS1=prompt> ", "bash", "--norc"], 100, 30, HERE)
        screen.shows("prompt>")
        screen.type(before + shlex.join([PROGRAM, "run", "actor", "--sessions-dir", str(sessions)]) + "\n")
        until(lambda: [sample for sample in of(screen.events(), Sample) if sample.settled], "a settled second")
        screen.shows("req/s", "ready")
        yield screen
    finally:
        screen.close()


def app_of(screen: Screen) -> int:
    """The run's pid, not that of a shell around it."""
    pids = [pid for pid in screen.marked.pids(f"{PROGRAM} run") if not screen.marked.processes()[pid].startswith("sh ")]
    assert len(pids) == 1
    return pids[0]
