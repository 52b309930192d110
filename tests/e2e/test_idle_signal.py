"""A signal ends a screen that waits for keys: none is pressed."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from pathlib import Path
from time import sleep

import pytest

from capexplorer import paths

from .rig import PROGRAM, until
from .tmux_rig import Screen, needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]

SAMPLE = "sample-taskqueue"
SEEN = {"picker": ("Profiles", "Enter runs"), "compare": ("goodput/s by users", "q back")}
"""Two texts of each screen that are there once it is complete."""


@pytest.mark.parametrize("name", SEEN)
def test_a_screen_that_waits_for_keys_ends_at_a_signal(tmp_path: Path, name: str) -> None:
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    log = shutil.copy(paths.sample_sessions()[SAMPLE], sessions)
    words = [PROGRAM, "--sessions-dir", sessions] if name == "picker" else [PROGRAM, "compare", log, log]
    before = ["sh", "-c", f"exec {shlex.join(map(str, words))}", "sh"]  # what the rig adds is not read
    with on_screen(tmp_path, size=(100, 30), before=before) as screen:
        screen.shows(*SEEN[name])
        pid = process_of(screen)
        until(lambda: waits(pid), "a loop that waits for keys")
        os.kill(pid, signal.SIGTERM)
        assert screen.exit_code() == 0


def process_of(screen: Screen) -> int:
    """The program's: the keeper of the terminal is the other one that is not the rig's."""
    found = [pid for pid, command in screen.left().items() if PROGRAM in command]
    assert len(found) == 1, screen.left()
    return found[0]


def waits(pid: int) -> bool:
    """Whether the main thread was idle between two checks: then only the signal can wake it."""
    status = Path(f"/proc/{pid}/task/{pid}/status")
    before = woken(status)
    sleep(0.5)
    return woken(status) == before


def woken(status: Path) -> list[str]:
    return [line for line in status.read_text().splitlines() if "ctxt_switches" in line]
