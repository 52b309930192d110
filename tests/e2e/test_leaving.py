"""Results are taken along: copied and exported while load runs; and the shell shows them, with commands to go on."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from capexplorer.model.events import LevelClosed

from .rig import of
from .tmux_rig import Screen, needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]


def copy_the_summary(screen: Screen) -> None:
    """`y`, while load runs: tmux's buffer holds the summary."""
    screen._tmux("set-option", "-g", "set-clipboard", "on")
    screen.press("y")
    screen.shows("copied", "KiB (tmux needs set-clipboard on)")
    held = screen._tmux("show-buffer")
    assert held.startswith("# Capacity of `mixed`") and held.rstrip().endswith("|")
    assert "snapshot of a running session" in held


def export_the_page(screen: Screen, folder: Path) -> None:
    """`e`, while load runs: the page lies where the form said."""
    screen.press("e")
    screen.shows("Export the session so far", "▸ md")
    screen.press("Down")
    screen.shows("▸ html")
    screen.press("Enter")
    screen.shows("exported")
    (page,) = folder.glob("*.html")
    assert page.read_bytes().startswith(b"<!doctype html>")
    page.unlink()


def test_results_are_copied_and_exported_and_a_second_q_quits_to_a_shell_that_shows_verdict_path_and_commands(
    tmp_path: Path,
) -> None:
    with on_screen(tmp_path, "mixed", "--users", "3", size=(240, 40), cwd=tmp_path) as screen:
        screen.shows("mixed", "ready", ", settled")
        copy_the_summary(screen)
        export_the_page(screen, tmp_path)
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
