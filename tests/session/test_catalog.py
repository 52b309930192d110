"""Saved sessions: how they are listed and kept in a folder's `.catalog`, and how one is found by name."""

from __future__ import annotations

import os
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from kit.scenario import HEADER, second

from capexplorer import __version__, paths
from capexplorer.errors import SessionError
from capexplorer.model.events import Ended, Event, LevelOpened, Note, TargetFacts
from capexplorer.model.sources import SessionEntry
from capexplorer.session import catalog, files
from capexplorer.session.catalog import find, list_sessions, logs
from capexplorer.session.writer import SessionWriter

from .samples import ONE_OF_EACH

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=1)))


def save(folder: Path, name: str, minutes: int = 0, events: tuple[Event, ...] = ONE_OF_EACH[1:]) -> Path:
    path = folder / f"{name}.jsonl"
    writer = SessionWriter(path)
    started_at = (NOON + timedelta(minutes=minutes)).isoformat()
    writer.write(msgspec.structs.replace(HEADER, id=name, started_at=started_at, target=TargetFacts(name="shop", url="")))
    for event in events:
        writer.write(event)
    writer.close()
    return path


def level(index: int) -> LevelOpened:
    return LevelOpened(t_s=1.0 + index, index=index, users=10, spawn_rate=10.0, by="plan")


def test_a_complete_session_is_listed_with_all_its_fields(tmp_path: Path) -> None:
    path = save(tmp_path, "a")
    (entry,) = list_sessions([tmp_path])
    assert msgspec.structs.asdict(entry) == {
        "id": "a",
        "path": path,
        "size_bytes": path.stat().st_size,
        "started_at": "2026-01-01T12:00:00+01:00",
        "profile": "mixed",
        "target": "shop",
        "label": "before the fix ✂",
        "duration_s": 4.1,
        "levels": 1,
        "complete": True,
        "problem": None,
    }


def test_sessions_are_listed_newest_first(tmp_path: Path) -> None:
    for name, minutes in (("a", 5), ("b", 9), ("c", 1)):
        save(tmp_path, name, minutes)
    assert [entry.id for entry in list_sessions([tmp_path])] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("events", "levels", "duration_s"),
    [
        ((), 0, 0.0),
        ((level(0), level(1)), 2, 2.0),
        ((level(0), second(7.0, level=0), second(8.0, level=0), Note(t_s=8.5, text="")), 1, 8.5),
    ],
)
def test_a_session_without_an_end_is_listed_with_its_levels_and_duration_so_far(
    tmp_path: Path, events: tuple[Event, ...], levels: int, duration_s: float
) -> None:
    path = save(tmp_path, "a", events=events)
    with path.open("ab") as file:
        file.write(b'{"type":"sample","t_s":9')
    (entry,) = list_sessions([tmp_path])
    assert (entry.complete, entry.levels, entry.duration_s) == (False, levels, duration_s)


def test_only_the_begin_and_the_end_of_a_long_log_are_read(tmp_path: Path) -> None:
    many = tuple(Note(t_s=float(index), text="x" * 1000) for index in range(500))
    path = save(tmp_path, "a", events=(level(0), *many, second(600.0, level=3)))
    with path.open("r+b") as file:
        file.seek(100_000)
        file.write(b"\0" * 200_000)
    (entry,) = list_sessions([tmp_path])
    assert (entry.levels, entry.duration_s, entry.problem) == (4, 600.0, None)


def test_a_last_line_longer_than_the_read_part_leaves_figures_unknown(tmp_path: Path) -> None:
    save(tmp_path, "a", events=(level(0), Note(t_s=9.0, text="x" * 100_000)))
    (entry,) = list_sessions([tmp_path])
    assert (entry.levels, entry.duration_s, entry.complete, entry.problem) == (None, None, False, None)


def test_files_that_cannot_be_opened_are_listed_with_their_problem(tmp_path: Path) -> None:
    save(tmp_path, "good")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "binary.jsonl").write_bytes(bytes(range(256)))
    (tmp_path / "newer.jsonl").write_bytes(b'{"type":"header","t_s":0,"schema":99}\n')
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "README.md").write_text("not a session")
    problems = {entry.id: entry.problem for entry in list_sessions([tmp_path])}
    assert problems == {
        "good": None,
        "empty": "empty: nothing was recorded",
        "binary": "not a session log: its first line is no header",
        "newer": f"has format 99, written by an unknown version; capexplorer {__version__} reads format 2",
        "folder": "a folder, not a session",
        "pipe": "not a regular file",
    }


def test_a_folder_that_does_not_exist_has_no_sessions(tmp_path: Path) -> None:
    assert list_sessions([tmp_path / "none"]) == []
    with pytest.raises(SessionError, match="no session `last`: none can be opened in .*none$"):
        find("last", [tmp_path / "none"])
    with pytest.raises(SessionError, match="no session `x` in .*none; `sample` comes with capexplorer$"):
        find("x", [tmp_path / "none"])


def test_a_session_is_found_by_path_id_beginning_and_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older = save(tmp_path, "20260101-120000-mixed-0a1b", 0)
    newer = save(tmp_path, "20260101-120500-mixed-77ff", 5)
    (tmp_path / "20260101-130000-mixed-dead.jsonl").write_bytes(b"")
    assert len(list_sessions([tmp_path])) == 3
    assert find("last", [tmp_path]) == newer
    assert find(older.stem, [tmp_path]) == older
    assert find("20260101-1200", [tmp_path]) == older
    assert find(str(newer), [tmp_path]) == newer
    assert find(newer.name, [tmp_path]) == newer
    monkeypatch.chdir(tmp_path)
    assert find(newer.name, [tmp_path]) == Path(newer.name)


def test_a_session_is_found_by_any_part_of_its_id_or_title_that_no_other_has(tmp_path: Path) -> None:
    older = save(tmp_path, "20260101-120000-mixed-0a1b", 0)
    newer = save(tmp_path, "20260101-120500-mixed-77ff", 5)
    files.write_title(older, "Prior to the Fix")
    for part in ("0a1b", "prior", "TO THE F"):
        assert find(part, [tmp_path]) == older
    assert find("77f", [tmp_path]) == newer
    with pytest.raises(SessionError, match="`mixed` is not unique: "):
        find("mixed", [tmp_path])


def test_last_with_a_number_counts_back_by_the_time_of_the_begin(tmp_path: Path) -> None:
    older = save(tmp_path, "z-older", 0)
    newer = save(tmp_path, "a-newer", 5)
    assert [find(name, [tmp_path]) for name in ("last", "last-0", "last-1")] == [newer, newer, older]
    with pytest.raises(SessionError, match="no session `last-2`: 2 can be opened in "):
        find("last-2", [tmp_path])
    with pytest.raises(SessionError, match="the last is `a-newer`"):
        find("????", [tmp_path])


@pytest.fixture
def both(tmp_path: Path) -> list[Path]:
    """Two folders: that of new sessions, and an earlier one."""
    folders = [tmp_path / "new", tmp_path / "earlier"]
    for folder in folders:
        folder.mkdir()
    return folders


def test_sessions_of_several_folders_are_one_list(both: list[Path]) -> None:
    new, earlier = both
    first, last, middle = save(earlier, "x-1", 1), save(earlier, "y-9", 9), save(new, "z-5", 5)
    files.write_title(first, "before the move")
    assert [entry.path for entry in list_sessions(both)] == [last, middle, first]
    assert [find(name, both) for name in ("last", "last-1", "last-2")] == [last, middle, first]
    for name, path in {"x-1": first, "x": first, "the MOVE": first, "z-5": middle, first.name: first}.items():
        assert find(name, both) == path
    assert logs(both) == {"x-1": first, "y-9": last, "z-5": middle}
    with pytest.raises(SessionError, match=r"no session `q` in .*/new and .*/earlier; the last is `y-9`$"):
        find("q", both)


def test_of_two_sessions_with_the_same_id_that_of_the_first_folder_counts(both: list[Path]) -> None:
    new, earlier = both
    copied, also = save(new, "a", 1), save(earlier, "a", 1)
    assert [entry.path for entry in list_sessions(both)] == [copied]
    assert find("a", both) == find("a.jsonl", both) == find("last", both) == copied
    catalog.delete(copied)
    assert find("a", both) == also


def test_a_folder_that_cannot_be_read_is_named(both: list[Path]) -> None:
    both[0].rmdir()
    both[0].write_text("a file in its place")
    for read in (list_sessions, logs):
        with pytest.raises(SessionError, match="new: the sessions folder cannot be read: Not a directory"):
            read(both)


def test_the_sample_sessions_of_the_product_are_found_from_any_folder(tmp_path: Path) -> None:
    """From a wheel, sessions are saved in the user's data folder, where there are no samples."""
    assert find("sample", [tmp_path]) == paths.sample_sessions()["sample"]
    own = tmp_path / "sample.jsonl"
    own.write_bytes(b"")
    assert find("sample", [tmp_path]) == own


def test_an_id_that_is_a_prefix_of_another_finds_its_own_session(tmp_path: Path) -> None:
    assert save(tmp_path, "a") == find("a", [tmp_path])
    save(tmp_path, "ab")
    assert find("a", [tmp_path]) == tmp_path / "a.jsonl"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("2026", r"session `2026` is not unique: 20260101-mixed-0a1b, 20260102-mixed-77ff$"),
        ("20260102-mixde-77ff", r"no session `20260102-mixde-77ff` in .*; did you mean `20260102-mixed-77ff`\?$"),
        ("zzz", r"no session `zzz` in .*; the last is `20260102-mixed-77ff`$"),
        ("smaple", r"no session `smaple` in .*; did you mean `sample`\?$"),
        ("", r"no session `` in "),
        ("gone.jsonl", r"gone\.jsonl: no such session$"),
        ("some/where", r"some/where: no such session$"),
    ],
)
def test_an_unknown_or_ambiguous_name_is_refused_with_a_message(tmp_path: Path, name: str, message: str) -> None:
    save(tmp_path, "20260101-mixed-0a1b")
    save(tmp_path, "20260102-mixed-77ff")
    with pytest.raises(SessionError, match=message):
        find(name, [tmp_path])


def test_the_levels_of_a_complete_session_are_those_that_its_end_states(tmp_path: Path) -> None:
    save(tmp_path, "a", events=(level(0), level(1), Ended(t_s=9.0, reason="SIGINT", levels=2, signal="SIGINT")))
    (entry,) = list_sessions([tmp_path])
    assert (entry.levels, entry.complete, entry.duration_s) == (2, True, 9.0)


SAMPLES = sorted(paths.sample_sessions().values())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for index, sample in enumerate(SAMPLES[:3]):
        shutil.copyfile(sample, tmp_path / f"s{index}.jsonl")
    return tmp_path


def reads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the logs that are read to list the folder."""
    read: list[str] = []
    original = catalog.entry_of

    def recording(path: Path) -> SessionEntry | None:
        read.append(path.name)
        return original(path)

    monkeypatch.setattr(catalog, "entry_of", recording)
    list_sessions([folder])
    return sorted(read)


def test_the_second_list_reads_no_log_and_is_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = list_sessions([folder])
    assert reads(folder, monkeypatch) == []
    assert list_sessions([folder]) == first


def test_a_changed_log_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    list_sessions([folder])
    os.utime(folder / "s1.jsonl", (1, 1))
    (folder / "s2.jsonl").write_bytes(b"not a session\n")
    assert reads(folder, monkeypatch) == ["s1.jsonl", "s2.jsonl"]
    assert [entry.id for entry in list_sessions([folder]) if entry.problem] == ["s2"]


def test_a_deleted_log_is_not_listed(folder: Path) -> None:
    list_sessions([folder])
    (folder / "s0.jsonl").unlink()
    assert {entry.id for entry in list_sessions([folder])} == {"s1", "s2"}


def test_a_log_without_an_end_is_read_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = folder / "s1.jsonl"
    log.write_bytes(b"\n".join(log.read_bytes().splitlines()[:-1]) + b"\n")
    list_sessions([folder])
    assert reads(folder, monkeypatch) == ["s1.jsonl"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"version":99,"sessions":{"s0.jsonl":[1]}}', b"\xff\xfe"])
def test_a_damaged_catalog_is_ignored(folder: Path, content: bytes) -> None:
    expected = list_sessions([folder])
    (folder / catalog.NAME).write_bytes(content)
    assert list_sessions([folder]) == expected


def test_a_folder_that_cannot_be_written_to_is_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(catalog, "write_whole", refuse)
    assert len(list_sessions([folder])) == 3
