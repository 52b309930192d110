"""Runs the program in a tmux window: sends keys, reads the text on the screen, waits for texts. For tests."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from programs import needs

from capexplorer.model.events import Event, Sample

from .rig import E2E_FOLDER, PROGRAM, TIMEOUT_S, MarkedEnvironment, events_in, events_of, wait_until

_EXIT_CODE_LABEL = "exit code: "
_WINDOW_STAYS_S = 601
_CAPTURE_EVERY_S = 0.2
"""Each capture of the screen starts a process, and the screen changes only once a second or by a key."""

needs_tmux = needs("tmux")


class Screen:
    """A tmux window in which `capexplorer run` is shown, and its session. Each has a tmux server with a socket of its own."""

    def __init__(self, socket: str, sessions: Path, marked: MarkedEnvironment) -> None:
        self._socket, self.sessions, self.marked = socket, sessions, marked

    def events(self) -> list[Event]:
        """The events of its session that are written so far."""
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

    def press(self, *keys: str) -> None:
        """Send keys by their names in tmux: `+`, `Enter`, `Space`."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Send a text letter by letter."""
        self._tmux("send-keys", "-l", text)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def text(self) -> str:
        """The text on the screen now."""
        return self._tmux("capture-pane", "-p")

    def text_with_styles(self) -> str:
        """The text on the screen now, with the escape sequences of its colours."""
        return self._tmux("capture-pane", "-p", "-e")

    def wait_for_text(self, *texts: str) -> str:
        """Wait until the screen has all of these texts; returns the screen."""
        return self.wait_for(lambda screen: all(each in screen for each in texts), str(texts))

    def wait_for(self, condition: Callable[[str], object], expected: str) -> str:
        """Wait until the screen meets a condition; returns the screen. `expected`: a noun for the failure message."""
        last = ""

        def matching_screen() -> str:
            nonlocal last
            last = self.text()
            return last if condition(last) else ""

        try:
            return wait_until(matching_screen, expected, pause_s=_CAPTURE_EVERY_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last}") from None

    def assert_shell_terminal_restored(self) -> None:
        """At the prompt of a shell: the terminal has the settings of a shell again (echo, lines, signals)."""
        self.type("stty -a\n")
        assert not {"-icanon", "-echo", "-isig", "-icrnl"} & set(self.wait_for_text("icanon", "isig").split())

    def exit_code(self) -> int:
        """Wait until the program has ended; fails if it leaves a process."""
        text = self.wait_for_text(_EXIT_CODE_LABEL)
        wait_until(lambda: not self.remaining_processes(), "the end of all processes", 60.0)
        return int(text.partition(_EXIT_CODE_LABEL)[2].split()[0])

    def quit(self, answer: str = "y") -> int:
        """Quit under load, by a key and the answer to the question; returns the exit code."""
        self.press("q")
        self.wait_for_text("Quit?")
        self.press(answer)
        return self.exit_code()

    def remaining_processes(self) -> dict[int, str]:
        """Process id and command of all processes in the window, without tmux and the shell and sleep of `on_screen`."""
        ours = ("tmux ", "sh -c ", f"sleep {_WINDOW_STAYS_S}")
        return {pid: command for pid, command in self.marked.processes().items() if not command.startswith(ours)}

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, check=False)
        self.marked.kill_remaining()
        self.marked.assert_no_process_left()


@contextmanager
def in_window(folder: Path, shell: Sequence[str], size: tuple[int, int] = (100, 30), cwd: Path = E2E_FOLDER) -> Iterator[Screen]:
    """A window for a command, which closes when the command ends; what still runs at the end is killed."""
    marked = MarkedEnvironment()
    screen = Screen(f"capexplorer-{marked.mark[:8]}", folder / "sessions", marked)
    try:
        screen._tmux(
            "start-server",
            ";", "set-option", "-g", "default-terminal", "tmux-256color",
            ";", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-c", str(cwd), shlex.join(shell),
        )  # fmt: skip
        yield screen
    finally:
        screen.close()


def command_of_run(folder: Path, *args: str) -> list[str]:
    return [PROGRAM, "run", *args, "--sessions-dir", str(folder / "sessions")]


@contextmanager
def on_screen(
    folder: Path, *args: str, size: tuple[int, int], cwd: Path = E2E_FOLDER, before: Sequence[str] = ()
) -> Iterator[Screen]:
    """`capexplorer run ARGS` in a window, in a shell that prints its exit code below its last output and keeps the window open.

    `before`: words of a command that runs it; the command may ignore them and run another program.
    """
    shell = ["sh", "-c", f'"$@"; echo "{_EXIT_CODE_LABEL}$?"; exec sleep {_WINDOW_STAYS_S}', "sh", *before]
    with in_window(folder, [*shell, *command_of_run(folder, *args)], size, cwd) as screen:
        yield screen


@contextmanager
def run_started_in_bash(folder: Path, before: str = "") -> Iterator[Screen]:
    """A run that was started by a command typed in bash, and has a settled second. `before`: words typed before the command."""
    with in_window(folder, ["env", "PS1=prompt> ", "bash", "--norc"]) as screen:
        screen.wait_for_text("prompt>")
        screen.type(before + shlex.join(command_of_run(folder, "actor")) + "\n")
        wait_until(lambda: [sample for sample in events_of(screen.events(), Sample) if sample.settled], "a settled second")
        screen.wait_for_text("req/s", "ready")
        yield screen


def app_pid(screen: Screen) -> int:
    """The process id of the run, not that of a shell around it."""
    pids = [pid for pid in screen.marked.pids(f"{PROGRAM} run") if not screen.marked.processes()[pid].startswith("sh ")]
    assert len(pids) == 1
    return pids[0]
