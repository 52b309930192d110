"""`y` and `e` in a real terminal, while load runs: tmux's buffer holds the summary, and files lie where the form said."""

from __future__ import annotations

from pathlib import Path

import pytest

from .tmux_rig import needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]


def test_the_clipboard_holds_the_summary_and_the_folder_the_report(tmp_path: Path) -> None:
    with on_screen(tmp_path, "mixed", "--users", "3", size=(80, 24), cwd=tmp_path) as screen:
        screen.shows("mixed", "ready", "settled")
        screen._tmux("set-option", "-g", "set-clipboard", "on")
        screen.press("y")
        screen.shows("copied", "KiB (tmux needs set-clipboard on)")
        held = screen._tmux("show-buffer")
        assert held.startswith("# Capacity of `mixed`") and held.rstrip().endswith("|")
        assert "snapshot of a running session" in held
        screen.press("e")
        screen.shows("Export the session so far", "▸ md")
        screen.press("Down")
        screen.shows("▸ html")
        screen.press("Enter")
        screen.shows("exported")
        (page,) = tmp_path.glob("*.html")
        assert page.read_bytes().startswith(b"<!doctype html>")
        screen.press("q")
        screen.shows("Quit?")
        screen.press("Enter")
        assert screen.exit_code() == 0
