"""A command in the background whose output is read line by line."""

from __future__ import annotations

import os
import re
import subprocess

from ...errors import TargetError

_CONTROL = re.compile(r"\r|\x1b\[[0-9;]*[A-Za-z]")
"""Compose prints control sequences that clear a line even if its output is not a terminal."""


class RunningCommand:
    """It has a session of its own, so that a signal to the target's process group does not end it before its services stop."""

    def __init__(self, words: list[str]) -> None:
        environment = {**os.environ, "COMPOSE_MENU": "false", "COMPOSE_PROGRESS": "plain"}
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise TargetError(f"cannot run {words[0]}: {error.strerror}") from None
        assert self._process.stdout is not None
        self.fileno = self._process.stdout.fileno()
        self.has_ended = False
        self._partial = b""

    def lines(self) -> list[str]:
        """The lines that have arrived; to be called when `fileno` is readable."""
        piece = os.read(self.fileno, 1 << 16)
        self.has_ended = not piece
        *lines, self._partial = (self._partial + piece + b"\n" * (not piece and bool(self._partial))).split(b"\n")
        return [_CONTROL.sub("", line.decode("utf-8", "replace")).rstrip() for line in lines]

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL, and wait until it has ended."""
        self._process.kill()
        self._process.wait()
