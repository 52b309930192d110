"""What was recorded stays, whatever happens to the process and the disk."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from programs import require

from capexplorer.errors import LogWriteError
from capexplorer.model.events import Ended, Mark, Note, Sample
from capexplorer.model.findings import Cause
from capexplorer.session.canonical import canonical
from capexplorer.session.codec import decode
from capexplorer.session.names import new_path
from capexplorer.session.reader import open_session, read
from capexplorer.session.writer import SessionWriter

from .samples import HEADER, ONE_OF_EACH, log_lines

ROOT = Path(__file__).parents[2]
IMPORTED_FROM = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
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


def note(index: int) -> Note:
    return Note(t_s=float(index), text=f"{index} " + "x" * 200)


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """The kernel stops writes here, in the middle of a line too: a full disk for one process (EFBIG, not ENOSPC)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


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


def test_a_name_that_was_taken_meanwhile_is_not_overwritten(path: Path) -> None:
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


def test_a_sample_is_with_the_operating_system_at_once(path: Path) -> None:
    """What follows in its tick, the search for knees and causes, once came before, and a kill in it cost one more second."""
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


def test_it_is_synced_every_five_seconds_and_at_marks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, synced_at = HandClock(), list[float]()
    fsync = os.fsync

    def noted_fsync(fd: int) -> None:
        synced_at.append(clock.now_s)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    writer = SessionWriter(path, clock)
    writer.write(HEADER)
    for tick in range(1, 20):
        clock.now_s = tick * 0.99  # ticks are never quite a second apart
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


def test_closing_tries_once_more(path: Path) -> None:
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
def test_wherever_the_disk_fills_up_the_file_ends_with_a_whole_line(path: Path, room_bytes: int) -> None:
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


def on_a_disk_of_512_kb(tmp_path: Path, script: str, before: str) -> list[str]:
    """Run `script` with a tmpfs in a mount namespace of its own as argument, after the command `before` in there."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "script.py").write_text(script)
    mount = "mount -t tmpfs -o size=512k tmpfs disk || exit 77"
    shell = f"{mount}; (cd disk && {before}); exec {sys.executable} script.py {tmp_path / 'disk'}"
    require("unshare")
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", shell],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": IMPORTED_FROM},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


FILL_A_DISK = """
import os, sys
from pathlib import Path
from capexplorer.errors import LogWriteError
from capexplorer.session.reader import open_session
from capexplorer.session.writer import SessionWriter
from tests.session.samples import HEADER
from tests.session.test_writer import note

folder = Path(sys.argv[1])
writer = SessionWriter(folder / "session.jsonl")
writer.write(HEADER)
ballast = folder / "ballast"
ballast.write_bytes(bytes(32 * 1024))
raised = []
for index in range(1000):
    try:
        writer.write(note(index))
        writer.flush()
    except LogWriteError as error:
        raised.append(str(error))
print(len(raised), raised[0])
with open_session(folder / "session.jsonl") as session:
    print(len(list(session)) > 10, session.notes)
ballast.unlink()
os.truncate(folder / "other", 0)
print(writer.retry())
writer.close()
with open_session(folder / "session.jsonl") as session:
    print(list(session) == [HEADER, *map(note, range(1000))], session.notes)
"""


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """Most of the disk is taken by another file, which then goes away."""
    reported, readable, retried, whole = on_a_disk_of_512_kb(tmp_path, FILL_A_DISK, "head -c 350000 /dev/zero > other")
    assert reported.startswith("1 ") and reported.endswith(
        "session.jsonl: the session log cannot be written: No space left on device"
    )
    assert readable == "True []"
    assert retried == "True"
    assert whole == "True []"


WRITE_AND_WAIT = """
import sys, time
from pathlib import Path
from capexplorer.session.writer import SessionWriter
from tests.session.samples import HEADER
from tests.session.test_writer import note

writer = SessionWriter(Path(sys.argv[1]))
writer.write(HEADER)
for index in range(500):
    writer.write(note(index))
    writer.flush()
writer.write(note(500))
print("ready", flush=True)
time.sleep(60)
"""


def test_a_killed_writer_loses_at_most_what_came_after_the_last_flush(path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE_AND_WAIT, str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": IMPORTED_FROM},
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    with open_session(path) as session:
        assert list(session) == [HEADER, *map(note, range(500))]
        assert session.notes == []


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
def test_a_profiles_name_cannot_lead_out_of_the_folder(tmp_path: Path, profile: str, part: str) -> None:
    name, path = new_path(tmp_path, profile, datetime(2026, 1, 31, 9, 5, 7))
    assert part in name
    assert path.parent == tmp_path


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LogWriteError, match=r"file/sessions: the sessions folder cannot be made: Not a directory$"):
        new_path(tmp_path / "file" / "sessions", "mixed", datetime(2026, 1, 31))
    with pytest.raises(LogWriteError, match=r"file: the sessions folder cannot be made: File exists$"):
        new_path(tmp_path / "file", "mixed", datetime(2026, 1, 31))


WRITE_INTO_A_READ_ONLY_FOLDER = """
import sys
from datetime import datetime
from pathlib import Path
from capexplorer.errors import LogWriteError
from capexplorer.session.names import new_path
from capexplorer.session.writer import SessionWriter

folder = Path(sys.argv[1])
for attempt in (
    lambda: new_path(folder, "mixed", datetime(2026, 1, 31)),
    lambda: new_path(folder / "deeper", "mixed", datetime(2026, 1, 31)),
    lambda: SessionWriter(folder / "x.jsonl"),
):
    try:
        attempt()
    except LogWriteError as error:
        print(str(error).removeprefix(str(folder)))
"""


def test_a_folder_that_is_not_writable_is_one_clear_line(tmp_path: Path) -> None:
    assert on_a_disk_of_512_kb(tmp_path, WRITE_INTO_A_READ_ONLY_FOLDER, "mount -o remount,ro .") == [
        ": the sessions folder is not writable",
        "/deeper: the sessions folder cannot be made: Read-only file system",
        "/x.jsonl: the session log cannot be created: Read-only file system",
    ]


def test_a_missing_folder_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(LogWriteError, match=r"x\.jsonl: the session log cannot be created: No such file or directory$"):
        SessionWriter(tmp_path / "gone" / "x.jsonl")
