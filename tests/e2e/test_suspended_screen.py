"""A live screen that ctrl+z or SIGSTOP suspends: the shell gets a restored terminal, and `fg` continues the run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

import pytest
from processes import is_stopped
from programs import needs

from capexplorer.model.events import Ended, LevelOpened, Sample

from .rig import E2E_FOLDER, PROGRAM, MarkedEnvironment, events_of, wait_until
from .suspensions import SUSPENDED_S, assert_no_settled_sample_includes_a_suspension
from .tmux_rig import Screen, app_pid, needs_tmux, run_started_in_bash

pytestmark = [pytest.mark.slow, needs_tmux, needs("bash")]


def suspend_by_key(screen: Screen) -> None:
    screen.press("C-z")


def suspend_by_signal(screen: Screen) -> None:
    os.kill(app_pid(screen), signal.SIGSTOP)


@pytest.mark.parametrize(
    ("before", "suspensions"),
    [
        pytest.param("", (suspend_by_key, suspend_by_signal), id="started by bash"),
        pytest.param("sh -c '\"$@\"; :' sh ", (suspend_by_key,), id="started by sh in bash"),
    ],
)
def test_a_suspended_screen_continues_by_fg(tmp_path: Path, before: str, suspensions: Sequence[Callable[[Screen], None]]) -> None:
    with run_started_in_bash(tmp_path, before) as screen:
        for suspend in suspensions:
            suspend_and_continue(screen, suspend)
        screen.press("q")
        screen.wait_for_text("Quit?")
        screen.press("y")
        screen.wait_for_text("saved:", "prompt>")
        events = screen.events()
    assert isinstance(events[-1], Ended)
    assert_no_settled_sample_includes_a_suspension(events, len(suspensions))


def suspend_and_continue(screen: Screen, suspend: Callable[[Screen], None]) -> None:
    """Suspend a run for some seconds, continue it by `fg`, and wait until a new level has settled."""
    run_pid = app_pid(screen)
    suspend(screen)
    wait_until(lambda: is_stopped(run_pid), "the suspension of the process")
    samples, level = len(events_of(screen.events(), Sample)), events_of(screen.events(), LevelOpened)[-1].index
    suspended_at = monotonic()
    if suspend is suspend_by_key:
        screen.wait_for_text("Stopped", "prompt>")
        screen.assert_shell_terminal_restored()
    wait_until(lambda: monotonic() - suspended_at >= SUSPENDED_S, f"{SUSPENDED_S} s")
    screen.type("fg\n")
    wait_until(lambda: [each for each in events_of(screen.events(), LevelOpened) if each.index > level], "a new level")
    screen.wait_for_text("req/s", "ready", "level ")
    of_old_level = [sample for sample in events_of(screen.events(), Sample) if sample.level <= level]
    assert len(of_old_level) <= samples + 2, "more than the interrupted sample and the void one after it"
    wait_until(
        lambda: [each for each in events_of(screen.events(), Sample) if each.settled and each.level > level],
        "a settled sample of the new level",
    )
    assert "prompt>" not in screen.text()


def test_ctrl_z_has_no_effect_on_a_run_without_a_shell_that_could_continue_it(tmp_path: Path) -> None:
    marked, sessions = MarkedEnvironment(), tmp_path / "sessions"
    screen = Screen(f"capexplorer-{marked.mark[:8]}", sessions, marked)
    try:
        screen.open_shell([PROGRAM, "run", "actor", "--sessions-dir", str(sessions)], 100, 30, E2E_FOLDER)
        wait_until(lambda: events_of(screen.events(), Sample), "a sample")
        screen.press("C-z")
        samples = len(events_of(screen.events(), Sample))
        wait_until(lambda: len(events_of(screen.events(), Sample)) >= samples + 2, "two more samples")
        screen.wait_for_text("req/s", "ready")
    finally:
        screen.close()
