"""What is printed after the screen has ended: the verdict, and commands for the session."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from report.made_sessions import judged

from capexplorer import configuration, paths, wording
from capexplorer.commands import afterwards
from capexplorer.commands.afterwards import print_session, printed_command, program_name, session_name
from capexplorer.model.timeline import Timeline


def test_a_session_in_the_sessions_folder_is_named_by_its_id_and_another_by_its_path(tmp_path: Path) -> None:
    assert session_name(paths.new_sessions() / "a.jsonl") == "a"
    assert session_name(tmp_path / "a.jsonl") == str(tmp_path / "a.jsonl")


def test_a_session_is_named_by_its_id_in_the_folder_of_the_configuration_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.toml").write_text(f'sessions_dir = "{tmp_path}"')
    monkeypatch.setenv(configuration.VARIABLE, str(tmp_path / "own.toml"))
    assert session_name(tmp_path / "a.jsonl") == "a"
    assert session_name(paths.new_sessions() / "a.jsonl") == str(paths.new_sessions() / "a.jsonl")


def test_without_a_home_folder_a_session_is_named_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_data_dir", "~/.local/share/{}".format)
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


@pytest.mark.parametrize("width", [20, 40, 60, 200])
def test_a_printed_command_is_what_a_shell_reads_at_any_width_of_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.isatty", lambda fd: True)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(afterwards, "program_name", lambda: "capexplorer")
    words = ["export", "a session's id", "--format", "html", "-o", "20260101-120000-mixed-0a1b.html"]
    printed = printed_command(*words)
    assert shlex.split(printed.replace("\\\n", "")) == ["capexplorer", *words]
    longest_word = len("    20260101-120000-mixed-0a1b.html")
    assert max(map(len, printed.splitlines())) <= max(width, longest_word)


def test_nothing_is_printed_for_a_session_that_was_not_saved(capsys: pytest.CaptureFixture[str]) -> None:
    print_session(Timeline(), None)
    assert capsys.readouterr() == ("", "")


def test_a_session_without_a_level_has_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_session(Timeline(), tmp_path / "my session.jsonl")
    errors = capsys.readouterr().err
    assert "verdict" not in errors
    assert f"replay '{tmp_path}/my session.jsonl'" in errors


def test_after_a_knee_the_load_to_stay_at_is_printed_in_lines_of_whole_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    timeline = Timeline(judged())
    print_session(timeline, tmp_path / "a.jsonl")
    (sentence,) = wording.operating_loads(timeline)
    printed = capsys.readouterr().err.partition("saved:")[0]
    assert f"recommended: {sentence}" in " ".join(printed.split())
    assert max(map(len, printed.splitlines())) <= 50
