"""The event sink: events go to the log and then to the screen, also while the disk is full."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from kit.scenario import HEADER

from capexplorer.errors import LogWriteError
from capexplorer.model.events import Note
from capexplorer.run.context import EventSink, LogTrouble
from capexplorer.session.reader import read
from capexplorer.session.writer import SessionWriter


@contextmanager
def full_disk(at_bytes: int) -> Iterator[None]:
    """No file can grow beyond this size: a write fails with EFBIG, which the writer treats as it does ENOSPC."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.fixture
def sink_with_log(tmp_path: Path) -> Iterator[tuple[EventSink, list[LogWriteError], Path]]:
    """A sink with a log that has a header; its failures; the log's path."""
    failures: list[LogWriteError] = []
    sink = EventSink()
    trouble = SimpleNamespace(on_log_failure=failures.append, on_log_recovery=lambda: None)
    sink.open(SessionWriter(tmp_path / "s.jsonl"), cast(LogTrouble, trouble))
    sink.emit(HEADER)
    sink.take()
    yield sink, failures, tmp_path / "s.jsonl"
    sink.close()


def test_live_events_equal_those_read_from_the_log(sink_with_log: tuple[EventSink, list[LogWriteError], Path]) -> None:
    sink, failures, path = sink_with_log
    woken: list[int] = []
    sink.wake_by(lambda: woken.append(1))
    sink.emit(Note(t_s=1.23456789, text="Authorization: Bearer abc123"))
    sink.flush()
    shown = sink.take()
    assert list(read(path))[1:] == shown
    assert "abc123" not in path.read_text()
    assert len(woken) == 1
    assert sink.take() == [], "each event is taken once"
    assert failures == []


def test_a_full_disk_is_reported_once_and_the_screen_still_gets_events(
    sink_with_log: tuple[EventSink, list[LogWriteError], Path],
) -> None:
    sink, failures, path = sink_with_log
    with full_disk(path.stat().st_size):
        for number in range(3):
            sink.emit(Note(t_s=float(number), text=f"note {number}"))
            sink.flush()
    assert len(failures) == 1
    assert "cannot be written" in str(failures[0])
    assert [event.text for event in sink.take() if isinstance(event, Note)] == ["note 0", "note 1", "note 2"]


def test_events_of_the_time_of_a_full_disk_are_written_when_it_has_space(
    sink_with_log: tuple[EventSink, list[LogWriteError], Path],
) -> None:
    sink, _, path = sink_with_log
    with full_disk(path.stat().st_size):
        sink.emit(Note(t_s=1.0, text="while full"))
        sink.flush()
    sink.emit(Note(t_s=2.0, text="after"))
    sink.flush()
    assert [event.text for event in read(path) if isinstance(event, Note)] == ["while full", "after"]


def test_without_a_log_the_screen_still_gets_events() -> None:
    sink = EventSink()
    sink.emit(Note(t_s=1.0, text="early"))
    sink.flush()
    sink.close()
    assert len(sink.take()) == 1
