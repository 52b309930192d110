"""The app on a pseudo-terminal: only the screen is drawn there, not output of user code, and each end restores its settings."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest

pytestmark = pytest.mark.slow

END_OF_ALTERNATE_SCREEN = b"\x1b[?1049l"
LOCAL_FLAGS = 3
"""Index of the local modes (`c_lflag`) in the settings of a terminal."""

TIMEOUT_S = 60.0
"""Far longer than a busy machine needs."""

CURSOR_BELOW_LINE_24 = re.compile(rb"\x1b\[(?:2[5-9]|3\d|40);\d+H")
"""The escape sequence that moves the cursor to one of the lines 25 to 40, which a terminal of 24 lines does not have."""


class DemoOnTerminal:
    """The app of `tests.tui.demo` on a terminal of its own. Descriptors 1 and 2 of its process are the file `sink`."""

    def __init__(self, sink: Path) -> None:
        self.sink = sink
        self.master, self.slave = pty.openpty()
        self.settings_before = termios.tcgetattr(self.slave)
        self.output = b""
        """Everything that was written to the terminal."""
        self.resize(80, 24)
        environment = {**os.environ, "DEMO_SINK": str(sink), "TERM": "xterm-256color"}
        environment.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.tui.demo"],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def settings(self) -> list[object]:
        return termios.tcgetattr(self.slave)

    def wait_for_output(self, wanted: bytes) -> None:
        self.wait_until(lambda: wanted in self.output, f"the output has {wanted!r}")

    def wait_for_exit(self) -> int:
        """The exit code of the process."""
        self.wait_until(lambda: self.process.poll() is not None, "the process has ended")
        return self.process.returncode

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Read what is written to the terminal until the condition is true; `what` names it in the failure."""
        deadline_s = monotonic() + TIMEOUT_S
        while not condition():
            assert monotonic() < deadline_s, (
                f"not reached in {TIMEOUT_S:g} s: {what}; the output ends with {self.output[-2_000:]!r}"
            )
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65_536)

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for fd in (self.slave, self.master):
            os.close(fd)


def keepers_of(sink: Path) -> list[int]:
    """Process ids of the terminal keepers of the demo with this sink: processes that reset the terminal if the app dies."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            environment, words = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
            if b"terminal_keeper" in words and f"DEMO_SINK={sink}".encode() in environment:
                found.append(int(folder.name))
    return found


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DemoOnTerminal]:
    running = DemoOnTerminal(tmp_path / "sink")
    yield running
    running.close()


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoOnTerminal]:
    """An app that has ended: keys were typed before its first paint, the terminal was resized, and its key q was pressed."""
    running = DemoOnTerminal(tmp_path_factory.mktemp("ended") / "sink")
    running.type(b"+++")
    running.wait_for_output(b"level 3")
    running.wait_for_output(b"1 req/s")
    assert running.settings != running.settings_before
    running.resize(120, 40)
    os.kill(running.process.pid, signal.SIGWINCH)
    running.wait_until(lambda: CURSOR_BELOW_LINE_24.search(running.output), "the screen is drawn on 40 lines")
    running.wait_until(lambda: b"printed by user code" in running.sink.read_bytes(), "the sink has output of user code")
    assert keepers_of(running.sink)
    running.type(b"q\r")
    assert running.wait_for_exit() == 0
    running.wait_for_output(b"Ending(by='user'")
    yield running
    running.close()


def test_output_of_the_process_never_reaches_the_screen(ended: DemoOnTerminal) -> None:
    assert b"written to descriptor 2" not in ended.output
    assert b"printed by user code" not in ended.output
    written = ended.sink.read_text()
    assert "written to descriptor 2" in written
    assert "printed by user code" in written


def test_keys_typed_before_the_first_paint_have_their_effect(ended: DemoOnTerminal) -> None:
    assert b"level 3" in ended.output


def test_the_screen_follows_the_size_of_the_terminal_although_descriptor_1_is_a_file(ended: DemoOnTerminal) -> None:
    before_resize, _, later = ended.output.partition(b"level 3")
    assert not CURSOR_BELOW_LINE_24.search(before_resize)
    assert CURSOR_BELOW_LINE_24.search(later)


def test_the_terminal_is_restored_after_quitting(ended: DemoOnTerminal) -> None:
    assert END_OF_ALTERNATE_SCREEN in ended.output
    assert ended.settings == ended.settings_before
    assert_modes_are_reset(ended.output)


def test_the_terminal_keeper_ends_with_an_app_that_was_quit(ended: DemoOnTerminal) -> None:
    assert not keepers_of(ended.sink)


# Other signals: tests/e2e/test_signals.py and test_idle_signal.py.
def test_sigint_ends_the_app_and_restores_the_terminal(demo: DemoOnTerminal) -> None:
    demo.wait_for_output(b"users")
    os.kill(demo.process.pid, signal.SIGINT)
    assert demo.wait_for_exit() == 0
    demo.wait_for_output(b"signal='SIGINT")
    assert demo.settings == demo.settings_before


MODES = [(1049, "h"), (2004, "h"), (1004, "h"), (25, "l"), (7, "l"), (2048, "h"), (1000, "h"), (1006, "h")]
"""Private modes of the terminal that the screen changes, each with the letter by which it does: h sets a mode, l resets it."""


def assert_modes_are_reset(output: bytes) -> None:
    """The last change of each mode must be the one back."""
    for mode, changed_by in MODES:
        changed_back_by = "l" if changed_by == "h" else "h"
        last_change = output.rfind(f"\x1b[?{mode}{changed_by}".encode())
        last_change_back = output.rfind(f"\x1b[?{mode}{changed_back_by}".encode())
        assert last_change < last_change_back or last_change == -1, f"mode {mode} is not reset"
    assert output.rfind(b"\x1b[<u") > output.rfind(b"\x1b[>") > 0, "the keyboard protocol is not reset"


def test_the_terminal_is_restored_when_the_process_is_killed(demo: DemoOnTerminal) -> None:
    demo.wait_for_output(b"users")
    assert demo.settings != demo.settings_before
    os.kill(demo.process.pid, signal.SIGKILL)
    assert demo.wait_for_exit() == -signal.SIGKILL
    demo.wait_for_output(END_OF_ALTERNATE_SCREEN)
    demo.wait_until(lambda: demo.settings == demo.settings_before, "the settings are restored")
    assert_modes_are_reset(demo.output)


def test_the_terminal_keeper_leaves_settings_that_a_shell_changed_while_the_app_was_stopped(
    demo: DemoOnTerminal,
) -> None:
    demo.wait_for_output(b"users")
    assert keepers_of(demo.sink)
    os.kill(demo.process.pid, signal.SIGSTOP)
    settings_of_shell = termios.tcgetattr(demo.slave)
    settings_of_shell[LOCAL_FLAGS] |= termios.ISIG
    termios.tcsetattr(demo.slave, termios.TCSANOW, settings_of_shell)
    os.kill(demo.process.pid, signal.SIGKILL)
    demo.wait_for_exit()
    demo.wait_for_output(END_OF_ALTERNATE_SCREEN)
    demo.wait_until(lambda: not keepers_of(demo.sink), "the terminal keeper has ended")
    assert demo.settings == settings_of_shell
