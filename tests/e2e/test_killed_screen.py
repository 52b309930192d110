"""The live screen is killed in a shell's window: the shell is usable, and its prompt is seen."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from programs import needs

from .tmux_rig import app_of, needs_tmux, run_from_a_shell

pytestmark = [pytest.mark.slow, needs_tmux, needs("bash")]


def test_the_shell_is_usable_after_the_screen_was_killed(tmp_path: Path) -> None:
    with run_from_a_shell(tmp_path) as screen:
        os.kill(app_of(screen), signal.SIGKILL)
        screen.once(lambda text: text.rstrip().endswith("prompt>"), "the prompt")
        screen.assert_shell_has_its_settings()
        screen.type("echo $((6 * 7))\n")
        screen.once(lambda text: "\n42\n" in text, "what was typed is carried out")
