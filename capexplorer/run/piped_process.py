"""A process of this package beside the app: lines to its input, lines from its output. It ends once its input is closed.

It is started by `posix.posix_spawn`: gevent has replaced `subprocess` and the functions of `os` that start processes and wait for
them by ones that need a hub, which the pump's thread does not have.
"""

from __future__ import annotations

import os
import posix
import signal
from contextlib import suppress
from time import monotonic

from ..load import native
from ..procs import isolated
from ..procs.lines import PIECE_BYTES, LineSplitter, Unsent

_END_S = 2.0
_REAP_POLL_S = 0.02
BUFFER_MOST = 4 << 20
"""Bytes of unsent lines, or of one that has not arrived whole, from which on they are dropped."""


class PipedProcess:
    """One process in a group of its own. `send` and `take` never block; `end` takes at most _END_S."""

    def __init__(self, module: str) -> None:
        """`module`: of this package, with a function `main`."""
        theirs_in, to = os.pipe()
        self._from, theirs_out = os.pipe()
        for descriptor in (to, self._from):
            os.set_blocking(descriptor, False)
        command = isolated.command(module, has_site=True)
        duplicated = [(os.POSIX_SPAWN_DUP2, theirs_in, 0), (os.POSIX_SPAWN_DUP2, theirs_out, 1)]
        own_group = {"setpgroup": 0}
        self.pid = posix.posix_spawn(command[0], command, os.environ, file_actions=duplicated, **own_group)  # type: ignore[arg-type]
        for descriptor in (theirs_in, theirs_out):
            posix.close(descriptor)
        self._lines, self._unsent = LineSplitter(), Unsent(to)
        self.is_open = True
        """Whether its output is open, as of the latest `take`."""

    def send(self, line: bytes) -> None:
        """Write a whole line, with its end, to its input, now or with the next one."""
        self._unsent.add(line)
        self._unsent.flush()
        if len(self._unsent) > BUFFER_MOST:
            self._unsent.drop()

    def take(self) -> list[bytes]:
        """The whole lines that have arrived since the last call."""
        found = list[bytes]()
        with suppress(BlockingIOError):
            while piece := os.read(self._from, PIECE_BYTES):
                found += self._lines.add(piece)
            self.is_open = False
        if len(self._lines.rest) > BUFFER_MOST:
            self._lines.end()
        return found

    def end(self) -> None:
        """Close the pipes, which ends the process, and wait for its end."""
        for descriptor in (self._unsent.descriptor, self._from):
            posix.close(descriptor)
        deadline_s = monotonic() + _END_S
        with suppress(ChildProcessError):
            while posix.waitpid(self.pid, os.WNOHANG)[0] == 0:
                if monotonic() > deadline_s:
                    with suppress(ProcessLookupError):
                        os.killpg(self.pid, signal.SIGKILL)
                native.sleep(_REAP_POLL_S)
