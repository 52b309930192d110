"""Processes that run beside a service during a `with` block. Those that keep a core busy end by themselves as well."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager


@contextmanager
def running(commands: Sequence[Sequence[str]]) -> Iterator[None]:
    """Start all commands; kill them at the end of the block."""
    processes = [subprocess.Popen(command) for command in commands]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def busy(cores: Sequence[int], *, count: int, most_s: float) -> AbstractContextManager[None]:
    """`count` processes that keep each of these cores busy; they end after `most_s` at the latest."""
    spin = f"import time; end = time.monotonic() + {most_s}\nwhile time.monotonic() < end: pass"
    return running([("taskset", "-c", str(core), sys.executable, "-c", spin) for core in cores for _ in range(count)])
