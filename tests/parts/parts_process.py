"""The process that reads parts, as the app starts it: asks it for readings, and keeps them. Only helps the tests here."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from capexplorer.model.events import PartState
from capexplorer.model.part_reading import PartReading
from capexplorer.model.watched import PartSpec
from capexplorer.parts import part_messages as messages

WAIT_MOST_S = 240.0
EVERY_S = 0.25
"""Faster than a run does, so that tests wait less."""


class Reading:
    """A process that reads some parts."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.readings: list[PartReading] = []
        self.parts: list[PartState] = []
        self._rest = b""

    def until(self, found: Callable[[], object], what: str) -> None:
        """Ask for readings until there is what is waited for."""
        assert self.process.stdin is not None and self.process.stdout is not None
        deadline_s = time.monotonic() + WAIT_MOST_S
        os.set_blocking(self.process.stdout.fileno(), False)
        while not found():
            assert time.monotonic() < deadline_s, f"not seen: {what}; {self.parts[-1:]} {self.readings[-1:]}"
            os.write(self.process.stdin.fileno(), messages.line(messages.Poll()))
            time.sleep(EVERY_S)
            self._take(self.process.stdout.fileno())

    def _take(self, source: int) -> None:
        try:
            self._rest += os.read(source, 1 << 20)
        except BlockingIOError:
            return
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            match messages.reported(line):
                case messages.Read(reading):
                    self.readings.append(reading)
                case messages.Noticed(part):
                    self.parts.append(part)

    def drained(self) -> None:
        """Take what was read before now and has not arrived yet."""
        rounds = iter(range(4))
        self.until(lambda: next(rounds, None) is None, "some answers")

    def read(self, condition: Callable[[PartReading], object], what: str) -> PartReading:
        """The first reading from now on that meets a condition."""
        seen = len(self.readings)
        self.until(lambda: any(condition(each) for each in self.readings[seen:]), what)
        return next(each for each in self.readings[seen:] if condition(each))

    def noticed(self, condition: Callable[[PartState], object], what: str) -> PartState:
        """The latest of what is known of a part, once it meets a condition."""
        self.until(lambda: any(condition(each) for each in self.parts), what)
        return next(each for each in reversed(self.parts) if condition(each))


@contextmanager
def reading(*watches: PartSpec, before: Sequence[str] = ()) -> Iterator[Reading]:
    """Ends the process by ending its input, and fails unless it goes in order. `before`: words that it runs under."""
    with subprocess.Popen(
        [*before, sys.executable, "-m", "capexplorer.parts.parts_process"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        for watch in watches:
            os.write(process.stdin.fileno(), messages.line(messages.Add(watch)))
        try:
            yield Reading(process)
        finally:
            process.stdin.close()
            assert process.wait(WAIT_MOST_S) == 0
