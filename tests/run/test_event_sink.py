"""Where events leave: the log first, then those who watch. A real writer on a real (full) disk."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from session.samples import HEADER

from capexplorer.errors import LogWriteError
from capexplorer.model.events import Note
from capexplorer.run.event_sink import EventSink
from capexplorer.session.reader import read
from capexplorer.session.writer import SessionWriter


@contextmanager
def full_disk(at_bytes: int) -> Iterator[None]:
    """Files may not grow beyond this (EFBIG, as ENOSPC reaches the writer)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[tuple[EventSink, list[LogWriteError], Path]]:
    failures: list[LogWriteError] = []
    made = EventSink(failures.append)
    made.writer = SessionWriter(tmp_path / "s.jsonl")
    made.emit(HEADER)
    made.take()
    yield made, failures, tmp_path / "s.jsonl"
    made.close()


def test_live_events_equal_those_read_from_the_log(sink: tuple[EventSink, list[LogWriteError], Path]) -> None:
    made, failures, path = sink
    woken: list[int] = []
    made.wake = lambda: woken.append(1)
    made.emit(Note(t_s=1.23456789, text="Authorization: Bearer abc123"))
    made.flush()
    shown = made.take()
    assert list(read(path))[1:] == shown
    assert "abc123" not in path.read_text()
    assert (len(woken), made.take(), failures) == (1, [], [])


def test_a_disk_that_fails_is_reported_once_and_events_are_still_shown(sink: tuple[EventSink, list[LogWriteError], Path]) -> None:
    made, failures, path = sink
    with full_disk(path.stat().st_size):
        for number in range(3):
            made.emit(Note(t_s=float(number), text=f"note {number}"))
            made.flush()
    assert len(failures) == 1
    assert "cannot be written" in str(failures[0])
    assert [event.text for event in made.take() if isinstance(event, Note)] == ["note 0", "note 1", "note 2"]


def test_when_space_returns_nothing_was_lost(sink: tuple[EventSink, list[LogWriteError], Path]) -> None:
    made, _, path = sink
    with full_disk(path.stat().st_size):
        made.emit(Note(t_s=1.0, text="while full"))
        made.flush()
    made.emit(Note(t_s=2.0, text="after"))
    made.flush()
    assert [event.text for event in read(path) if isinstance(event, Note)] == ["while full", "after"]


def test_without_a_log_events_are_still_shown() -> None:
    made = EventSink(lambda error: None)
    made.emit(Note(t_s=1.0, text="early"))
    made.flush()
    made.close()
    assert len(made.take()) == 1
