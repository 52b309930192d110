"""Starts and polls the process that reads all watched parts. In the pump's thread; `beat` and `read` never block.

The process is started by `posix.posix_spawn`: gevent has replaced `subprocess` and the functions of `os` that start processes and
wait for them by ones that need a hub, which this thread does not have.
"""

from __future__ import annotations

import os
import posix
import signal
from contextlib import suppress
from time import monotonic

from msgspec.structs import replace

from ..load import native
from ..model.events import PartState
from ..model.readings import PartReading
from ..model.watched import PartSpec
from ..procs import isolated
from ..procs.lines import PIECE_BYTES, LineSplitter, Unsent
from ..read import messages
from ..read.neighbours import PartHere
from .context import RunContext

POLL_BEFORE_S = 0.3
"""Seconds before a tick at which parts are polled: readings that arrive within that time belong to the tick's second."""

_RESTART_AFTER_S = 5.0
"""Seconds until a process that ended by itself is started again."""

_END_S = 2.0
_REAP_POLL_S = 0.02
_BUFFER_MOST = 4 << 20


class PartWatch:
    """The watched parts of one run."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self.watched: list[PartSpec] = []
        self._unusable: list[str] = []
        self._pid: int | None = None
        self._from = -1
        self._lines, self._unsent = LineSplitter(), Unsent(-1)
        self._polled = False
        self._new: dict[str, PartReading] = {}
        self._read_at_s: dict[str, float] = {}
        """`time.monotonic` of each part's latest reading, by name."""
        self._noticed: set[str] = set()
        """Names of parts whose state is known."""
        self._again_at_s: float | None = None
        self._here: dict[str, PartHere] = {}

    @property
    def here(self) -> tuple[PartHere, ...]:
        """The parts on this machine, as of their latest readings."""
        return tuple(self._here.values())

    def add(self, watch: PartSpec) -> None:
        """Watch one more part from now on. Does nothing if the name is taken: two screens may have asked for the same part."""
        if any(watch.name == other.name for other in self.watched):
            return
        self.watched.append(watch)
        if self._pid is None:
            self._start()
        else:
            self._send(messages.Add(watch))

    def _start(self) -> None:
        theirs_in, to = os.pipe()
        self._from, theirs_out = os.pipe()
        for descriptor in (to, self._from):
            os.set_blocking(descriptor, False)
        command = isolated.command("capexplorer.read.parts_process", has_site=True)
        duplicated = [(os.POSIX_SPAWN_DUP2, theirs_in, 0), (os.POSIX_SPAWN_DUP2, theirs_out, 1)]
        own_group = {"setpgroup": 0}
        self._pid = posix.posix_spawn(command[0], command, os.environ, file_actions=duplicated, **own_group)  # type: ignore[arg-type]
        for descriptor in (theirs_in, theirs_out):
            posix.close(descriptor)
        self._lines, self._unsent = LineSplitter(), Unsent(to)
        for watch in self.watched:
            self._send(messages.Add(watch))

    def beat(self, until_tick_s: float | None) -> None:
        """Ask for readings shortly before the next tick. Called several times a second."""
        if self._again_at_s is not None and monotonic() >= self._again_at_s:
            self._again_at_s = None
            self._start()
        if self._pid is None or until_tick_s is None:
            return
        if until_tick_s > POLL_BEFORE_S:
            self._polled = False
        elif not self._polled:
            self._polled = True
            self._send(messages.Poll())

    def read(self) -> tuple[PartReading, ...]:
        """The reading of every part for this tick, empty where none arrived. Emits changes of the parts' states."""
        if self._pid is not None and not self._take():
            self._ended()
        now_s, new, self._new = monotonic(), self._new, {}
        return tuple(self._of_tick(watch.name, new.get(watch.name), now_s) for watch in self.watched)

    def take_unusable(self) -> list[str]:
        """Names of numbers since the last call that parts sent and that are not finite or too large."""
        found, self._unusable = self._unusable, []
        return found

    def _of_tick(self, name: str, reading: PartReading | None, now_s: float) -> PartReading:
        read_at_s = self._read_at_s.get(name)
        return replace(reading or PartReading(name=name), age_s=None if read_at_s is None else max(0.0, now_s - read_at_s))

    def _ended(self) -> None:
        """Note that the process ended by itself, and emit that no part is read until it runs again."""
        self._reap()
        self._again_at_s = monotonic() + _RESTART_AFTER_S
        for watch in self.watched:
            self._unread(watch, "the process that reads parts ended")

    def _unread(self, watch: PartSpec, reason: str) -> None:
        self._context.emit(
            PartState(t_s=self._context.now_s(), name=watch.name, state="unread", place=watch.place, reason=reason)
        )

    def _take(self) -> bool:
        """Take in everything that has arrived. False if the process has ended."""
        is_open, lines = True, list[bytes]()
        with suppress(BlockingIOError):
            while piece := os.read(self._from, PIECE_BYTES):
                lines += self._lines.add(piece)
            is_open = False
        for line in lines:
            match messages.reported(line):
                case messages.Read(reading, at_s, refused):
                    self._new[reading.name], self._read_at_s[reading.name] = reading, at_s
                    if reading.name in self._here and reading.target is not None:
                        self._here[reading.name] = self._here[reading.name]._replace(cpu_ratio=reading.target.cpu_ratio)
                    self._unusable += [f"part {reading.name}: {each}" for each in refused]
                case messages.Noticed(part):
                    self._noticed.add(part.name)
                    self._locate(part)
                    self._context.emit(replace(part, t_s=self._context.now_s()))
        if len(self._lines.rest) > _BUFFER_MOST:
            self._lines.end()
        return is_open

    def report_silent(self) -> None:
        """Emit of each part of which nothing has arrived that it is not read, since a run may be shorter than the time that a
        login may take."""
        for watch in self.watched:
            if watch.name not in self._noticed and watch.name not in self._read_at_s:
                self._unread(watch, "there was no reading until the end of the run")

    def _locate(self, part: PartState) -> None:
        """Note whether the part's processes run on this machine."""
        before = self._here.pop(part.name, None)
        if part.state == "read" and part.machine == messages.OWN_MACHINE and part.pid is not None:
            in_container = any(watch.is_in_container for watch in self.watched if watch.name == part.name)
            pid = None if in_container else part.pid  # a container has process ids of its own
            self._here[part.name] = PartHere(pid, before.cpu_ratio if before is not None else None)

    def _send(self, message: messages.PartMessage) -> None:
        self._unsent.add(messages.line(message))
        self._unsent.flush()
        if len(self._unsent) > _BUFFER_MOST:
            self._unsent.drop()

    def end(self) -> None:
        """End the process, and with it every reader."""
        self._again_at_s = None
        if self._pid is not None:
            self._reap()

    def _reap(self) -> None:
        """Close the pipes, which ends the process, and wait for its end."""
        pid, self._pid = self._pid, None
        assert pid is not None
        for descriptor in (self._unsent.descriptor, self._from):
            posix.close(descriptor)
        deadline_s = monotonic() + _END_S
        with suppress(ChildProcessError):
            while posix.waitpid(pid, os.WNOHANG)[0] == 0:
                if monotonic() > deadline_s:
                    with suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                native.sleep(_REAP_POLL_S)
