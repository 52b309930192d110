"""Escape sequences and markup in texts of the target are shown as plain text, on the screen and on stderr of a headless run."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.model.events import Log, Sample

from .rig import E2E_FOLDER, ended, events_of, on_terminal
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow

HOSTILE_LOCUSTFILE = str(E2E_FOLDER / "locustfiles" / "hostile.py")
ARGS = ("actor", "-f", HOSTILE_LOCUSTFILE, "--set", "act=prints_hostile")
SEQUENCES = ("\x1b[2J", "\x1b[H", "\x1b[31m", "\x1b]0;", "\x07", "\x9b")
SHOWN_TEXT = "␛[2J␛[H␛[31mHOSTILE␛[0m␛]0;title␇ <9B>2J [bold red]markup[/bold red]"


@needs_tmux
def test_hostile_text_is_shown_as_plain_text_on_the_screen(tmp_path: Path) -> None:
    with on_screen(tmp_path, *ARGS, size=(120, 40)) as screen:
        screen.wait_for_text(", settled ")
        screen.press("5")
        screen.press("z")
        screen.press("7")
        screen.wait_for_text("╭─ Failures")
        for key in "d8":  # the error messages, and the log
            screen.press(key)
            text = screen.wait_for(lambda text: SHOWN_TEXT in _without_line_breaks(text), "the target's text as plain text")
            assert text.startswith((" ●", "●")), "the status line is no longer the first one"
            assert "users 2" in text.split("\n")[0]
            assert "q quit" in text
            assert all(len(line) <= 120 for line in text.split("\n"))
        screen.wait_for(lambda text: "╭─ Log" in text and "HOSTILE" in text, "the text in the Log pane")
        styled = [line for line in screen.text_with_styles().split("\n") if "HOSTILE" in line]
        assert styled
        assert not any("[31mHOSTILE" in line.replace("␛[31m", "") for line in styled), "the text coloured itself red"
        assert screen.quit() == 4  # no request succeeded


def _without_line_breaks(text: str) -> str:
    """The lines of a pane joined, without its border."""
    return " ".join(line.strip("│ ").strip() for line in text.split("\n"))


def test_a_headless_run_writes_no_escape_sequences_of_the_target_to_its_terminal(tmp_path: Path) -> None:
    with on_terminal(tmp_path, *ARGS, "--headless", "--plan", "2:4s") as run:
        assert run.exit_code() == 4  # no request succeeded; the message has the error of one
        written = run.written
    assert not [each for each in SEQUENCES if each in written]
    events = run.events()
    assert ended(events).exit_code == 4
    assert any("\x1b[31mHOSTILE" in log.text for log in events_of(events, Log) if log.source == "target")  # kept as it was
    assert any("\x1b[31mHOSTILE" in log.text for log in events_of(events, Log) if log.source == "stdout")
    assert written.count("HOSTILE") == written.count("\\x1b[31mHOSTILE") > 0
    [signature] = {failure.signature for sample in events_of(events, Sample) for failure in sample.failures}
    assert "\x1b[#J\x1b[H\x1b[#mHOSTILE" in signature.text  # errors that differ only in numbers have one signature
    (example,) = {failure.example for sample in events_of(events, Sample) for failure in sample.failures if failure.example}
    assert "\x1b[2J\x1b[H\x1b[31mHOSTILE" in example


def test_escape_sequences_in_the_output_of_a_dead_target_are_shown_as_text(tmp_path: Path) -> None:
    with on_terminal(tmp_path, "actor", "--set", "act=dies_hostile", "--headless", "--plan", "2:3s") as run:
        assert run.exit_code() == 4
        written = run.written
    assert written.count("\\x1b[2J\\x1b[H\\x1b[31mHOSTILE\\x1b[0m") == 2  # the error, and the output below it
    assert not [each for each in SEQUENCES if each in written]
