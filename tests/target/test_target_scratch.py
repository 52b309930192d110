"""A target's scratch folder: created if its command needs one, private, removed with the session or, after a crash, by the
next."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from capexplorer.errors import TargetError
from capexplorer.target import place
from capexplorer.target.spec import load_spec


def spec_of(folder: Path, command: str) -> bool:
    folder.mkdir(exist_ok=True)
    (folder / "target.toml").write_text(f'title = "T"\ncommand = {command}\n', encoding="utf-8")
    return load_spec(folder).uses_scratch


def test_a_target_needs_the_scratch_folder_if_its_command_has_the_placeholder(tmp_path: Path) -> None:
    assert spec_of(tmp_path / "a", '["serve", "--data", "{scratch}/tasks"]')
    assert not spec_of(tmp_path / "b", '["serve", "{port}"]')


def test_the_placeholder_becomes_the_path_of_the_scratch_folder(tmp_path: Path) -> None:
    spec_of(tmp_path / "a", '["serve", "{scratch}/tasks"]')
    spec = msgspec.structs.replace(load_spec(tmp_path / "a"), scratch=tmp_path / "own")
    assert spec.command_line({}, 8000) == ("serve", f"{tmp_path}/own/tasks")


def test_the_scratch_folder_is_kept_while_the_session_runs_and_removed_with_its_content(tmp_path: Path) -> None:
    folder = place.scratch_folder(tmp_path)
    place.make_scratch(folder)
    (folder / "tasks").mkdir()
    (folder / "tasks" / "1.json").write_text("{}")
    place.make_scratch(folder)  # the target restarts
    assert (folder / "tasks" / "1.json").exists()
    place.remove_scratch(folder)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_an_ended_process_that_nobody_reaped_is_cleared(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    left = tmp_path / f".scratch-{ended.pid}"
    left.mkdir()
    place.make_scratch(place.scratch_folder(tmp_path))
    assert not left.exists()
    ended.wait()


def test_a_scratch_folder_that_a_crash_left_is_removed_and_one_of_a_running_process_is_not(tmp_path: Path) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True)
    left, running = tmp_path / f".scratch-{gone.stdout.strip()}", tmp_path / f".scratch-{os.getppid()}"
    for folder in (left, running):
        folder.mkdir()
        (folder / "file").write_text("x")
    place.make_scratch(place.scratch_folder(tmp_path))
    assert not left.exists() and (running / "file").exists()


def test_a_scratch_folder_that_cannot_be_made_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetError) as caught:
        place.make_scratch(place.scratch_folder(tmp_path / "file"))
    assert "the target needs a folder to write in" in str(caught.value)


def test_the_scratch_folder_is_private_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        made = place.scratch_folder(tmp_path / "sessions")
        place.make_scratch(made)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (made.parent, made)] == [0o700, 0o700]
