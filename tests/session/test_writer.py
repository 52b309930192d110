"""The writer of session logs: what is written when; nothing recorded is lost if the disk is full or the log is removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from kit.scenario import HEADER, log_lines

from capexplorer.errors import InputError, LogWriteError
from capexplorer.model.events import Ended, Mark, Sample
from capexplorer.model.findings import Cause
from capexplorer.session.canonical import canonical
from capexplorer.session.codec import decode
from capexplorer.session.files import make_folder, new_path
from capexplorer.session.reader import open_session, read
from capexplorer.session.writer import SessionWriter

from .samples import ONE_OF_EACH, note
from .small_disks import file_size_limit, on_a_disk_of_512_kb

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
    name, path = new_path(tmp_path, "mixed", datetime(2026, 1, 31, 9, 5, 7))
    assert path == tmp_path / f"{name}.jsonl"
    assert name.startswith("20260131-090507-mixed-")
    assert not path.exists()
    assert new_path(tmp_path, "mixed", datetime(2026, 1, 31, 9, 5, 7))[0] != name


@pytest.mark.parametrize(
    ("profile", "part"),
    [("../../etc/passwd", "-etc-passwd-"), ("my profile!", "-my-profile-"), ("é", "-session-"), ("x" * 300, f"-{'x' * 40}-")],
)
def test_the_name_of_a_profile_cannot_place_the_log_outside_of_the_folder(tmp_path: Path, profile: str, part: str) -> None:
    name, path = new_path(tmp_path, profile, datetime(2026, 1, 31, 9, 5, 7))
    assert part in name
    assert path.parent == tmp_path


def test_the_file_appears_with_its_whole_header_or_never(tmp_path: Path, path: Path) -> None:
    SessionWriter(path).close()
    assert list(tmp_path.iterdir()) == []
    writer = SessionWriter(path)
    assert list(tmp_path.iterdir()) == []
    with file_size_limit(10), pytest.raises(LogWriteError):
        writer.write(HEADER)
    assert list(tmp_path.iterdir()) == []
    assert writer.retry()
    assert lines_of(path) == log_lines([HEADER])
    writer.close()


def test_a_full_disk_is_reported_once_and_leaves_whole_lines_and_loses_nothing(path: Path) -> None:
    writer = SessionWriter(path)
    writer.write(HEADER)
    with file_size_limit(path.stat().st_size + 1000):
        for index in range(10):
            writer.write(note(index))
        with pytest.raises(LogWriteError, match=r"session\.jsonl: the session log cannot be written: File too large"):
            writer.flush()
        assert path.read_bytes().endswith(b"\n")
        assert len(lines_of(path)) > 2
        with open_session(path) as session:
            assert len(list(session)) == len(lines_of(path))
            assert session.notes == []
        writer.write(MARK)  # reported once: neither of these raises again
        writer.flush()
        assert not writer.retry()
        assert isinstance(writer.failure, LogWriteError)
    assert writer.retry()
    assert writer.failure is None
    writer.write(note(11))
    writer.close()
    assert list(read(path)) == [HEADER, *map(note, range(10)), MARK, note(11)]


def test_a_second_failure_after_a_recovery_is_reported_again(path: Path) -> None:
    writer = SessionWriter(path)
    writer.write(HEADER)
    for round_ in range(2):
        with file_size_limit(path.stat().st_size + 100):
            writer.write(note(round_))
            with pytest.raises(LogWriteError):
                writer.flush()
        assert writer.retry()
    writer.close()
    assert list(read(path)) == [HEADER, note(0), note(1)]


def remove(path: Path) -> None:
    path.unlink()


def remove_its_folder(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()


def move(path: Path) -> None:
    path.rename(path.with_name("moved.jsonl"))


def replace(path: Path) -> None:
    (edited := path.with_name("edited")).write_text("edited")
    edited.replace(path)


@pytest.mark.parametrize("leave", [remove, remove_its_folder, move, replace])
@pytest.mark.parametrize("end", [SessionWriter.flush, SessionWriter.close])
def test_a_log_that_is_gone_is_made_again_with_everything_recorded(
    tmp_path: Path, leave: Callable[[Path], None], end: Callable[[SessionWriter], None]
) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "session.jsonl"
    writer = SessionWriter(path)
    writer.write(HEADER)
    writer.write(note(0))
    writer.flush()
    leave(path)
    writer.write(note(1))
    end(writer)
    assert list(read(path)) == [HEADER, note(0), note(1)]
    assert (writer.made_again, writer.failure, path.stat().st_mode & 0o777) == (1, None, 0o600)
    writer.close()


def test_what_took_the_place_of_a_log_is_kept(path: Path) -> None:
    writer = SessionWriter(path)
    writer.write(HEADER)
    replace(path)
    writer.close()
    assert path.with_name("session.jsonl.replaced").read_text() == "edited"
    assert list(read(path)) == [HEADER]


def test_a_log_that_cannot_be_made_again_is_a_failure_until_it_can(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "session.jsonl"
    path.parent.mkdir()
    writer = SessionWriter(path)
    writer.write(HEADER)
    remove_its_folder(path)
    path.parent.write_text("a file in place of the folder")
    with pytest.raises(LogWriteError, match=r"session\.jsonl: the session log cannot be written: Not a directory"):
        writer.flush()
    writer.write(note(0))
    assert not writer.retry()
    path.parent.unlink()
    assert writer.retry()
    writer.close()
    assert list(read(path)) == [HEADER, note(0)]


def test_a_log_that_another_program_shortens_is_a_failure_at_once(path: Path) -> None:
    writer = SessionWriter(path)
    writer.write(HEADER)
    os.truncate(path, 10)
    with pytest.raises(LogWriteError, match="another program has shortened it"):
        writer.flush()
    writer.close()
    assert writer.failure is not None


def test_a_reader_of_a_growing_log_follows_it_when_it_is_made_again(path: Path) -> None:
    writer = SessionWriter(path)
    writer.write(HEADER)
    writer.write(note(0))
    writer.flush()
    with open_session(path) as session:
        assert [event for _, event in session.read_on(wait=True)] == [note(0)]
        path.unlink()
        writer.write(note(1))
        assert session.read_on(wait=True) == []
        writer.flush()
        assert [event for _, event in session.read_on(wait=True)] == [note(1)]
        assert session.notes == []
    writer.close()


def test_closing_tries_to_write_once_more(path: Path) -> None:
    writer = SessionWriter(path)
    writer.write(HEADER)
    with file_size_limit(path.stat().st_size + 100):
        writer.write(note(0))
        with pytest.raises(LogWriteError):
            writer.flush()
    writer.close()
    assert writer.failure is None
    assert list(read(path)) == [HEADER, note(0)]


@pytest.mark.parametrize("room_bytes", range(0, 460, 7))
def test_when_the_disk_fills_up_the_file_ends_with_a_whole_line(path: Path, room_bytes: int) -> None:
    writer = SessionWriter(path)
    writer.write(HEADER)
    size_bytes = path.stat().st_size
    writer.write(note(1))
    writer.write(note(2))
    with file_size_limit(size_bytes + room_bytes), pytest.raises(LogWriteError):
        writer.flush()
    assert [decode(line) for line in lines_of(path)] == [HEADER, note(1), note(2)][: len(lines_of(path))]
    assert writer.retry()
    writer.close()
    assert list(read(path)) == [HEADER, note(1), note(2)]


def test_a_sessions_folder_that_cannot_be_made_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/sessions: the sessions folder cannot be made: Not a directory; choose another "):
        make_folder(tmp_path / "file" / "sessions")
    with pytest.raises(InputError, match=r"file: the sessions folder cannot be made: File exists; choose another "):
        make_folder(tmp_path / "file")


WRITE_INTO_A_READ_ONLY_FOLDER = """
import sys
from collections.abc import Callable
from pathlib import Path
from capexplorer.errors import CapexplorerError
from capexplorer.session.files import make_folder
from capexplorer.session.writer import SessionWriter

folder = Path(sys.argv[1])
for attempt in (
    lambda: make_folder(folder),
    lambda: make_folder(folder / "deeper"),
    lambda: SessionWriter(folder / "x.jsonl"),
):
    try:
        attempt()
    except CapexplorerError as error:
        print(str(error).removeprefix(str(folder)).partition(";")[0])
"""


def test_a_sessions_folder_that_is_not_writable_is_reported_in_one_line(tmp_path: Path) -> None:
    assert on_a_disk_of_512_kb(tmp_path, WRITE_INTO_A_READ_ONLY_FOLDER, "mount -o remount,ro .") == [
        ": the sessions folder is not writable",
        "/deeper: the sessions folder cannot be made: Read-only file system",
        "/x.jsonl: the session log cannot be created: Read-only file system",
    ]


def test_a_missing_folder_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(LogWriteError, match=r"x\.jsonl: the session log cannot be created: No such file or directory$"):
        SessionWriter(tmp_path / "gone" / "x.jsonl")
