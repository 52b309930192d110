"""After SIGKILL of a run with a live screen, the shell that started it has a usable terminal."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from programs import needs

from .tmux_rig import app_pid, needs_tmux, run_started_in_bash

pytestmark = [pytest.mark.slow, needs_tmux, needs("bash")]


def test_the_terminal_of_the_shell_is_restored_after_the_screen_was_killed(tmp_path: Path) -> None:
    with run_started_in_bash(tmp_path) as screen:
        os.kill(app_pid(screen), signal.SIGKILL)
        screen.wait_for(lambda text: text.rstrip().endswith("prompt>"), "the prompt of the shell")
        screen.assert_shell_terminal_restored()
        screen.type("echo $((6 * 7))\n")
        screen.wait_for(lambda text: "\n42\n" in text, "the output of the command")
