"""Terminals without cursor addressing (TERM=dumb, or no TERM): screens are refused in one line, with exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from .tmux_rig import needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]


@pytest.mark.parametrize(
    ("term", "words", "screen_name"),
    [
        ("dumb", "run mixed", "the live screen"),
        ("", "run mixed", "the live screen"),
        ("dumb", "replay sample", "replay"),
        ("dumb", "", "the picker"),
        ("dumb", "compare sample sample", "the comparison"),
    ],
)
def test_a_screen_on_a_terminal_without_cursor_addressing_is_refused_in_one_line(
    tmp_path: Path, term: str, words: str, screen_name: str
) -> None:
    before = ["sh", "-c", f'export TERM="{term}"; exec "$1" {words}', "sh"]  # in place of the words that `on_screen` adds
    with on_screen(tmp_path, size=(160, 24), before=before) as screen:
        assert screen.exit_code() == 2
        first, second = screen.lines()[:2]
        reason = f"TERM is {term}" if term else "TERM is not set"
        assert first.startswith(f"capexplorer: {screen_name} needs a terminal with cursor addressing ({reason}); otherwise use `")
        assert second.startswith("exit code: 2")
    assert not (tmp_path / "sessions").exists(), "something was started"
