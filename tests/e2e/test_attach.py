"""Runs that continue without their terminal (hang-up, `--detach`), and screens of other terminals that attach to them."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.model.events import Command, Event, LevelOpened, Sample, Target

from .rig import (
    E2E_FOLDER,
    PROGRAM,
    OnTerminal,
    assert_no_gap_between_samples,
    command_on_terminal,
    ended,
    events_in,
    events_of,
    modes_left_on,
    on_terminal,
    run_command,
    session_path,
    started_run,
    wait_until,
)
from .tmux_rig import needs_tmux, run_started_in_bash

pytestmark = pytest.mark.slow

BRIEFLY_UNATTENDED = str(E2E_FOLDER / "profiles" / "briefly-unattended.toml")
"""A run by hand ends 3 s after the last screen with the controls is gone."""


@pytest.fixture(autouse=True, scope="module")
def runtime_folder() -> Iterator[Path]:
    """A folder for the sockets of these runs alone. Its path is short: that of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name, pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_RUNTIME_DIR", name)
        yield Path(name)


def assert_undisturbed(events: list[Event]) -> None:
    """The samples have no gap between them, and no request failed."""
    assert_no_gap_between_samples(events)
    assert not [sample for sample in events_of(events, Sample) if sample.failures], "failed requests"


def wait_for_samples(run: OnTerminal, count: int) -> list[Sample]:
    return run.wait_for_events(Sample, count=count)


def level_label(run: OnTerminal, users: int) -> str:
    """The latest level with a number of users, as the status line shows it; waits until it is opened."""
    return f"level {run.wait_for_events(LevelOpened, lambda level: level.users == users)[-1].index}"


def holders_of_controls(events: list[Event]) -> list[str | None]:
    """The screens that get the controls, in order; None: no screen has them. A screen that answers no request for the controls
    within 15 s, as on a busy machine, loses them and may ask for them itself: requests are left out.
    """
    changes = [each.args for each in events_of(events, Command) if each.name == "controls"]
    return [each["holder"] for each in changes if "holder" in each and "kept" not in each]  # type: ignore[misc]


def session_of(run: OnTerminal) -> str:
    """The name of its session."""
    path = session_path(run.sessions)
    assert path is not None
    return path.stem


def test_a_run_by_hand_continues_after_a_hang_up_until_unattended_s_has_passed(tmp_path: Path) -> None:
    with on_terminal(tmp_path, BRIEFLY_UNATTENDED) as run:
        samples_before = len(wait_for_samples(run, 2))
        run.hang_up()
        assert run.exit_code() == 0
    events = run.events()
    assert_undisturbed(events)
    samples = events_of(events, Sample)
    assert samples[-1].t_s - samples[samples_before - 1].t_s >= 3.0, "unattended_s of the profile is 3"
    assert {level.users for level in events_of(events, LevelOpened)} == {2}
    assert ended(events).exit_code == 0
    assert events_of(events, Command)[-1].args == {"holder": None}, "no screen has the controls"


def test_a_plan_runs_to_its_end_without_its_terminal(tmp_path: Path) -> None:
    with on_terminal(tmp_path, BRIEFLY_UNATTENDED, "--plan", "3:20s") as run:
        wait_for_samples(run, 2)
        os.kill(run.process.pid, signal.SIGHUP)
        run.wait_for(lambda: "the run goes on without this screen" in run.written, "the command that attaches to the run")
        assert modes_left_on(run.written) == []
        assert run.exit_code() == 0
    assert_undisturbed(run.events())
    assert (ended(run.events()).exit_code, ended(run.events()).signal) == (0, None)


def share_with_two_screens(run: OnTerminal, folder: Path) -> None:
    """One attached screen gets the controls, steps and gives them back; the other one only watches. All show the step."""
    with (
        command_on_terminal(folder, "attach", session_of(run)) as other,
        command_on_terminal(folder, "attach", "--watch", session_of(run)) as watcher,
    ):
        other.wait_for(lambda: "has the controls; c asks for them" in other.written, "the screen that has the controls")
        watcher.wait_for(lambda: "this screen only watches" in watcher.written, "the message of a watching screen")
        other.type("++c")
        run.wait_for(lambda: "asks for the controls: c gives them" in run.written, "the request for the controls")
        run.type("c")
        other.wait_for(lambda: "this screen has the controls; 3 screens" in other.written, "the message about the controls")
        other.type("+")
        run.wait_for(lambda: level_label(run, 3) in run.written, "the step on the run's own screen")
        watcher.wait_for(lambda: level_label(run, 3) in watcher.written, "the step on the screen that watches")
        watcher.hang_up()
        other.type("q")
        other.wait_for(lambda: "The run goes on." in other.written, "the question whether to quit")
        other.type("q")
        assert other.exit_code() == 0
        assert watcher.exit_code() == 128 + signal.SIGHUP
    run.wait_for(
        lambda: events_of(run.events(), Command)[-1].args.get("holder"), "the return of the controls to the run's screen"
    )


def says_that_it_has_controls(screen: OnTerminal) -> bool:
    """Type `c`, and whether the screen has answered that it has the controls. A step before that would have no effect."""
    screen.type("c")
    return "no other one asks for them" in screen.written


def step_and_end_from_an_attached_screen(run: OnTerminal, folder: Path) -> None:
    """The run's own terminal has hung up. A screen that attaches before the run has noticed would not get the controls."""
    run.wait_for(lambda: holders_of_controls(run.events())[-1] is None, "the loss of the run's own screen")
    with command_on_terminal(folder, "attach", session_of(run)) as screen:
        screen.wait_for(lambda: level_label(run, 3) in screen.written, "the level of 3 users")
        screen.wait_for(lambda: says_that_it_has_controls(screen), "the message that this screen has the controls")
        screen.type("+")
        screen.wait_for(lambda: level_label(run, 4) in screen.written, "the level of 4 users")
        screen.type("Q")
        screen.wait_for(lambda: "End the run?" in screen.written, "the question whether to end the run")
        screen.type("y")
        assert screen.exit_code() == 0
        saved = screen.written.rpartition("saved: ")[2]
        assert " replay " in saved
        assert f"{session_of(run)}.jsonl" in saved


def test_a_run_is_shared_by_three_screens_loses_its_terminal_and_is_ended_by_a_screen_attached_later(tmp_path: Path) -> None:
    with on_terminal(tmp_path, "actor") as run:
        wait_for_samples(run, 2)
        share_with_two_screens(run, tmp_path)
        run.hang_up()
        step_and_end_from_an_attached_screen(run, tmp_path)
        assert run.exit_code() == 0
    events = run.events()
    attached, own, none, attached_later = holders_of_controls(events)
    assert attached is not None and attached_later is not None
    assert own not in (None, attached), "the run's screen gets the controls back from the attached screen that quits"
    assert none is None, "its terminal hangs up"
    users = list(dict.fromkeys(level.users for level in events_of(events, LevelOpened)))
    assert users == [2, 3, 4], "the keys ++ of a screen without the controls must have no effect"
    assert ended(events).reason == "ended by the user"
    assert_undisturbed(events)


@needs_tmux
def test_a_run_left_by_a_key_goes_on_as_a_job_of_its_shell_until_an_attached_screen_ends_it(tmp_path: Path) -> None:
    with run_started_in_bash(tmp_path) as screen:
        samples_before = len(events_of(screen.events(), Sample))
        screen.press("D")
        screen.wait_for_text("the run goes on without this screen")
        screen.assert_shell_terminal_restored()
        wait_until(lambda: len(events_of(screen.events(), Sample)) > samples_before + 2, "the run goes on")
        path = session_path(screen.sessions)
        assert path is not None
        screen.type(f"clear; {PROGRAM} attach {path.stem}\n")
        screen.wait_for_text("req/s", "ready")
        screen.press("Q")
        screen.wait_for_text("End the run?")
        screen.press("Enter")
        screen.wait_for_text("verdict: ", "saved: ", "prompt>")
        screen.assert_shell_terminal_restored()
    assert_undisturbed(screen.events())
    assert ended(screen.events()).reason == "ended by the user"


def test_a_detached_run_is_ready_when_its_command_returns_and_is_stopped_by_stop(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    started = run_command("run", "actor", "--detach", "--sessions-dir", str(sessions))
    assert started.returncode == 0, started.stderr
    session = started.stdout.strip()
    assert f"attach {session}\n" in started.stderr
    listed = run_command("sessions", "--sessions-dir", str(sessions)).stdout
    assert re.search(rf"^{session} .* running$", listed, re.MULTILINE)
    wait_until(lambda: len(events_of(events_in(sessions), Sample)) >= 2, "two samples")
    stopped = run_command("stop", session)
    assert stopped.returncode == 0, stopped.stderr
    assert stopped.stdout == f"{sessions / session}.jsonl\n"
    assert ended(events_in(sessions)).exit_code == 0
    assert_undisturbed(events_in(sessions))
    assert "running" not in run_command("sessions", "--sessions-dir", str(sessions)).stdout


def test_a_detached_run_that_cannot_start_reports_the_reason_and_exits_with_4(tmp_path: Path) -> None:
    words = ("--target-cmd", "/bin/false {port}", "--ready", "/", "--sessions-dir", str(tmp_path / "sessions"))
    failed = run_command("run", "actor", *words, "--detach")
    assert failed.returncode == 4
    assert failed.stdout == ""
    assert failed.stderr.startswith("capexplorer: false: ended before it was ready (exit code 1)")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_command_ends_a_detached_run_that_is_not_ready(number: int, tmp_path: Path) -> None:
    never_ready = f"{sys.executable} -c 'import time; time.sleep(300)' {{port}}"
    with started_run(tmp_path, "--target-cmd", never_ready, "--request", "/", "--detach") as run:
        run.wait_for_events(Target)
        run.process.send_signal(number)
        assert run.exit_code() == 128 + number
