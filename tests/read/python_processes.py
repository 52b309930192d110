"""Python processes that work, wait and end as a test asks: targets of the probes. For tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PRELUDE = """
import os, resource, subprocess, sys, threading, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def print_line(): print(flush=True)
def start(code): return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
"""
"""Functions for the code of a test's process. By `print_line(); input()` it waits for the test (`python`, `resume`)."""

IDLE = "print_line(); input()"
SLEEPER = "import time; time.sleep(60)"
NO_SUCH_PID = 2**22 + 1  # above the highest pid of Linux, 2**22


@contextmanager
def started(code: str, *args: str, before: Sequence[str] = ()) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A Python process, and the line that it prints when it is ready. It is killed at the end with all that it started.

    `before`: words of a command that runs it.
    """
    command = [*before, sys.executable, "-c", code, *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            os.killpg(process.pid, 9)


@contextmanager
def python(code: str) -> Iterator[subprocess.Popen[str]]:
    """As `started`, with the functions of PRELUDE."""
    with started(PRELUDE + code) as (process, _):
        yield process


def resume(process: subprocess.Popen[str]) -> None:
    """Let a process go on from its `input()`, and wait until it prints its next line."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    process.stdout.readline()
