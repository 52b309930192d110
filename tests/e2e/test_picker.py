"""The picker of profiles and saved sessions in a real terminal: it lists, searches, helps and starts a run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from capexplorer import paths

from .rig import PROGRAM, wait_until
from .tmux_rig import needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]


def test_the_picker_lists_and_saves_sessions_in_the_folder_of_sessions_dir(tmp_path: Path) -> None:
    sessions, working_folder = tmp_path / "sessions", tmp_path / "work"
    sessions.mkdir()
    working_folder.mkdir()
    shutil.copy(paths.sample_sessions()["sample-taskqueue"], sessions)
    shutil.copy(paths.profile("mixed"), working_folder / "zz-mine.toml")
    words = ["sh", "-c", f'exec "{PROGRAM}" --sessions-dir "{sessions}"', "sh"]  # in place of the words that `on_screen` adds
    with on_screen(tmp_path, size=(80, 24), cwd=working_folder, before=words) as screen:
        screen.wait_for_text("Profiles", "zz-mine")
        screen.press("?")
        screen.wait_for_text("go to the other list")
        screen.press("q", "Tab")
        screen.wait_for_text("Saved sessions", "a queue grows", "Knee at 91 users [82–103]", "Enter replays")
        screen.press("/")
        screen.type("zz-mine")
        screen.wait_for_text("Enter runs")
        screen.press("Enter", "Enter")
        screen.wait_for_text("zz-mine", "ready", "level ")
        screen.press("q", "q")
        assert screen.exit_code() == 0
        wait_until(lambda: len(list(sessions.glob("*zz-mine*.jsonl"))) == 1, "a new session in the folder")
