"""Watched parts on the side of the app: readings of parts that answer and that do not, and the process that reads them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.model.events import Event, PartState
from capexplorer.model.readings import PartReading
from capexplorer.model.watched import PartSpec
from capexplorer.run.part_watch import PartWatch

from .bare_context import bare_context

TIMEOUT_S = 60.0


class PartTicks:
    """Watched parts whose readings are collected ten times a second, as by a pump whose ticks are that short."""

    def __init__(self) -> None:
        context = bare_context()
        self.parts, self._take = PartWatch(context), context.sink.take
        self._events: list[Event] = []

    @property
    def events(self) -> list[Event]:
        """All so far."""
        self._events += self._take()
        return self._events

    def wait_for_reading(self, part: str) -> PartReading:
        """Collect readings until the part of this name has a new one."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline_s:
            self.parts.beat(1.0)
            self.parts.beat(0.1)
            time.sleep(0.1)
            for reading in self.parts.read():
                if reading.name == part and reading.is_new:
                    return reading
        pytest.fail(f"no reading of {part} within {TIMEOUT_S:.0f} s: {self.events}")


@pytest.fixture
def ticks() -> Iterator[PartTicks]:
    ticks = PartTicks()
    yield ticks
    ticks.parts.end()


def children() -> set[int]:
    """The process ids of the child processes of this thread."""
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def test_each_tick_has_all_parts_and_a_reading_is_new_in_one_tick_only(ticks: PartTicks) -> None:
    ticks.parts.add(PartSpec(name="here"))
    ticks.parts.add(PartSpec(name="gone", at="no-such-program"))
    found = ticks.wait_for_reading("here")
    assert found.age_s is not None
    assert found.age_s < TIMEOUT_S
    again = {reading.name: reading for reading in ticks.parts.read()}
    assert again["here"].is_new is False
    assert again["here"].host is None
    assert again["gone"].age_s is None
    assert again["here"].age_s is not None
    assert again["here"].age_s > found.age_s


def test_a_second_part_of_the_same_name_is_ignored(ticks: PartTicks) -> None:
    ticks.parts.add(PartSpec(name="here"))
    ticks.parts.add(PartSpec(name="here", at="ssh elsewhere"))
    assert [watch.at for watch in ticks.parts.watched] == [""]


def test_after_the_reading_process_was_killed_figures_are_empty_until_a_new_one_reads(ticks: PartTicks) -> None:
    before = children()
    ticks.parts.add(PartSpec(name="here"))
    ticks.wait_for_reading("here")
    (process,) = children() - before
    os.kill(process, signal.SIGKILL)
    deadline_s = time.monotonic() + TIMEOUT_S
    while not any(isinstance(event, PartState) and event.state == "unread" for event in ticks.events):
        assert time.monotonic() < deadline_s, "the loss of the process is not reported"
        (reading,) = ticks.parts.read()
    assert reading.name == "here"
    assert (reading.host, reading.target) == (None, None)
    assert ticks.wait_for_reading("here").host is not None


def test_the_end_of_the_watch_ends_its_processes(ticks: PartTicks) -> None:
    before = children()
    ticks.parts.add(PartSpec(name="here"))
    ticks.wait_for_reading("here")
    assert any(isinstance(event, PartState) for event in ticks.events) or children() - before
    ticks.parts.end()
    assert children() == before


CONNECTION_PER_REQUEST = """
import os, time
while True:
    child = os.fork()
    if not child:
        while time.process_time() < 0.01: pass
        os._exit(0)
    os.waitpid(child, 0)
"""
"""As PostgreSQL for clients that connect for each request: each process lives for 10 ms."""


def test_processes_of_a_part_that_begin_and_end_between_two_readings_are_its_own(ticks: PartTicks) -> None:
    with subprocess.Popen([sys.executable, "-c", CONNECTION_PER_REQUEST]) as server:
        try:
            ticks.parts.add(PartSpec(name="db", pid=server.pid))
            deadline_s = time.monotonic() + TIMEOUT_S
            while not any(part.cpu_ratio for part in ticks.parts.here):
                assert time.monotonic() < deadline_s, ticks.events
                ticks.wait_for_reading("db")
            [part] = ticks.parts.here
            own_s = sum(os.sysconf("SC_CLK_TCK") ** -1 * int(each) for each in _stat(server.pid)[11:13])
            reaped_s = sum(os.sysconf("SC_CLK_TCK") ** -1 * int(each) for each in _stat(server.pid)[13:15])
        finally:
            server.kill()
    assert part.pid == server.pid
    assert reaped_s > own_s, "most of its CPU time is that of ended children"
    assert part.cpu_ratio is not None and part.cpu_ratio > 0


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def test_a_part_that_is_not_read_is_no_part_of_this_machine(ticks: PartTicks) -> None:
    ticks.parts.add(PartSpec(name="gone", at="no-such-program", pid=1))
    ticks.parts.add(PartSpec(name="here"))
    ticks.wait_for_reading("here")
    assert ticks.parts.here == ()


def test_at_the_end_a_part_without_any_reading_is_reported_as_not_read(ticks: PartTicks) -> None:
    ticks.parts.add(PartSpec(name="silent", at="sleep 600; true"))
    ticks.parts.add(PartSpec(name="here"))
    ticks.wait_for_reading("here")
    ticks.parts.report_silent()
    [state] = [event for event in ticks.events if isinstance(event, PartState) and event.name == "silent"]
    assert state.state == "unread"
    assert not [
        event for event in ticks.events if isinstance(event, PartState) and event.name == "here" and event.state == "unread"
    ]
