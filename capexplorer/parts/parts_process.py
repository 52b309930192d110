"""The process that reads all watched parts, beside the app: lines of `part_messages` in and out. It ends with its input.

A process of its own, so that no transport, parser or client of a server takes the interpreter's lock from the load thread.
"""

from __future__ import annotations

import os
import selectors
from contextlib import suppress
from pathlib import Path

from ..model.events import PartState
from ..model.watched import PartSpec
from ..procs.lines import PIECE_BYTES, LineSplitter, write_all
from . import part_messages as messages
from .watched_part import WatchedPart, clock

_WAKE_EVERY_S = 0.5
"""Interval at which parts that sent nothing are checked."""

OWN_MACHINE = "generator"
"""Name of the machine that this process runs on."""


class Machines:
    """Names of machines: parts on one machine share its cores and disks."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        with suppress(OSError):
            self._names[Path("/proc/sys/kernel/random/boot_id").read_text().strip()] = OWN_MACHINE

    def of(self, boot_id: str | None, part: str) -> str | None:
        """`generator` for the machine of this process, else the name of the first part on that machine; None: unknown."""
        return None if boot_id is None else self._names.setdefault(boot_id, part)


class PartsProcess:
    """Links of all parts, and the pipe to the app."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._selector = selectors.DefaultSelector()
        self._selector.register(source, selectors.EVENT_READ)
        self._parts: list[WatchedPart] = []
        self._registered: set[int] = set()
        self._machines = Machines()
        self._lines = LineSplitter()
        self._wake_reader, self._wake_writer = os.pipe()
        self._selector.register(self._wake_reader, selectors.EVENT_READ)

    def run(self) -> None:
        """Serve until the input ends."""
        try:
            while self._serve():
                self._register()
        except BrokenPipeError:
            pass
        finally:
            for part in self._parts:
                part.link.close()

    def _serve(self) -> bool:
        """One round; False at the end of the input."""
        ready = {key.fd for key, _ in self._selector.select(_WAKE_EVERY_S)}
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
            part = WatchedPart(watch, self._machines.of, clock, self._wake_writer)
        except ValueError as error:  # a transport with half a quotation
            state = PartState(t_s=0.0, name=watch.name, state="unread", place=watch.place, reason=f"{watch.at}: {error}")
            self._send(messages.Noticed(state))
            return
        self._parts.append(part)
        part.poll()

    def _send(self, message: messages.PartMessage) -> None:
        write_all(self._sink, messages.line(message))

    def _register(self) -> None:
        """Register the descriptors of the present transports with the selector."""
        now = {descriptor for part in self._parts for descriptor in part.link.descriptors()}
        for descriptor in self._registered | now:
            with suppress(KeyError, ValueError):
                self._selector.unregister(descriptor)
        for descriptor in now:
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._registered = now


def main() -> None:
    """Serve the app on descriptors 0 and 1."""
    PartsProcess(0, 1).run()


if __name__ == "__main__":
    main()
