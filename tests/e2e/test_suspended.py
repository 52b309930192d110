"""ctrl+z in a shell's window, and SIGSTOP from elsewhere: the shell gets its terminal whole, `fg` brings the screen back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from processes import is_stopped
from programs import needs

from capexplorer.model.events import Ended, LevelOpened, Sample

from .rig import HERE, PROGRAM, Marked, of, until
from .test_stopped import STOPPED_S, assert_no_settled_second_has_a_stop
from .tmux_rig import Screen, app_of, needs_tmux, run_from_a_shell

pytestmark = [pytest.mark.slow, needs_tmux, needs("bash")]


def by_key(screen: Screen) -> None:
    screen.press("C-z")


def from_elsewhere(screen: Screen) -> None:
    os.kill(app_of(screen), signal.SIGSTOP)


@pytest.mark.parametrize(
    ("before", "stops"), [("", (by_key, from_elsewhere)), ("sh -c '\"$@\"; :' sh ", (by_key,))], ids=["in bash", "below sh"]
)
def test_a_stopped_screen_returns_by_fg(tmp_path: Path, before: str, stops: Sequence[Callable[[Screen], None]]) -> None:
    with run_from_a_shell(tmp_path, before) as screen:
        for stop in stops:
            stop_and_return(screen, stop)
        screen.press("q")
        screen.shows("Quit?")
        screen.press("y")
        screen.shows("saved:", "prompt>")
        events = screen.events()
    assert isinstance(events[-1], Ended)
    assert_no_settled_second_has_a_stop(events, len(stops))


def stop_and_return(screen: Screen, stop: Callable[[Screen], None]) -> None:
    """Stopped for some seconds, continued by `fg`, and seen to settle again."""
    app = app_of(screen)
    stop(screen)
    until(lambda: is_stopped(app), "the app is stopped")
    seen, level = len(of(screen.events(), Sample)), of(screen.events(), LevelOpened)[-1].index
    began = os.times().elapsed
    if stop is by_key:
        screen.shows("Stopped", "prompt>")
        screen.assert_shell_has_its_settings()
    until(lambda: os.times().elapsed - began >= STOPPED_S, "the stop has lasted")
    screen.type("fg\n")
    until(lambda: [event for event in of(screen.events(), LevelOpened) if event.index > level], "a level of its own")
    screen.shows("req/s", "ready", "level ")
    of_level = [sample for sample in of(screen.events(), Sample) if sample.level <= level]
    assert len(of_level) <= seen + 2, "the void tick, and one that the stop interrupted"
    until(lambda: [s for s in of(screen.events(), Sample) if s.settled and s.level > level], "it settles again")
    assert "prompt>" not in screen.text()


def test_where_no_shell_could_continue_it_ctrl_z_does_nothing(tmp_path: Path) -> None:
    marked, sessions = Marked(), tmp_path / "sessions"
    screen = Screen(f"capexplorer-{marked.mark[:8]}", sessions, marked)
    try:
        screen.open_shell([PROGRAM, "run", "actor", "--sessions-dir", str(sessions)], 100, 30, HERE)
        until(lambda: of(screen.events(), Sample), "a sample")
        screen.press("C-z")
        seen = len(of(screen.events(), Sample))
        until(lambda: len(of(screen.events(), Sample)) >= seen + 2, "two seconds more")
        screen.shows("req/s", "ready")
    finally:
        screen.close()
