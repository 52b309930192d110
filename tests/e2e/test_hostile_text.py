"""Text of a target full of escapes and markup is shown as text: on the screen, and on the stderr of a headless run."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.model.events import Ended, Log, Sample

from .pty_rig import on_terminal
from .rig import HERE, of
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow

HOSTILE = str(HERE / "locustfiles" / "hostile.py")
ARGS = ("actor", "-f", HOSTILE, "--set", "act=prints_hostile")
SHOWN = "␛[2J␛[H␛[31mHOSTILE␛[0m␛]0;title␇ <9B>2J [bold red]markup[/bold red]"


@needs_tmux
def test_hostile_text_is_shown_as_plain_text_on_the_screen(tmp_path: Path) -> None:
    with on_screen(tmp_path, *ARGS, size=(120, 40)) as screen:
        screen.shows(", settled ")
        screen.press("5")
        screen.press("z")
        screen.press("7")
        screen.shows("╭─ Failures")
        for key in "d8":  # raw errors, and the log
            screen.press(key)
            text = screen.once(lambda text: SHOWN in _unwrapped(text), "the target's text, as text")
            assert text.startswith((" ●", "●"))
            assert "users 2" in text.split("\n")[0] and "q quit" in text
            assert all(len(line) <= 120 for line in text.split("\n"))
        screen.once(lambda text: "╭─ Log" in text and "HOSTILE" in text, "the log, redrawn whole")
        red = [line for line in screen.styled().split("\n") if "HOSTILE" in line]
        assert red and not any("[31mHOSTILE" in line.replace("␛[31m", "") for line in red)
        screen.press("q")
        screen.shows("Quit?")
        screen.press("y")
        assert screen.exit_code() == 4  # no request succeeded


def _unwrapped(text: str) -> str:
    """Lines of a pane put together again, as far as the border goes."""
    return " ".join(line.strip("│ ").strip() for line in text.split("\n"))


def test_a_headless_run_on_a_terminal_does_not_obey_it(tmp_path: Path) -> None:
    with on_terminal(tmp_path, *ARGS, "--headless", "--plan", "2:4s") as run:
        assert run.exit_code() == 4  # no request succeeded: that line quotes one of them
        written = run.written
    for obeyed in ("\x1b[2J", "\x1b[H", "\x1b]0;", "\x07", "\x9b"):
        assert obeyed not in written
    events = run.events()
    last = events[-1]
    assert isinstance(last, Ended)
    assert last.exit_code == 4
    assert last.reason.startswith("no request succeeded")
    assert any("\x1b[31mHOSTILE" in log.text for log in of(events, Log) if log.source == "target")  # kept as it was
    assert any("\x1b[31mHOSTILE" in log.text for log in of(events, Log) if log.source == "stdout")
    assert written.count("HOSTILE") == written.count("\\x1b[31mHOSTILE") == 1
    [signature] = {failure.signature for sample in of(events, Sample) for failure in sample.failures}
    assert "\x1b[#J\x1b[H\x1b[#mHOSTILE" in signature.text  # numbers are folded: a kind is no counter
    (example,) = {failure.example for sample in of(events, Sample) for failure in sample.failures if failure.example}
    assert "\x1b[2J\x1b[H\x1b[31mHOSTILE" in example
