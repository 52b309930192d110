"""A folder's `.catalog`: listed logs are read again only if they have changed or have no end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from capexplorer import paths
from capexplorer.model.sources import SessionEntry
from capexplorer.session import catalog
from capexplorer.session.catalog import list_sessions

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
    list_sessions(folder)
    return sorted(read)


def test_the_second_list_reads_no_log_and_is_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = list_sessions(folder)
    assert reads(folder, monkeypatch) == []
    assert list_sessions(folder) == first


def test_a_changed_log_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    list_sessions(folder)
    os.utime(folder / "s1.jsonl", (1, 1))
    (folder / "s2.jsonl").write_bytes(b"not a session\n")
    assert reads(folder, monkeypatch) == ["s1.jsonl", "s2.jsonl"]
    assert [entry.id for entry in list_sessions(folder) if entry.problem] == ["s2"]


def test_a_deleted_log_is_not_listed(folder: Path) -> None:
    list_sessions(folder)
    (folder / "s0.jsonl").unlink()
    assert {entry.id for entry in list_sessions(folder)} == {"s1", "s2"}


def test_a_log_without_an_end_is_read_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = folder / "s1.jsonl"
    log.write_bytes(b"\n".join(log.read_bytes().splitlines()[:-1]) + b"\n")
    list_sessions(folder)
    assert reads(folder, monkeypatch) == ["s1.jsonl"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"version":99,"sessions":{"s0.jsonl":[1]}}', b"\xff\xfe"])
def test_a_damaged_catalog_is_ignored(folder: Path, content: bytes) -> None:
    expected = list_sessions(folder)
    (folder / catalog.NAME).write_bytes(content)
    assert list_sessions(folder) == expected


def test_a_folder_that_cannot_be_written_to_is_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(catalog, "write_whole", refuse)
    assert len(list_sessions(folder)) == 3
