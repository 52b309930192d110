"""The store of baselines: the latest session of the same profile and environment, what is replaced, and what is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.scenario import Scenario, header

from capexplorer.errors import LogWriteError
from capexplorer.model.events import Header
from capexplorer.session.baseline_store import KEPT, BaselineStore


def log(folder: Path, number: int, **changes: Any) -> tuple[Path, Header]:
    """The log of a session that began in this minute, and its header."""
    usual = {"id": f"s{number:02}", "started_at": f"2026-01-01T12:{number:02}:00+00:00", "label": f"v{number}"}
    made = header(**(usual | changes))
    folder.mkdir(exist_ok=True)
    Scenario(made).level(users=4, rps=90).write(path := folder / f"{made.id}.jsonl")
    return path, made


@pytest.fixture
def store(tmp_path: Path) -> BaselineStore:
    return BaselineStore(tmp_path / "store")


def kept(store: BaselineStore) -> list[str]:
    return sorted(path.stem for path in store.folder.rglob("*.jsonl"))


def test_the_latest_session_of_a_profile_is_found_whatever_the_order(store: BaselineStore, tmp_path: Path) -> None:
    _, mine = log(tmp_path / "logs", 9)
    assert store.latest(mine) is None
    for number in (3, 5, 4):
        store.keep(log(tmp_path / "logs", number)[0])
    store.keep(log(tmp_path / "logs", 7, profile={"name": "other"})[0])
    found = store.latest(mine)
    assert found is not None
    assert found == store.folder / "mixed" / "s05.jsonl"
    assert found.read_bytes() == (tmp_path / "logs" / "s05.jsonl").read_bytes()


def test_the_latest_is_the_one_that_began_last_whatever_its_time_zone(store: BaselineStore, tmp_path: Path) -> None:
    store.keep(log(tmp_path / "logs", 1, started_at="2026-01-01T11:30:00+00:00")[0])
    store.keep(log(tmp_path / "logs", 2, started_at="2026-01-01T12:10:00+01:00")[0])
    store.keep(log(tmp_path / "logs", 3, started_at="")[0])
    found = store.latest(log(tmp_path / "logs", 9)[1])
    assert found is not None
    assert found.stem == "s01"


def test_sessions_of_another_kind_of_machine_are_no_baseline_and_are_named(store: BaselineStore, tmp_path: Path) -> None:
    store.keep(log(tmp_path / "logs", 1, host={"cpu_model": "Xeon", "cpus": 4})[0])
    _, mine = log(tmp_path / "logs", 2, host={"cpu_model": "EPYC", "cpus": 4})
    assert store.latest(mine) is None
    assert "Xeon 4" in store.why_none(mine)
    _, same = log(tmp_path / "logs", 3, host={"cpu_model": "Xeon", "cpus": 4, "name": "another-runner"})
    assert store.latest(same) is not None


def test_a_session_is_not_its_own_baseline(store: BaselineStore, tmp_path: Path) -> None:
    path, mine = log(tmp_path / "logs", 1)
    store.keep(path)
    assert store.latest(mine) is None


def test_one_session_of_a_label_is_kept_and_at_most_so_many_of_a_profile(store: BaselineStore, tmp_path: Path) -> None:
    for number in (1, 2):
        store.keep(log(tmp_path / "logs", number, label="same")[0])
    assert kept(store) == ["s02"]
    for number in range(3, 3 + KEPT):
        store.keep(log(tmp_path / "logs", number)[0])
    assert kept(store) == [f"s{number:02}" for number in range(3, 3 + KEPT)]


def test_foreign_files_are_named_in_one_line_and_left_alone(store: BaselineStore, tmp_path: Path) -> None:
    path, mine = log(tmp_path / "logs", 1)
    assert store.left_alone(mine) == ""
    (store.folder / "mixed" / "folder").mkdir(parents=True)
    assert store.left_alone(mine).startswith(f"{store.folder / 'mixed' / 'folder'}: ")
    (notes := store.folder / "mixed" / "notes.txt").write_text("mine")
    (damaged := store.folder / "mixed" / "z.jsonl").write_text("{}")
    for number in range(2, 4 + KEPT):
        store.keep(log(tmp_path / "logs", number)[0])
    assert store.latest(mine) is not None
    assert store.left_alone(mine).startswith(f"{store.folder / 'mixed' / 'folder'} and 2 more: ")
    assert (notes.read_text(), damaged.read_text()) == ("mine", "{}")


def test_a_store_that_cannot_be_written_is_an_error_in_one_line(store: BaselineStore, tmp_path: Path) -> None:
    path, _ = log(tmp_path / "logs", 1)
    (there := store.folder / "mixed" / path.name).mkdir(parents=True)
    with pytest.raises(LogWriteError, match=rf"^{there}: .*: Is a directory$"):
        store.keep(path)
    (tmp_path / "file").write_text("")
    with pytest.raises(LogWriteError, match="file"):
        BaselineStore(tmp_path / "file").keep(path)
