"""A command of `bounded_process` ends with it, whichever way that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from capexplorer.procs import isolated
from capexplorer.procs.processes import is_alive
from lab.kit.runs import wait_until

LONG_S = 600.0
COMMAND = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: (print("asked to end", flush=True), sys.exit(7)))
print(os.getpid(), flush=True)
while True: signal.pause()
"""


@contextmanager
def bounded(command: str = COMMAND, seconds: float = LONG_S) -> Iterator[subprocess.Popen[str]]:
    words = isolated.command("capexplorer.procs.bounded_process", str(seconds), sys.executable, "-c", command)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_it_ends_with_the_code_of_its_command() -> None:
    with bounded("raise SystemExit(5)") as process:
        assert process.wait() == 5


def test_a_command_that_a_signal_ended_has_the_code_of_a_shell() -> None:
    with bounded("import os; os.kill(os.getpid(), 9)") as process:
        assert process.wait() == 128 + signal.SIGKILL


def test_a_command_is_asked_to_end_when_standard_input_is_closed() -> None:
    with bounded() as process:
        line(process)
        assert process.stdin is not None
        process.stdin.close()
        assert line(process) == "asked to end"
        assert process.wait() == 7


def test_a_command_is_asked_to_end_when_its_time_has_passed() -> None:
    with bounded(seconds=0.5) as process:
        assert process.wait() in (7, 128 + signal.SIGTERM), "its handler may not be there yet"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_command_is_asked_to_end_when_a_signal_arrives(number: signal.Signals) -> None:
    with bounded() as process:
        line(process)
        process.send_signal(number)
        assert line(process) == "asked to end"
        assert process.wait() == 7


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends the command")
def test_a_command_is_killed_when_its_process_is_killed() -> None:
    with bounded() as process:
        pid = int(line(process))
        process.kill()
        wait_until(lambda: not is_alive(pid), "the end of the command")
