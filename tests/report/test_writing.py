"""Writing reports: permissions, overwriting only with `force`, all files or none, and errors in one line."""

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
    """The usual umask 022, under which files are readable by all users by default."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def permissions(path: Path) -> int:
    """The permission bits of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)


def test_new_files_and_folders_are_private_with_the_usual_umask(tmp_path: Path, umask: None) -> None:
    write_file(tmp_path / "a.md", b"a", force=False)
    write_folder(tmp_path / "csv", {"levels.csv": b"b"}, force=False)
    assert [permissions(tmp_path / name) for name in ("a.md", "csv", "csv/levels.csv")] == [0o600, 0o700, 0o600]


def test_an_overwritten_file_keeps_its_permissions(tmp_path: Path, umask: None) -> None:
    path = tmp_path / "shared.md"
    path.write_text("old")
    path.chmod(0o664)
    write_file(path, b"new", force=True)
    assert (path.read_text(), permissions(path)) == ("new", 0o664)


def test_a_file_is_overwritten_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("old")
    with pytest.raises(AlreadyThere, match="a.md: exists already; --force overwrites it"):
        write_file(path, b"new", force=False)
    assert path.read_text() == "old"
    write_file(path, b"new", force=True)
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.md"], "no temporary file is left"


def test_no_file_is_written_if_one_of_several_exists(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("old")
    with pytest.raises(AlreadyThere, match="a.svg"):
        write_files(tmp_path / "a.md", {"a.md": b"m", "a.svg": b"s"}, force=False)
    assert os.listdir(tmp_path) == ["a.svg"]


def test_overwriting_a_symbolic_link_replaces_the_file_that_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    write_file(tmp_path / "link.md", b"new", force=True)
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == "new"


def test_a_new_or_empty_folder_is_written_without_force(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o700)
    for name in ("new", "empty"):
        write_folder(tmp_path / name, {"a": b"1", "b": b"2"}, force=False)
        assert sorted(os.listdir(tmp_path / name)) == ["a", "b"]
    assert permissions(tmp_path / "empty") == 0o700
    assert sorted(os.listdir(tmp_path)) == ["empty", "new"], "no temporary file is left"


def test_a_folder_that_is_not_empty_needs_force_and_keeps_its_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(AlreadyThere, match="is not empty"):
        write_folder(folder, {"a": b"1"}, force=False)
    write_folder(folder, {"a": b"1"}, force=True)
    assert sorted(os.listdir(folder)) == ["a", "mine.txt"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no/x", "there is no folder .*/no$"),
        ("x" * 300, "cannot be written: File name too long"),
        ("a\0b", "cannot be written"),
        (".", "is a folder"),
        ("/dev/null", "not a regular file"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_in_one_line(path: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        write_file(tmp_path / path, b"", force=True)
    assert os.listdir(tmp_path) == []
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize(("path", "message"), [("no/x", "there is no folder .*/no$"), ("file", "is no folder")])
def test_a_folder_that_cannot_be_written_is_refused_in_one_line(path: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=message):
        write_folder(tmp_path / path, {"a": b"1"}, force=True)
