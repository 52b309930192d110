"""A terminal that cannot place text gets one line and exit code 2, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from .tmux_rig import needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]


@pytest.mark.parametrize(
    ("term", "words", "what"),
    [
        ("dumb", "run mixed", "the live screen"),
        ("", "run mixed", "the live screen"),
        ("dumb", "replay sample", "replay"),
        ("dumb", "", "the picker"),
        ("dumb", "compare sample sample", "the comparison"),
    ],
)
def test_a_dumb_terminal_is_refused_in_one_line(tmp_path: Path, term: str, words: str, what: str) -> None:
    before = ["sh", "-c", f'export TERM="{term}"; exec "$1" {words}', "sh"]  # what the rig adds is not read
    with on_screen(tmp_path, size=(160, 24), before=before) as screen:
        assert screen.exit_code() == 2
        first, second = screen.lines()[:2]
        why = f"TERM is {term}" if term else "TERM is not set"
        assert first.startswith(f"capexplorer: {what} needs a terminal with cursor addressing ({why}); otherwise use `")
        assert second.startswith("exit code: 2")
    assert not (tmp_path / "sessions").exists()
