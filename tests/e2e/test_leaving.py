"""Leaving the live screen: q in the Quit box quits, and the shell shows what was found and how to go on."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from capexplorer.model.events import LevelClosed

from .rig import of
from .tmux_rig import needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]


def test_a_second_q_quits_and_the_shell_shows_verdict_path_and_commands_that_work(tmp_path: Path) -> None:
    with on_screen(tmp_path, "mixed", size=(240, 40), cwd=tmp_path) as screen:
        screen.shows(", settled")
        screen.press("+")
        screen.once(lambda _: of(screen.events(), LevelClosed), "a level's end")
        screen.press("q")
        screen.shows("Quit?", "Enter, y or q: quit")
        screen.press("q")
        assert screen.exit_code() == 0
        text = screen.text()
        (log,) = screen.sessions.glob("*.jsonl")
        assert re.search(r"^verdict: \S.+", text, re.MULTILINE)
        assert f"saved: {log}\n" in text
        replay = next(line for line in text.splitlines() if " replay " in line and line.startswith("  "))
        export = next(line for line in text.splitlines() if " export " in line and line.startswith("  "))
        assert str(log) in replay
        subprocess.run(shlex.split(export), cwd=tmp_path, check=True)
        assert (tmp_path / f"{log.stem}.html").stat().st_size > 1_000
