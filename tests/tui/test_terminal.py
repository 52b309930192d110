"""A real pseudo-terminal: the screen draws on its duplicate, 1 and 2 go elsewhere, and the terminal is given back as it was."""

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

import pytest

pytestmark = pytest.mark.slow

READS = 300
"""At most this many reads of 0.1 s while waiting for something on the terminal."""

BELOW_24 = re.compile(rb"\x1b\[(?:2[5-9]|3\d|40);\d+H")
"""The cursor is placed in a line that a terminal of 24 lines does not have."""


class Demo:
    """`tests.tui.demo` on a terminal of its own."""

    def __init__(self, sink: Path) -> None:
        self.sink = sink
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.resize(80, 24)
        environment = {**os.environ, "DEMO_SINK": str(sink), "TERM": "xterm-256color"}
        environment.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.tui.demo"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.slave = slave
        self.output = b""

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def wait_for(self, wanted: bytes) -> None:
        for _ in range(READS):
            if wanted in self.output:
                return
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65_536)
        raise AssertionError(f"{wanted!r} never came: {self.output[-2_000:]!r}")

    def wait_until(self, condition: Callable[[], object]) -> None:
        for _ in range(READS):
            if condition():
                return
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65_536)
        raise AssertionError(f"it never came to be; it wrote {self.output[-2_000:]!r}")

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def drain_until_exit(self) -> int:
        for _ in range(READS):
            if self.process.poll() is not None:
                return self.process.returncode
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65_536)
        raise AssertionError("it never ended")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for fd in (self.slave, self.master):
            os.close(fd)


def keepers_of(sink: Path) -> list[int]:
    """Processes that keep the terminal for the demo with this sink."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            environment, words = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
            if b"terminal_keeper" in words and f"DEMO_SINK={sink}".encode() in environment:
                found.append(int(folder.name))
    return found


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    running = Demo(tmp_path / "sink")
    yield running
    running.close()


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A screen that was typed at before its first paint, resized, and left by its key."""
    running = Demo(tmp_path_factory.mktemp("left") / "sink")
    running.type(b"+++")
    running.wait_for(b"level 3")
    running.wait_for(b"1 req/s")
    assert termios.tcgetattr(running.slave) != running.before
    running.resize(120, 40)
    os.kill(running.process.pid, signal.SIGWINCH)
    running.wait_until(lambda: BELOW_24.search(running.output))
    running.wait_until(lambda: b"printed by user code" in running.sink.read_bytes())
    assert keepers_of(running.sink)
    running.type(b"q\r")
    assert running.drain_until_exit() == 0
    running.wait_for(b"Ending(by='user'")
    yield running
    running.close()


def test_output_of_the_process_never_reaches_the_screen(left: Demo) -> None:
    assert b"written to descriptor 2" not in left.output
    assert b"printed by user code" not in left.output
    written = left.sink.read_text()
    assert "written to descriptor 2" in written
    assert "printed by user code" in written


def test_keys_typed_before_the_first_paint_are_kept(left: Demo) -> None:
    assert b"level 3" in left.output


def test_resizing_is_followed_though_descriptor_1_is_not_a_terminal(left: Demo) -> None:
    begun, _, later = left.output.partition(b"level 3")
    assert BELOW_24.search(later) and not BELOW_24.search(begun)


def test_the_terminal_is_restored(left: Demo) -> None:
    assert b"\x1b[?1049l" in left.output
    assert termios.tcgetattr(left.slave) == left.before
    assert_modes_are_reset(left.output)


def test_no_keeper_process_stays_when_the_screen_was_left_normally(left: Demo) -> None:
    assert not keepers_of(left.sink)


# Other signals: tests/e2e/test_signals.py and test_idle_signal.py.
def test_a_signal_ends_it_and_restores_the_terminal(demo: Demo) -> None:
    demo.wait_for(b"users")
    os.kill(demo.process.pid, signal.SIGINT)
    assert demo.drain_until_exit() == 0
    demo.wait_for(b"signal='SIGINT")
    assert termios.tcgetattr(demo.slave) == demo.before


ON_AND_OFF = [(1049, "h"), (2004, "h"), (1004, "h"), (25, "l"), (7, "l"), (2048, "h"), (1000, "h"), (1006, "h")]
"""Modes of the terminal, each with the letter that a screen leaves behind."""


def assert_modes_are_reset(output: bytes) -> None:
    for mode, set_by_screen in ON_AND_OFF:
        on = output.rfind(f"\x1b[?{mode}{set_by_screen}".encode())
        off = output.rfind(f"\x1b[?{mode}{'l' if set_by_screen == 'h' else 'h'}".encode())
        assert on < off or on == -1, f"mode {mode} is left behind"
    assert output.rfind(b"\x1b[<u") > output.rfind(b"\x1b[>") > 0, "the keyboard protocol is left behind"


def test_the_terminal_is_restored_when_the_process_is_killed(demo: Demo) -> None:
    demo.wait_for(b"users")
    assert termios.tcgetattr(demo.slave) != demo.before
    os.kill(demo.process.pid, signal.SIGKILL)
    assert demo.drain_until_exit() == -signal.SIGKILL
    demo.wait_for(b"\x1b[?1049l")
    demo.wait_until(lambda: termios.tcgetattr(demo.slave) == demo.before)
    assert_modes_are_reset(demo.output)


def test_a_shell_that_sets_the_terminal_first_keeps_its_settings(demo: Demo) -> None:
    demo.wait_for(b"users")
    assert keepers_of(demo.sink)
    os.kill(demo.process.pid, signal.SIGSTOP)
    own = termios.tcgetattr(demo.slave)
    own[3] |= termios.ISIG
    termios.tcsetattr(demo.slave, termios.TCSANOW, own)
    os.kill(demo.process.pid, signal.SIGKILL)
    demo.drain_until_exit()
    demo.wait_for(b"\x1b[?1049l")
    demo.wait_until(lambda: not keepers_of(demo.sink))
    assert termios.tcgetattr(demo.slave) == own
