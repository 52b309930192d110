"""A real pseudo-terminal: the screen draws on its duplicate, 1 and 2 go elsewhere, and a terminal that vanishes ends it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

READS = 300
"""At most this many reads of 0.1 s while waiting for something on the terminal."""


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

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def drain_until_exit(self) -> int:
        for _ in range(READS):
            if self.process.poll() is not None:
                return self.process.returncode
            if self.master >= 0 and select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65_536)
            elif self.master < 0:
                time.sleep(0.1)
        raise AssertionError("it never ended")

    def hang_up(self) -> None:
        os.close(self.slave)
        os.close(self.master)
        self.slave = self.master = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for fd in (self.slave, self.master):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    running = Demo(tmp_path / "sink")
    yield running
    running.close()


def test_output_of_the_process_never_reaches_the_screen(demo: Demo) -> None:
    demo.wait_for(b"settl")
    assert b"written to descriptor 2" not in demo.output
    assert b"printed by user code" not in demo.output
    demo.type(b"q\r")
    assert demo.drain_until_exit() == 0
    said = demo.sink.read_text()
    assert "written to descriptor 2" in said
    assert "printed by user code" in said


def test_the_terminal_is_restored(demo: Demo) -> None:
    demo.wait_for(b"users")
    demo.type(b"q\r")
    assert demo.drain_until_exit() == 0
    demo.wait_for(b"\x1b[?1049l")
    demo.wait_for(b"Ending(by='user'")
    assert termios.tcgetattr(demo.slave) == demo.before


def test_resizing_is_followed_though_descriptor_1_is_no_terminal(demo: Demo) -> None:
    demo.wait_for(b"1 req/s")
    demo.resize(120, 40)
    os.kill(demo.process.pid, signal.SIGWINCH)
    demo.wait_for(b"Capacity")


def test_keys_typed_before_the_first_paint_are_kept(demo: Demo) -> None:
    demo.type(b"+++")
    demo.wait_for(b"level 3")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_and_restores_the_terminal(demo: Demo, number: signal.Signals) -> None:
    demo.wait_for(b"users")
    os.kill(demo.process.pid, number)
    assert demo.drain_until_exit() == 0
    demo.wait_for(b"signal='" + number.name.encode())
    assert termios.tcgetattr(demo.slave) == demo.before


def test_a_terminal_that_vanishes_ends_it(demo: Demo) -> None:
    demo.wait_for(b"users")
    demo.hang_up()
    demo.drain_until_exit()
