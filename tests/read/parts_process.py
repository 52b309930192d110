"""Starts the process that reads watched parts, as the app does, asks it for readings and keeps what it sends.

For tests of this folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from capexplorer.model.events import PartState
from capexplorer.model.readings import PartReading
from capexplorer.model.watched import PartSpec
from capexplorer.read import messages
from lab.kit.runs import wait_until

T = TypeVar("T")

WAIT_MOST_S = 240.0
POLL_EVERY_S = 0.25
"""Four times as often as a run does, so that tests wait less."""


class PartsProcess:
    """A process that reads parts, with all readings and states that it has sent."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.readings: list[PartReading] = []
        self.states: list[PartState] = []
        self._incomplete_line = b""

    def poll_until(self, condition: Callable[[], T], expected: str) -> T:
        """Ask for readings until a condition is true, and return its value. `expected`: a noun for the message of a failure."""

        def polled() -> T:
            self._poll()
            return condition()

        return wait_until(polled, expected, WAIT_MOST_S, POLL_EVERY_S)

    def poll_times(self, count: int) -> None:
        """Ask for readings a number of times: those that were read before and are still in transit arrive."""
        for _ in range(count):
            self._poll()
            time.sleep(POLL_EVERY_S)

    def _poll(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        os.write(self.process.stdin.fileno(), messages.line(messages.Poll()))
        self._receive(self.process.stdout.fileno())

    def _receive(self, descriptor: int) -> None:
        """Keep all messages that have arrived."""
        os.set_blocking(descriptor, False)
        try:
            self._incomplete_line += os.read(descriptor, 1 << 20)
        except BlockingIOError:
            return
        *lines, self._incomplete_line = self._incomplete_line.split(b"\n")
        for line in lines:
            match messages.reported(line):
                case messages.Read(reading):
                    self.readings.append(reading)
                case messages.Noticed(state):
                    self.states.append(state)

    def wait_for_reading(self, condition: Callable[[PartReading], object], expected: str) -> PartReading:
        """The first reading from now on that meets a condition."""
        received = len(self.readings)
        return self.poll_until(lambda: [each for each in self.readings[received:] if condition(each)], expected)[0]

    def wait_for_state(self, condition: Callable[[PartState], object], expected: str) -> PartState:
        """The latest state of a part that meets a condition; waits until there is one."""
        return self.poll_until(lambda: [each for each in self.states if condition(each)], expected)[-1]


def children_of(pid: int) -> list[int]:
    """Processes that the main thread of a process started: those of the transports, if it is a parts process."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def parts_process(*watches: PartSpec, before: Sequence[str] = ()) -> Iterator[PartsProcess]:
    """A process that reads these parts; at the end its input is closed, and it must exit with code 0.

    `before`: words of a command that runs it, such as `nsenter`.
    """
    with subprocess.Popen(
        [*before, sys.executable, "-m", "capexplorer.read.parts_process"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        for watch in watches:
            os.write(process.stdin.fileno(), messages.line(messages.Add(watch)))
        try:
            yield PartsProcess(process)
        finally:
            process.stdin.close()
            assert process.wait(WAIT_MOST_S) == 0, "the parts process ended with an error"
