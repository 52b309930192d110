"""The live screen is killed in a shell's window: the shell is usable, and its prompt is seen."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

import pytest
from programs import needs

from capexplorer.model.events import Sample

from .rig import HERE, PROGRAM, Marked, of, until
from .tmux_rig import Screen, needs_tmux

pytestmark = [pytest.mark.slow, needs_tmux, needs("bash")]


def test_the_shell_is_usable_after_the_screen_was_killed(tmp_path: Path) -> None:
    marked, sessions = Marked(), tmp_path / "sessions"
    screen = Screen(f"capexplorer-{marked.mark[:8]}", sessions, marked)
    try:
        screen.open_shell(["env", "PS1=prompt> ", "bash", "--norc"], 100, 30, HERE)
        screen.shows("prompt>")
        screen.type(shlex.join([PROGRAM, "run", "actor", "--sessions-dir", str(sessions)]) + "\n")
        until(lambda: of(screen.events(), Sample), "a sample")
        app = marked.pids(f"{PROGRAM} run")
        assert len(app) == 1
        os.kill(app[0], signal.SIGKILL)
        screen.once(lambda text: text.rstrip().endswith("prompt>"), "the prompt")
        screen.type("stty -a\n")
        text = screen.shows("icanon", "isig")
        assert not {"-icanon", "-echo", "-isig", "-icrnl"} & set(text.split())
        screen.type("echo $((6 * 7))\n")
        screen.once(lambda text: "\n42\n" in text, "what was typed is carried out")
    finally:
        screen.close()
