"""The picker in a real terminal: its own sessions folder, profiles of the working folder, Tab and ?."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from capexplorer import paths

from .rig import PROGRAM, until
from .tmux_rig import needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]


def test_the_picker_uses_the_sessions_folder_that_is_given(tmp_path: Path) -> None:
    sessions, here = tmp_path / "sessions", tmp_path / "here"
    sessions.mkdir()
    here.mkdir()
    shutil.copy(paths.sample_sessions()["sample-taskqueue"], sessions)
    shutil.copy(paths.profile("mixed"), here / "zz-mine.toml")
    words = ["sh", "-c", f'exec "{PROGRAM}" --sessions-dir "{sessions}"', "sh"]  # what the rig adds is not read
    with on_screen(tmp_path, size=(80, 24), cwd=here, before=words) as screen:
        screen.shows("Profiles", "zz-mine")
        screen.press("?")
        screen.shows("go to the other list")
        screen.press("q", "Tab")
        screen.shows("Saved sessions", "a queue grows", "Knee at 91 users [82–103]", "Enter replays")
        screen.press("/")
        screen.type("zz-mine")
        screen.shows("Enter runs")
        screen.press("Enter", "Enter")
        screen.shows("zz-mine", "ready", "level ")
        screen.press("q", "q")
        assert screen.exit_code() == 0
        until(lambda: len(list(sessions.glob("*zz-mine*.jsonl"))) == 1, "a session in the folder that the picker was given")
