"""`capexplorer sessions`: its table, and the commands that delete and rename."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from capexplorer import cli, paths
from capexplorer.commands.sessions import table
from capexplorer.session import files

WIDTHS = (40, 60, 80, 100, 140)


def row(name: str, title: str, **state: bool) -> dict[str, Any]:
    known = {"complete": True, "running": False, "recording": False, **state}
    return {
        "id": name, "title": title, "label": None, "profile": "mixed", "target": "mixed", "duration_s": 3_725.0, "levels": 12,
        "knee_users": 41.2, "best_goodput_rps": 1_234.5, "marks": 3, "damaged_lines": None, **known,
    }  # fmt: skip


ROWS = (
    row("20260101-120000-mixed-0a1b", "a title that is much longer than there is space for it in a line"),
    row("20260102-120000-a-profile-with-a-long-name-77ff", "after", complete=False, running=True),
)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_table_fits_the_terminal_with_whole_ids_and_states(width: int) -> None:
    lines = table(ROWS, width)
    assert max(map(len, lines)) <= max(width, len(ROWS[1]["id"]) + len("  running"))
    for line, each in zip(lines[1:], ROWS, strict=True):
        assert line.startswith(each["id"])
    assert lines[2].endswith("running")


def test_columns_are_left_out_by_importance_and_in_a_pipe_none_is() -> None:
    assert table(ROWS, None)[0].split() == ["id", "title", "profile", "target", "time", "levels", "knee", "best/s", "marks"]
    assert len(table(ROWS[:1], 80)[0].split()) < 9
    assert "knee" in table(ROWS[:1], 80)[0]
    assert "1:02:05" in table(ROWS, None)[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("20260101-120000-kv-0a1b", "20260102-120000-kv-77ff"):
        shutil.copy(paths.sample_sessions()["sample-kv"], tmp_path / f"{name}.jsonl")
    return tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes")
def test_a_name_that_is_not_utf8_hides_no_session(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    odd = folder / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    shutil.copy(folder / "20260101-120000-kv-0a1b.jsonl", odd / os.fsdecode(b"20260103-120000-kv\xff-99aa.jsonl"))
    shutil.copy(folder / "20260101-120000-kv-0a1b.jsonl", odd)
    for words in (["rename", "99aa", os.fsdecode(b"before\xff")], ["--json"], ["--json"]):  # the second time from the cache
        capsysbinary.readouterr()
        assert cli.run(["sessions", "--sessions-dir", str(odd), *words]) == 0
    rows = json.loads(capsysbinary.readouterr().out.decode("utf-8"))
    assert [(row["id"], row["title"]) for row in rows] == [
        ("20260103-120000-kv?-99aa", "before?"), ("20260101-120000-kv-0a1b", None)
    ]  # fmt: skip
    assert not [
        row
        for row in rows
        if any(each.encode("utf-8", "ignore").decode() != each for each in row.values() if isinstance(each, str))
    ]
    assert cli.run(["export", "before", "--sessions-dir", str(odd), "--format", "md"]) == 0


def saved(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.jsonl"))


def test_rename_gives_a_session_a_title_by_which_rm_finds_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["sessions", "--sessions-dir", str(folder), "rename", "77ff", "after the fix"]) == 0
    assert files.read_title(folder / "20260102-120000-kv-77ff.jsonl") == "after the fix"
    assert cli.run(["sessions", "rm", "AFTER", "--yes", "--sessions-dir", str(folder)]) == 0
    assert saved(folder) == ["20260101-120000-kv-0a1b"]
    assert list(folder.glob("*.title")) == []
    assert "after the fix" in capsys.readouterr().err


def test_rm_deletes_nothing_without_a_yes_or_if_one_name_is_wrong(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved(folder)
    monkeypatch.setattr("os.isatty", lambda descriptor: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda question: "n")
    assert cli.run(["--sessions-dir", str(folder), "sessions", "rm", "0a1b"]) == 130
    assert cli.run(["--sessions-dir", str(folder), "sessions", "rm", "0a1b", "gone", "--yes"]) == 2
    assert saved(folder) == before


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["sessions", "rm", "0a1b"], "--yes"),
        (["init"], "--request"),
        (["init", "http://127.0.0.1:9"], "--request"),
        (["run"], "-f"),
    ],
)
def test_a_command_that_cannot_ask_names_the_option_that_answers(
    words: list[str], option: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = saved(folder)
    monkeypatch.setattr("os.isatty", lambda descriptor: False)
    monkeypatch.chdir(folder)
    (folder / "locustfile.py").write_text("")
    assert cli.run(["--sessions-dir", str(folder), *words]) == 2
    assert option in capsys.readouterr().err
    assert saved(folder) == before


@pytest.mark.parametrize("words", [["rm", "sample", "--yes"], ["rename", "sample", "mine"]])
def test_a_sample_stays_as_it_is(words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--sessions-dir", str(folder), "sessions", *words]) == 2
    assert "session `sample` is a sample that comes with capexplorer" in capsys.readouterr().err
    assert paths.sample_sessions()["sample"].exists()
