"""The writer of session logs: what is written when, and the names of new sessions."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest
from kit.scenario import HEADER, log_lines

from capexplorer.errors import LogWriteError
from capexplorer.model.events import Ended, Mark, Sample
from capexplorer.model.findings import Cause
from capexplorer.session.canonical import canonical
from capexplorer.session.files import new_path
from capexplorer.session.reader import read
from capexplorer.session.writer import SessionWriter

from .samples import ONE_OF_EACH, note

MARK = Mark(t_s=3.0, key="cause:0", state="open", finding=Cause(name="refused"))


class HandClock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_written_events_are_read_back(path: Path) -> None:
    writer = SessionWriter(path)
    for event in ONE_OF_EACH:
        writer.write(event)
    writer.close()
    writer.close()
    assert list(read(path)) == [canonical(event) for event in ONE_OF_EACH]


def test_the_header_is_the_first_line_and_on_the_disk_at_once(path: Path) -> None:
    writer = SessionWriter(path)
    with pytest.raises(ValueError, match="the header comes first"):
        writer.write(note(1))
    writer.write(HEADER)
    with pytest.raises(ValueError, match="and once"):
        writer.write(HEADER)
    assert lines_of(path) == log_lines([HEADER])
    writer.close()


def test_a_file_that_was_created_before_the_header_is_not_overwritten(path: Path) -> None:
    writer = SessionWriter(path)
    path.write_text("mine")
    with pytest.raises(LogWriteError, match=r"session\.jsonl: the session log cannot be written: File exists"):
        writer.write(HEADER)
    assert path.read_text() == "mine"


def test_a_file_system_without_unnamed_files_is_supported(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    SessionWriter(path).close()
    assert list(tmp_path.iterdir()) == []
    writer = SessionWriter(path)
    assert not path.exists()
    writer.write(HEADER)
    assert list(tmp_path.iterdir()) == [path]
    writer.close()
    assert list(read(path)) == [HEADER]


def test_a_sample_is_written_to_the_file_at_once(path: Path) -> None:
    """The analysis of a tick comes after the write of its sample, so that a kill during the analysis loses no second."""
    writer = SessionWriter(path)
    for event in (HEADER, note(1), Sample(t_s=2.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled", settled=True)):
        writer.write(event)
    assert len(lines_of(path)) == 3


def test_events_are_buffered_until_flushed_but_marks_and_the_end_are_not(path: Path) -> None:
    writer = SessionWriter(path)
    writer.write(HEADER)
    writer.write(note(1))
    assert len(lines_of(path)) == 1
    writer.flush()
    assert len(lines_of(path)) == 2
    writer.write(note(2))
    writer.write(MARK)
    assert len(lines_of(path)) == 4
    writer.write(Ended(t_s=4.0, reason="quit"))
    assert len(lines_of(path)) == 5
    writer.write(note(5))
    writer.close()
    assert [type(event).__name__ for event in read(path)][-1] == "Ended"


def test_the_log_is_synced_every_five_seconds_and_at_marks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, synced_at = HandClock(), list[float]()
    fsync = os.fsync

    def recorded_fsync(fd: int) -> None:
        synced_at.append(clock.now_s)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    writer = SessionWriter(path, clock)
    writer.write(HEADER)
    for tick in range(1, 20):
        clock.now_s = tick * 0.99  # ticks are slightly less than a second apart
        writer.write(MARK if tick == 7 else note(tick))
        writer.flush()
    writer.close()
    assert all(later - earlier <= 5 for earlier, later in zip(synced_at, synced_at[1:], strict=False))
    assert 7 * 0.99 in synced_at
    assert len(synced_at) < 10


def test_an_existing_file_is_never_written_to(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(LogWriteError, match=r"session\.jsonl: the session log cannot be created: File exists"):
        SessionWriter(path)
    assert path.read_text() == "mine"


def test_a_new_session_is_named_by_its_start_and_profile(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "sessions"
    name, path = new_path(folder, "mixed", datetime(2026, 1, 31, 9, 5, 7))
    assert path == folder / f"{name}.jsonl"
    assert name.startswith("20260131-090507-mixed-")
    assert folder.is_dir()
    assert not path.exists()
    assert new_path(folder, "mixed", datetime(2026, 1, 31, 9, 5, 7))[0] != name


@pytest.mark.parametrize(
    ("profile", "part"),
    [("../../etc/passwd", "-etc-passwd-"), ("my profile!", "-my-profile-"), ("é", "-session-"), ("x" * 300, f"-{'x' * 40}-")],
)
def test_the_name_of_a_profile_cannot_place_the_log_outside_of_the_folder(tmp_path: Path, profile: str, part: str) -> None:
    name, path = new_path(tmp_path, profile, datetime(2026, 1, 31, 9, 5, 7))
    assert part in name
    assert path.parent == tmp_path
