"""Results of a run on the live screen: copied and exported during load, and printed with commands after quitting."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from capexplorer.model.events import LevelClosed

from .rig import events_of
from .tmux_rig import Screen, needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]


def copy_the_summary(screen: Screen) -> None:
    """The key `y` copies the summary to the clipboard, which tmux gives as its buffer."""
    screen._tmux("set-option", "-g", "set-clipboard", "on")
    screen.press("y")
    screen.wait_for_text("copied", "KiB (tmux needs set-clipboard on)")
    copied = screen._tmux("show-buffer")
    assert copied.startswith("# Capacity of `mixed`")
    assert copied.rstrip().endswith("|"), "the summary ends with a table"
    assert "snapshot of a running session" in copied


def export_the_page(screen: Screen, folder: Path) -> None:
    """The key `e` exports the session so far as an HTML page into a folder."""
    screen.press("e")
    screen.wait_for_text("Export the session so far", "▸ md")
    screen.press("Down")
    screen.wait_for_text("▸ html")
    screen.press("Enter")
    screen.wait_for_text("exported")
    (page,) = folder.glob("*.html")
    assert page.read_bytes().startswith(b"<!doctype html>")
    page.unlink()


def test_results_are_copied_and_exported_during_load_and_quitting_prints_verdict_path_and_commands(tmp_path: Path) -> None:
    with on_screen(tmp_path, "mixed", "--users", "3", size=(240, 40), cwd=tmp_path) as screen:
        screen.wait_for_text("mixed", "ready", ", settled")
        copy_the_summary(screen)
        export_the_page(screen, tmp_path)
        screen.press("+")
        screen.wait_for(lambda _: events_of(screen.events(), LevelClosed), "the end of a level")
        screen.press("q")
        screen.wait_for_text("Quit?", "Enter, y or q: quit")
        screen.press("q")
        assert screen.exit_code() == 0
        text = screen.text()
        (log,) = screen.sessions.glob("*.jsonl")
        assert re.search(r"^verdict: \S.+", text, re.MULTILINE)
        assert f"saved: {log}\n" in text
        replay = next(line for line in text.splitlines() if " replay " in line and line.startswith("  "))
        export = next(line for line in text.splitlines() if " export " in line and line.startswith("  "))
        assert (tmp_path / shlex.split(replay)[-1]).samefile(log), "a path from the working folder"
        subprocess.run(shlex.split(export), cwd=tmp_path, check=True)
        assert (tmp_path / f"{log.stem}.html").stat().st_size > 1_000
