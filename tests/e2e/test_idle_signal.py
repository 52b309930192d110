"""A signal ends a screen that is idle, while its main thread waits for keys."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from pathlib import Path
from time import sleep

import pytest

from capexplorer import paths

from .rig import PROGRAM, wait_until
from .tmux_rig import Screen, needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]

SAMPLE = "sample-taskqueue"
TEXTS = {"picker": ("Profiles", "Enter runs"), "compare": ("goodput/s by users", "q back")}
"""Two texts of each screen that are shown once it is complete."""


@pytest.mark.parametrize("name", TEXTS)
def test_an_idle_screen_ends_at_sigterm_with_exit_code_0(tmp_path: Path, name: str) -> None:
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    log = shutil.copy(paths.sample_sessions()[SAMPLE], sessions)
    words = [PROGRAM, "--sessions-dir", sessions] if name == "picker" else [PROGRAM, "compare", log, log]
    before = ["sh", "-c", f"exec {shlex.join(map(str, words))}", "sh"]  # in place of the words that `on_screen` adds
    with on_screen(tmp_path, size=(100, 30), before=before) as screen:
        screen.wait_for_text(*TEXTS[name])
        pid = program_pid(screen)
        wait_until(lambda: is_idle(pid), "an idle main thread")
        os.kill(pid, signal.SIGTERM)
        assert screen.exit_code() == 0


def program_pid(screen: Screen) -> int:
    """The process id of the program, not that of the process that resets the terminal after it."""
    found = [pid for pid, command in screen.remaining_processes().items() if PROGRAM in command]
    assert len(found) == 1, screen.remaining_processes()
    return found[0]


def is_idle(pid: int) -> bool:
    """Whether the main thread did not run for half a second: then only a signal can wake it."""
    status = Path(f"/proc/{pid}/task/{pid}/status")
    before = context_switches(status)
    sleep(0.5)
    return context_switches(status) == before


def context_switches(status: Path) -> list[str]:
    """The lines that count how often a thread was put to sleep or interrupted."""
    return [line for line in status.read_text().splitlines() if "ctxt_switches" in line]
