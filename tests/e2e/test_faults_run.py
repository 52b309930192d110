"""Faults in a run (of the target, the disk, user code, capexplorer): one line, the exit code, and a readable session."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from capexplorer.model.events import LevelClosed, Sample, Target

from .rig import (
    assert_no_gap_between_samples,
    ended,
    events_of,
    export,
    run_to_end,
    session_path,
    started_run,
    target_states,
    wait_until,
)
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow

SHORT_PLAN = ("--headless", "--plan", "2:3s")
NEVER_READY = f"{sys.executable} -c 'import signal; signal.pause()' {{port}}"
LONG_PLAN = ("--headless", "--plan", "2:60s")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((f"{sys.executable} -c 'print(4711); exit(3)' {{port}}",), "ended before it was ready (exit code 3): 4711"),
        ((NEVER_READY, "--ready-timeout", "1.5"), "not ready after 1.5 s: GET http://127.0.0.1:"),
    ],
)
def test_a_target_that_does_not_start_ends_the_run_with_exit_code_4_and_its_reason(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    run, code = run_to_end(tmp_path, "actor", "--target-cmd", *arguments, *SHORT_PLAN)
    assert code == 4
    [line] = run.errors
    assert message in line
    assert re.fullmatch(r"\S+Z  \d\d:\d\d  target failed\n", run.stderr.partition(line)[0])
    assert run.stdout == f"{session_path(run.sessions)}\n"
    events = run.events()
    assert target_states(events) == ["starting", "failed"]
    assert ended(events).exit_code == 4 and message in ended(events).reason


def test_a_killed_target_ends_the_run_with_exit_code_4_and_a_complete_session(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", *LONG_PLAN) as run:
        target = run.target_pid()
        run.wait_for_events(Sample, lambda sample: sample.endpoints, count=2)
        os.kill(target, signal.SIGKILL)
        assert run.exit_code() == 4
    assert run.errors == ["capexplorer: actor: the target died: SIGKILL"]
    events = run.events()
    assert [(event.state, event.signal) for event in events_of(events, Target)][-1] == ("died", "SIGKILL")
    assert events_of(events, LevelClosed) and ended(events).exit_code == 4
    assert export(run.sessions)["session"]["complete"] is True


@pytest.mark.parametrize(("name", "named"), [(b"file/sessions", "file"), (b"caf\xe9", "caf\N{REPLACEMENT CHARACTER}")])
def test_a_sessions_folder_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, name: bytes, named: str) -> None:
    """A folder that is not writable: `tests/session/test_writer.py`."""
    (tmp_path / "file").write_text("a file, not a folder")
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    with started_run(tmp_path, "actor", *SHORT_PLAN, sessions=folder) as run:
        assert run.exit_code() == 2
    [line] = run.stderr.splitlines()
    assert line.startswith("capexplorer: ") and f"{tmp_path}/{named}" in line
    assert run.stdout == "" and not folder.exists()


def test_a_full_disk_ends_the_run_with_exit_code_4_and_a_readable_log(
    tmp_path: Path, mounted: Callable[[str], list[str]]
) -> None:
    """The log is copied as the run ends, since its disk of 8 KiB exists in the namespace only."""
    folder, copied = tmp_path / "sessions", tmp_path / "copied"
    folder.mkdir()
    copied.mkdir()
    words = mounted(f"mount -t tmpfs -o size=8k none {folder}")
    words[4] = words[4].replace('exec "$@"', f'{{ "$@"; code=$?; cp {folder}/* {copied}; exit $code; }}')
    run, code = run_to_end(tmp_path, "actor", *LONG_PLAN, before=words)
    assert code == 4
    [line] = run.errors
    assert "the session log cannot be written: No space left on device" in line
    path = session_path(copied)
    assert path is not None
    assert path.read_bytes().endswith(b"\n"), "the last line is incomplete"
    run.sessions = copied
    events = run.events()
    samples = events_of(events, Sample)
    assert len(samples) >= 2
    assert_no_gap_between_samples(events)
    assert target_states(events)[:2] == ["starting", "ready"]
    assert len(export(copied)["levels"]) == 1


@pytest.mark.parametrize("redirection", ["> /dev/full", ">&- 2>&-", "2>&1 | true"])
def test_a_run_whose_output_cannot_be_written_is_finished_and_saved(tmp_path: Path, redirection: str) -> None:
    run, _ = run_to_end(tmp_path, "actor", *SHORT_PLAN, before=("sh", "-c", f'"$@" {redirection}', "sh"))
    events = run.events()
    assert [closed.index for closed in events_of(events, LevelClosed)] == [0]
    assert ended(events).exit_code == (0 if any(sample.settled for sample in events_of(events, Sample)) else 4)
    if redirection == "> /dev/full":
        assert f"stdout: cannot be written: No space left on device; saved: {session_path(run.sessions)}" in run.stderr


@pytest.mark.parametrize("is_blocked", [False, True])
def test_a_log_that_is_removed_is_written_again_or_ends_the_run(tmp_path: Path, is_blocked: bool) -> None:
    with started_run(tmp_path, "actor", *LONG_PLAN) as run:
        before = run.wait_for_events(Sample)
        shutil.rmtree(run.sessions)
        if is_blocked:
            run.sessions.write_text("a file in place of the folder")
            assert run.exit_code() == 4
            assert any("Not a directory" in line for line in run.errors), run.stderr
            return
        wait_until(lambda: len(events_of(run.events(), Sample)) > len(before), "the log with further seconds")
        run.process.send_signal(signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    assert "removed" in run.stderr
    assert events_of(run.events(), Sample)[: len(before)] == before
    assert ended(run.events()).exit_code == 128 + signal.SIGTERM


@needs_tmux
def test_the_screen_shows_a_target_that_failed_or_died_and_restarts_it(tmp_path: Path) -> None:
    with on_screen(tmp_path, "actor", "--set", "act=dies_at_start", size=(80, 24)) as screen:
        screen.wait_for_text("actor", "failed", "no configuration found", "press t to restart it")
        screen.press("t")
        screen.wait_for(lambda text: re.search(r"act +dies_at_start", text), "the form with the target's parameters")
        screen.press("C-u")
        screen.wait_for(lambda text: re.search(r"act +│", text), "an empty field")
        screen.type("serves")
        screen.wait_for(lambda text: re.search(r"act +serves ", text), "the new value")
        screen.press("Enter")
        screen.wait_for_text("ready", "users 2 ", "level ")
        os.kill(events_of(screen.events(), Target)[-1].pid or 0, signal.SIGKILL)
        screen.wait_for_text("actor", "died", "SIGKILL", "press t to restart it")
        assert screen.quit() == 4
        assert "capexplorer: actor: the target died: SIGKILL" in screen.text()
    events = screen.events()
    assert target_states(events) == ["starting", "failed", "starting", "ready", "died"]
    assert ended(events).exit_code == 4


@needs_tmux
def test_a_full_disk_is_reported_on_the_screen(tmp_path: Path, mounted: Callable[[str], list[str]]) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    words = mounted(f"mount -t tmpfs -o size=4k none {folder}")
    with on_screen(tmp_path, "actor", size=(120, 40), before=words) as screen:
        screen.wait_for_text("No space left on device", "users 0")  # the path before it may be too long for the line
        screen.wait_for_text("Limited by a session log that cannot be written")  # a busy machine may be a second cause
        screen.press("f")
        screen.wait_for_text("Host", "Free space where sessions are saved", "the users were stopped")
        screen.press("q")  # without load it quits without a question
        assert screen.exit_code() == 4
        assert "No space left on device" in screen.text()


INJECTED_DEFECT = """
from capexplorer.analysis.causes.cause_detector import CauseDetector
from capexplorer.model.events import Sample
original_apply, samples = CauseDetector.process, []
def process(self, event):
    if isinstance(event, Sample) and event.users == 2:
        samples.append(event)
    if len(samples) > 2:
        raise ValueError("a defect for the test")
    return original_apply(self, event)
CauseDetector.process = process
"""
"""As sitecustomize.py: capexplorer's analysis raises an exception at the third sample of two users."""


def test_a_defect_of_capexplorer_ends_the_load_and_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    """Before, the users continued without being recorded, and the process crashed at its end (exit code 139)."""
    (tmp_path / "sitecustomize.py").write_text(INJECTED_DEFECT, encoding="utf-8")
    before = ("env", f"PYTHONPATH={tmp_path}")
    run, code = run_to_end(tmp_path, "actor", "--headless", "--plan", "2:20s", before=before)
    assert code == 1, run.stderr
    assert "a defect in capexplorer: ValueError: a defect for the test" in run.stderr
    assert events_of(run.events(), Sample)[-1].users == 2, "samples from before the defect are in the session"
