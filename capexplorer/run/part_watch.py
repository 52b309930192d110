"""Starts and polls the process that reads all watched parts. In the pump's thread; `beat` and `read` never block."""

from __future__ import annotations

from time import monotonic

from msgspec.structs import replace

from ..model.events import PartState
from ..model.readings import PartReading
from ..model.watched import PartSpec
from ..read import messages
from ..read.neighbours import PartHere
from .context import RunContext
from .piped_process import PipedProcess

POLL_BEFORE_S = 0.3
"""Seconds before a tick at which parts are polled: readings that arrive within that time belong to the tick's second."""

_RESTART_AFTER_S = 5.0
"""Seconds until a process that ended by itself is started again."""


class PartWatch:
    """The watched parts of one run."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self.watched: list[PartSpec] = []
        self._unusable: list[str] = []
        self._process: PipedProcess | None = None
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
        if self._process is None:
            self._start()
        else:
            self._process.send(messages.line(messages.Add(watch)))

    def _start(self) -> None:
        self._process = PipedProcess("capexplorer.read.parts_process")
        for watch in self.watched:
            self._process.send(messages.line(messages.Add(watch)))

    def beat(self, until_tick_s: float | None) -> None:
        """Ask for readings shortly before the next tick. Called several times a second."""
        if self._again_at_s is not None and monotonic() >= self._again_at_s:
            self._again_at_s = None
            self._start()
        if self._process is None or until_tick_s is None:
            return
        if until_tick_s > POLL_BEFORE_S:
            self._polled = False
        elif not self._polled:
            self._polled = True
            self._process.send(messages.line(messages.Poll()))

    def read(self) -> tuple[PartReading, ...]:
        """The reading of every part for this tick, empty where none arrived. Emits changes of the parts' states."""
        if self._process is not None:
            self._take(self._process)
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
        self._end_process()
        self._again_at_s = monotonic() + _RESTART_AFTER_S
        for watch in self.watched:
            self._unread(watch, "the process that reads parts ended")

    def _unread(self, watch: PartSpec, reason: str) -> None:
        self._context.emit(
            PartState(t_s=self._context.now_s(), name=watch.name, state="unread", place=watch.place, reason=reason)
        )

    def _take(self, process: PipedProcess) -> None:
        """Take in everything that has arrived."""
        for line in process.take():
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
        if not process.is_open:
            self._ended()

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

    def end(self) -> None:
        """End the process, and with it every reader."""
        self._again_at_s = None
        self._end_process()

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()
