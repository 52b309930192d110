"""Reports are written whole or not at all, and over nothing without leave."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.errors import InputError
from capexplorer.report.writing import AlreadyThere, write_file, write_files, write_folder


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_with_any_umask(tmp_path: Path, umask: None) -> None:
    write_file(tmp_path / "a.md", b"a", force=False)
    write_folder(tmp_path / "csv", {"levels.csv": b"b"}, force=False)
    assert [mode(tmp_path / name) for name in ("a.md", "csv", "csv/levels.csv")] == [0o600, 0o700, 0o600]


def test_an_overwritten_file_keeps_its_permissions(tmp_path: Path, umask: None) -> None:
    path = tmp_path / "shared.md"
    path.write_text("old")
    path.chmod(0o664)
    write_file(path, b"new", force=True)
    assert (path.read_text(), mode(path)) == ("new", 0o664)


def test_a_file_is_overwritten_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("old")
    with pytest.raises(AlreadyThere, match="a.md: exists already; --force overwrites it"):
        write_file(path, b"new", force=False)
    assert path.read_text() == "old"
    write_file(path, b"new", force=True)
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["a.md"]


def test_nothing_is_written_when_a_companion_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("old")
    with pytest.raises(AlreadyThere, match="a.svg"):
        write_files(tmp_path / "a.md", {"a.md": b"m", "a.svg": b"s"}, force=False)
    assert os.listdir(tmp_path) == ["a.svg"]


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    write_file(tmp_path / "link.md", b"new", force=True)
    assert (tmp_path / "link.md").is_symlink() and (tmp_path / "real.md").read_text() == "new"


def test_a_device_is_never_replaced() -> None:
    with pytest.raises(InputError, match="not a regular file"):
        write_file(Path("/dev/null"), b"x", force=True)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder .*/no$"):
        write_file(tmp_path / "no" / "x", b"", force=False)
    with pytest.raises(InputError, match="there is no folder .*/no$"):
        write_folder(tmp_path / "no" / "x", {}, force=False)


def test_an_error_of_the_operating_system_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: File name too long"):
        write_file(tmp_path / ("x" * 300), b"", force=False)
    with pytest.raises(InputError, match="cannot be written"):
        write_file(tmp_path / "a\0b", b"", force=False)
    assert os.listdir(tmp_path) == []


def test_a_folder_is_made_or_filled_when_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o700)
    for name in ("new", "empty"):
        write_folder(tmp_path / name, {"a": b"1", "b": b"2"}, force=False)
        assert sorted(os.listdir(tmp_path / name)) == ["a", "b"]
    assert mode(tmp_path / "empty") == 0o700 and sorted(os.listdir(tmp_path)) == ["empty", "new"]


def test_a_folder_that_holds_anything_needs_force_and_keeps_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(AlreadyThere, match="is not empty"):
        write_folder(folder, {"a": b"1"}, force=False)
    write_folder(folder, {"a": b"1"}, force=True)
    assert sorted(os.listdir(folder)) == ["a", "mine.txt"]


def test_a_file_where_a_folder_is_wanted_and_the_reverse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is no folder"):
        write_folder(tmp_path / "file", {"a": b"1"}, force=True)
    with pytest.raises(InputError, match="is a folder"):
        write_file(tmp_path, b"x", force=True)
