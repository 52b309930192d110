"""A run that is suspended (SIGSTOP, ctrl+z) and continued: no settled second includes the suspension, and a new level follows."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, sleep

import pytest
from processes import is_stopped
from programs import needs

from capexplorer.model.events import Ended, Event, LevelClosed, LevelOpened, Log, Mark, Sample
from capexplorer.model.timeline import Timeline

from .rig import events_of, export, started_run, wait_until
from .tmux_rig import Screen, app_pid, command_of_run, in_window, needs_tmux, run_started_in_bash

pytestmark = pytest.mark.slow

SUSPENDED_S = 3.0
"""How long runs are suspended: a sample that includes it is longer than any sample that is late on a busy machine."""


def assert_no_settled_sample_includes_a_suspension(events: list[Event], suspensions: int = 1) -> None:
    samples = events_of(events, Sample)
    suspended_s = [sample.suspended_s for sample in samples]
    found = [index for index, seconds in enumerate(suspended_s) if (seconds or 0.0) > SUSPENDED_S / 2]
    assert len(found) == suspensions
    assert [suspended_s[index + 1] for index in found] == [0.0] * suspensions, "the next sample is void as well"
    assert not [sample for sample in samples if sample.suspended_s is not None and sample.settled]
    assert max(sample.duration_s for sample in samples if sample.settled) < SUSPENDED_S


@pytest.mark.parametrize(("plan", "load"), [("3:10m", (3, None)), ("rate 20/s 10m", (0, 20.0))], ids=["users", "a rate"])
def test_a_suspension_ends_the_level_and_its_load_is_measured_again(
    tmp_path: Path, plan: str, load: tuple[int, float | None]
) -> None:
    with started_run(tmp_path, "actor", "--headless", "--plan", plan) as run:
        before = run.wait_for_events(Sample, lambda sample: sample.settled, count=3)
        os.kill(run.process.pid, signal.SIGSTOP)
        sleep(SUSPENDED_S)
        os.kill(run.process.pid, signal.SIGCONT)
        run.wait_for_events(Sample, lambda sample: sample.level > before[-1].level and sample.settled, count=3)
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    events = run.events()
    assert_no_settled_sample_includes_a_suspension(events)
    opened = events_of(events, LevelOpened)
    assert {(level.users, level.offered_per_s, level.by) for level in opened} == {(*load, "plan")}
    if load[0]:
        first, *_, last = [level for level in events_of(events, LevelClosed) if level.figures.settled]
        assert first.figures.throughput_rps == pytest.approx(last.figures.throughput_rps, rel=0.5)
    # A busy machine may suspend the process, too: each suspension ends a level and is logged.
    assert [log.level for log in events_of(events, Log) if "was suspended" in log.text] == ["warning"] * (len(opened) - 1)
    assert not [mark for mark in events_of(events, Mark) if mark.kind in ("cause", "shift")]
    assert len(export(run.sessions)["levels"]) == len(Timeline(events).levels) == len(opened) >= 2


def by_key(screen: Screen) -> None:
    screen.press("C-z")


def by_signal(screen: Screen) -> None:
    os.kill(app_pid(screen), signal.SIGSTOP)


@needs_tmux
@needs("bash")
@pytest.mark.parametrize(
    ("before", "suspensions"),
    [
        pytest.param("", (by_key, by_signal), id="started by bash"),
        pytest.param("sh -c '\"$@\"; :' sh ", (by_key,), id="started by sh in bash"),
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
    if suspend is by_key:
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


@needs_tmux
def test_ctrl_z_has_no_effect_on_a_run_without_a_shell_that_could_continue_it(tmp_path: Path) -> None:
    with in_window(tmp_path, command_of_run(tmp_path, "actor")) as screen:
        wait_until(lambda: events_of(screen.events(), Sample), "a sample")
        screen.press("C-z")
        samples = len(events_of(screen.events(), Sample))
        wait_until(lambda: len(events_of(screen.events(), Sample)) >= samples + 2, "two more samples")
        screen.wait_for_text("req/s", "ready")


@needs_tmux
@needs("bash")
def test_the_terminal_of_the_shell_is_restored_after_the_screen_was_killed(tmp_path: Path) -> None:
    with run_started_in_bash(tmp_path) as screen:
        os.kill(app_pid(screen), signal.SIGKILL)
        screen.wait_for(lambda text: text.rstrip().endswith("prompt>"), "the prompt of the shell")
        screen.assert_shell_terminal_restored()
        screen.type("echo $((6 * 7))\n")
        screen.wait_for(lambda text: "\n42\n" in text, "the output of the command")
