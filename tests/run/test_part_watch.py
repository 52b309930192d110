"""The app's side of watched parts: what a tick gets of a part that is read or silent, and what is left at the end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.model.events import Event, PartState
from capexplorer.model.part_reading import PartReading
from capexplorer.model.watched import PartSpec
from capexplorer.run.part_watch import PartWatch

WAIT_MOST_S = 60.0


class Ticks:
    """A pump's beats and ticks, as fast as they may come."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.parts = PartWatch(self.events.append, time.monotonic)

    def until(self, found: str) -> PartReading:
        """Tick until the part of that name has a new reading."""
        deadline_s = time.monotonic() + WAIT_MOST_S
        while time.monotonic() < deadline_s:
            self.parts.beat(1.0)
            self.parts.beat(0.1)
            time.sleep(0.1)
            for reading in self.parts.read():
                if reading.name == found and reading.is_new:
                    return reading
        pytest.fail(f"no reading of {found}: {self.events}")


@pytest.fixture
def ticks() -> Iterator[Ticks]:
    made = Ticks()
    yield made
    made.parts.end()


def children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def test_a_tick_has_every_part_and_each_reading_once(ticks: Ticks) -> None:
    ticks.parts.add(PartSpec(name="here"))
    ticks.parts.add(PartSpec(name="gone", at="no-such-program"))
    found = ticks.until("here")
    assert found.age_s is not None and found.age_s < WAIT_MOST_S
    again = {reading.name: reading for reading in ticks.parts.read()}
    assert (again["here"].is_new, again["here"].host, again["gone"].age_s) == (False, None, None)
    assert again["here"].age_s is not None and again["here"].age_s > found.age_s


def test_a_second_part_of_the_same_name_is_ignored(ticks: Ticks) -> None:
    ticks.parts.add(PartSpec(name="here"))
    ticks.parts.add(PartSpec(name="here", at="ssh elsewhere"))
    assert [watch.at for watch in ticks.parts.watched] == [""]


def test_a_process_that_was_killed_leaves_no_old_figures_is_named_and_is_started_again(ticks: Ticks) -> None:
    before = children()
    ticks.parts.add(PartSpec(name="here"))
    ticks.until("here")
    (process,) = children() - before
    os.kill(process, signal.SIGKILL)
    deadline_s = time.monotonic() + WAIT_MOST_S
    while not any(isinstance(event, PartState) and event.state == "unread" for event in ticks.events):
        assert time.monotonic() < deadline_s
        (reading,) = ticks.parts.read()
    assert (reading.name, reading.host, reading.target) == ("here", None, None)
    assert ticks.until("here").host is not None


def test_no_process_is_left_when_the_part_watch_ends(ticks: Ticks) -> None:
    before = children()
    ticks.parts.add(PartSpec(name="here"))
    ticks.until("here")
    assert any(isinstance(event, PartState) for event in ticks.events) or children() - before
    ticks.parts.end()
    assert children() == before
