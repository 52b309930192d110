"""One run under the supervisor: a program from its start to the end of its last descendant.

For the supervisor process alone: standard library only, one thread.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from time import monotonic
from typing import Any

from capexplorer.target import child
from capexplorer.target.output_lines import OutputLines
from capexplorer.target.process_tree import any_left, session_of, signal_all, signal_group

CHUNK_BYTES = 65_536
"""A pipe's default capacity on Linux."""


class SupervisedRun:
    """The target."""

    def __init__(self, number: int, argv: list[str], env: dict[str, str], cwd: str, limits: dict[str, Any]) -> None:
        self.number = number
        self.lines = OutputLines()
        self.stopped = False
        """Whether the supervisor asked it to end."""
        self.least_grace_s = 0.0
        """Lower bound of each grace period."""
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=child.prepare(limits),  # safe: this process has one thread
        )
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.output = self._process.stdout.fileno()
        os.set_blocking(self.output, False)
        self._code: int | None = None
        self._kill_at_s = float("inf")
        self._descendants_signalled = False

    @property
    def ending(self) -> bool:
        """Whether its first process has ended, or was asked to end."""
        return self.stopped or self._code is not None

    def stop(self, grace_s: float) -> None:
        """Send SIGTERM, once; SIGKILL follows after the grace period. A later call can only shorten that period."""
        self._kill_at_s = min(self._kill_at_s, monotonic() + max(grace_s, self.least_grace_s))
        if not self.ending:
            self.stopped = True
            signal_group(self.pid, signal.SIGTERM)

    def root_ended(self, code: int) -> None:
        """Its first process was reaped, with this exit code; negative: by a signal."""
        self._code = self._process.returncode = code

    def is_over(self, groups: list[int]) -> bool:
        """Whether all its processes are gone. Kills them when their grace period has ended, and at once after a crash.

        `groups`: process groups of the auxiliary processes.
        """
        if self._code is not None and not self.any_left(groups):
            return True
        crashed = self._code is not None and not self.stopped
        if crashed or monotonic() >= self._kill_at_s:
            self.signal_all(signal.SIGKILL, groups)
        elif self._code is not None and not self._descendants_signalled:
            self._descendants_signalled = True
            self.signal_all(signal.SIGTERM, groups)
        return False

    def any_left(self, groups: list[int]) -> bool:
        """Whether processes below the supervisor live, other than those of `groups`."""
        return any_left(self.pid, groups)

    def signal_all(self, number: int, groups: Iterable[int] = ()) -> None:
        """Send a signal to those processes."""
        signal_all(self.pid, number, groups)

    def read_output(self) -> bool:
        """Read one chunk of output; False at the end of the output."""
        try:
            chunk = os.read(self.output, CHUNK_BYTES)
        except BlockingIOError:
            return True
        self.lines.feed(chunk)
        return bool(chunk)

    def close(self) -> tuple[list[str], int]:
        """Close its output; returns (last lines, number of dropped lines). No writer is left, so at most a full pipe is
        unread."""
        assert self._process.stdout is not None
        with suppress(BlockingIOError):
            while chunk := os.read(self.output, CHUNK_BYTES):
                self.lines.feed(chunk)
        self._process.stdout.close()
        return self.lines.finish()

    def how_it_ended(self) -> dict[str, Any]:
        """The fields `signal` or `code` of its report."""
        code = self._code
        if code is not None and code < 0:
            return {"signal": signal.Signals(-code).name}
        return {"code": code}


class AuxiliaryRun(SupervisedRun):
    """An auxiliary process, with all of its session. Processes that left the session end with the supervisor."""

    def any_left(self, groups: list[int]) -> bool:
        """Whether its session has processes."""
        return bool(session_of(self.pid)) if sys.platform == "linux" else super().any_left(groups)

    def signal_all(self, number: int, groups: Iterable[int] = ()) -> None:
        """Send a signal to every process of its session."""
        signal_group(self.pid, number)
        for pid in session_of(self.pid) if sys.platform == "linux" else ():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def why_not_started(error: OSError | subprocess.SubprocessError, limits: dict[str, Any]) -> str:
    """The reason in words. A SubprocessError means only that `preexec_fn` failed: the kernel refused a limit."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"the kernel refuses its limits ({child.described(limits)})"
