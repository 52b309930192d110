"""What is printed after the screen has ended: the verdict, and commands for the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer import paths
from capexplorer.commands.afterwards import print_session, program_name, session_name
from capexplorer.model.timeline import Timeline


def test_a_session_in_the_sessions_folder_is_named_by_its_id_and_another_by_its_path(tmp_path: Path) -> None:
    assert session_name(paths.sessions() / "a.jsonl") == "a"
    assert session_name(tmp_path / "a.jsonl") == str(tmp_path / "a.jsonl")


def test_the_program_is_named_so_that_the_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "capexplorer").touch(0o755)
    monkeypatch.setattr("sys.executable", str(folder / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert program_name() == "venv/bin/capexplorer"
    monkeypatch.chdir(folder / "..")
    assert program_name() == "bin/capexplorer"
    monkeypatch.setenv("PATH", str(folder))
    assert program_name() == "capexplorer"


def test_nothing_is_printed_for_a_session_that_was_not_saved(capsys: pytest.CaptureFixture[str]) -> None:
    print_session(Timeline(), None)
    assert capsys.readouterr() == ("", "")


def test_a_session_without_a_level_has_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_session(Timeline(), tmp_path / "my session.jsonl")
    errors = capsys.readouterr().err
    assert "verdict" not in errors
    assert f"replay '{tmp_path}/my session.jsonl'" in errors
