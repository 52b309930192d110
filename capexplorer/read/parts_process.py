"""The process that reads all watched parts, beside the app: lines of `messages` in and out. It ends with its input.

A process of its own, so that no transport, parser or client of a server takes the interpreter's lock from the load thread.
"""

from __future__ import annotations

import math
import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import msgspec

from ..model import outside
from ..model.events import HostFacts, PartState
from ..model.readings import LOST_S, PartReading
from ..model.watched import PartSpec
from ..procs.lines import PIECE_BYTES, LineSplitter, write_all
from . import messages
from .link import PartLink
from .messages import OWN_MACHINE, Noticed, Read
from .part_probe import PartFacts, PartProbe
from .servers import REFUSED, Server, ServerRefused, servers_of

# -- server threads ------------------------------------------------------------------------------------------------------------
# Threads that read servers' own figures: one for each server, because their clients block. A server that does not answer delays
# nothing else; the text of its last error is kept.


_RETRY_AFTER_S = 5.0
"""Pause after a failed reading."""


class ServerThread:
    """Reads one server's figures after each `ask`, unless the previous reading is still going on."""

    def __init__(self, kind: str, make: Callable[[], Server], wake: int) -> None:
        """`wake`: a descriptor to which a byte is written when there are new figures or a new error."""
        self.kind = kind
        self.why: str | None = None
        """Why there are no figures."""
        self._make, self._wake = make, wake
        self._asked = threading.Event()
        self._figures: dict[str, float] | None = None
        threading.Thread(target=self._run, daemon=True, name=kind).start()

    def ask(self) -> None:
        """Request a reading; returns at once."""
        self._asked.set()

    def take(self) -> dict[str, float] | None:
        """New figures; None if there are none since the last call."""
        found, self._figures = self._figures, None
        return found

    def _run(self) -> None:
        server: Server | None = None
        while True:
            self._asked.wait()
            self._asked.clear()
            try:
                server = server or self._make()
                self._figures, self.why = server.read(), None
            except ServerRefused as error:
                self._figures, self.why = dict(REFUSED), f"{self.kind}: {_first_line(error)}"
            except Exception as error:  # the boundary of a thread: each client has errors of its own
                self.why = f"{self.kind}: {_first_line(error)}"
                threading.Event().wait(_RETRY_AFTER_S)
            with suppress(OSError):
                os.write(self._wake, b"\n")


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]


READER_CPU_MOST = 0.008
"""Maximum CPU use of a reader, in cores: if a reading each second costs more, readings become rarer."""

EVERY_MOST_S = 2.0
"""Less than what makes a part stale."""

FIRST_WITHIN_S = 20.0
"""Time for the first reading of a transport that has not failed: a login over a link of 200 ms with 1% loss took 9 s on a full
machine."""

_FACTS_AFTER = 3
"""Raw readings until all facts are known: the paths of some files are found in others."""

REASON_MOST = 200
"""Characters of the reason why a part is not read."""

_OFFSET_MOVED_S = 0.05
"""Change of the clock's offset that is reported."""


class Machines:
    """Names of machines: parts on one machine share its cores and disks."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        with suppress(OSError):
            self._names[Path("/proc/sys/kernel/random/boot_id").read_text().strip()] = OWN_MACHINE

    def of(self, boot_id: str | None, part: str) -> str | None:
        """`generator` for the machine of this process, else the name of the first part on that machine; None: unknown."""
        return None if boot_id is None else self._names.setdefault(boot_id, part)


class WatchedPart:
    """`poll` is called once a second, `take` when there is something to read. `wake`: a descriptor to which a byte is written
    when a server has answered."""

    def __init__(self, watch: PartSpec, machines: Machines, wake: int, clock: Callable[[], float] = monotonic) -> None:
        self._servers = [ServerThread(kind, make, wake) for kind, make in servers_of(watch).items()]
        self.link = PartLink(watch.at, clock)
        self._watch, self._machines, self._clock = watch, machines, clock
        self._probe = PartProbe(watch)
        self._reader: int | None = None
        """Process id of the transport whose reader `_probe` belongs to."""
        self._readings = 0
        self._read_at_s = clock()
        self._next_s = 0.0
        self._reported: PartState | None = None

        self._unusable: str | None = None
        """Why the latest reading could not be used."""

    def poll(self) -> None:
        """Ask for a reading, unless the reader has used its share of a core; and the servers for their own figures."""
        for server in self._servers:
            server.ask()
        if not self._watch.has_reader:
            return
        if self._clock() >= self._next_s or self.link.reader is None:
            self.link.poll(self._probe.request(self.link.reader))

    def take(self) -> Iterator[Read | Noticed]:
        """Messages to the app about what has arrived. What cannot be used ends no more than the reading."""
        try:
            yield from self._arrived()
        except Exception as error:  # the boundary of a part: it may send anything
            self._unusable = f"its readings cannot be used: {type(error).__name__}: {error}"[:REASON_MOST]
            self._probe = PartProbe(self._watch, self._probe.started_ticks)
        is_known = self._readings >= _FACTS_AFTER or not self._watch.has_reader
        now = self._read_state() if is_known and self._is_read else self._unread_state()
        if now is not None and not _same(now, self._reported):
            self._reported = now
            yield Noticed(now)

    def _arrived(self) -> Iterator[Read]:
        for reading in self.link.take():
            transport = self.link.process.pid if self.link.process is not None else None
            if transport != self._reader:
                self._reader, self._readings = transport, 0
                self._probe = PartProbe(self._watch, self._probe.started_ticks)
            found = self._probe.read(reading.raw)
            if found is not None:
                found, refused = outside.struct(found)
                self._schedule(found.reader_cpu_ratio, reading.at_s)
                figures, refused_figures = self._figures()
                yield Read(msgspec.structs.replace(found, server=figures), reading.at_s, (*refused, *refused_figures))
            self._readings += 1
            self._read_at_s, self._unusable = reading.at_s, None
        if not self._watch.has_reader:
            figures, refused = self._figures()
            if figures or refused:
                self._read_at_s = self._clock()
                yield Read(PartReading(name=self._watch.name, server=figures), self._read_at_s, refused)

    def _figures(self) -> tuple[dict[str, float], tuple[str, ...]]:
        """(new figures of all its servers, names of those that cannot be used)."""
        return outside.figures({name: value for server in self._servers for name, value in (server.take() or {}).items()})

    def _schedule(self, cpu_ratio: float | None, at_s: float) -> None:
        """Time of the next poll, by the reader's CPU use."""
        every_s = min(EVERY_MOST_S, max(1.0, math.ceil((cpu_ratio or 0.0) / READER_CPU_MOST)))
        self._next_s = at_s + every_s - 0.5 if every_s > 1.0 else 0.0

    @property
    def _is_read(self) -> bool:
        may_log_in = self._watch.has_reader and self._readings == 0 and self.link.why is None
        most_s = FIRST_WITHIN_S if may_log_in else LOST_S + EVERY_MOST_S * (self._next_s > 0)
        return self._clock() - self._read_at_s < most_s

    def _unread_state(self) -> PartState | None:
        """That there are no readings; None while one may still arrive in time."""
        if self._is_read:
            return None
        silent = "the shell there does not answer" if self.link.reader is None else "the reader is silent"
        reason = outside.text(self.link.why or self._unusable or self._why_no_figures or silent, REASON_MOST)
        return PartState(t_s=0.0, name=self._watch.name, state="unread", place=self._watch.place, reason=reason)

    @property
    def _why_no_figures(self) -> str | None:
        return next((server.why for server in self._servers if server.why is not None), None)

    def _read_state(self) -> PartState:
        try:
            facts = self._probe.facts
        except Exception as error:  # the boundary of a part, as in `take`
            facts = PartFacts(host=HostFacts(), why=f"its facts cannot be used: {type(error).__name__}: {error}"[:REASON_MOST])
        clock = self.link.clock_offset_s
        state = PartState(
            t_s=0.0,
            name=self._watch.name,
            state="read",
            place=self._watch.place,
            reason=facts.why or self._why_no_figures,
            host=facts.host,
            machine=self._machines.of(facts.boot_id, self._watch.name),
            pid=facts.pid,
            program=facts.program,
            reader=self.link.reader,
            clock_offset_s=None if clock is None else round(clock[0], 4),
            clock_error_s=None if clock is None else round(clock[1], 4),
            denied=facts.denied,
        )
        return outside.struct(state)[0]


def _same(now: PartState, before: PartState | None) -> bool:
    """Whether there is nothing new to report; a small drift of the clock is not."""
    if before is None:
        return False
    moved = abs((now.clock_offset_s or 0.0) - (before.clock_offset_s or 0.0))
    kept = msgspec.structs.replace(now, clock_offset_s=before.clock_offset_s, clock_error_s=before.clock_error_s)
    return kept == before and moved <= _OFFSET_MOVED_S + (now.clock_error_s or 0.0) + (before.clock_error_s or 0.0)


_WAKE_EVERY_S = 0.5
"""Interval at which parts that sent nothing are checked."""


class PartsProcess:
    """Links of all parts, and the pipe to the app."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._parts: list[WatchedPart] = []
        self._machines = Machines()
        self._lines = LineSplitter()
        self._wake_reader, self._wake_writer = os.pipe()

    def run(self) -> None:
        """Serve until the input ends."""
        try:
            while self._serve():
                pass
        except BrokenPipeError:
            pass
        finally:
            for part in self._parts:
                part.link.close()

    def _serve(self) -> bool:
        """One round; False at the end of the input."""
        awaited = [self._source, self._wake_reader, *(each for part in self._parts for each in part.link.descriptors())]
        ready, _, _ = select.select(awaited, [], [], _WAKE_EVERY_S)
        if self._source in ready and not self._read_messages():
            return False
        if self._wake_reader in ready:
            os.read(self._wake_reader, 1 << 10)
        for part in self._parts:
            for message in part.take():
                self._send(message)
        return True

    def _read_messages(self) -> bool:
        piece = os.read(self._source, PIECE_BYTES)
        for line in self._lines.add(piece):
            match messages.request_of(line):
                case messages.Add(watch):
                    self._add(watch)
                case messages.Poll():
                    for part in self._parts:
                        part.poll()
        return bool(piece)

    def _add(self, watch: PartSpec) -> None:
        try:
            part = WatchedPart(watch, self._machines, self._wake_writer)
        except ValueError as error:  # a transport with half a quotation
            state = PartState(t_s=0.0, name=watch.name, state="unread", place=watch.place, reason=f"{watch.at}: {error}")
            self._send(messages.Noticed(state))
            return
        self._parts.append(part)
        part.poll()

    def _send(self, message: messages.PartMessage) -> None:
        write_all(self._sink, messages.line(message))


def main() -> None:
    """Serve the app on descriptors 0 and 1."""
    PartsProcess(0, 1).run()


if __name__ == "__main__":
    main()
