"""What goes wrong in a run: the target, the disk, user code. One clear line, the exit code, and nothing recorded is lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from programs import require

from capexplorer.model.events import Ended, LevelClosed, Log, Mark, Sample, Target

from .pty_rig import on_terminal
from .rig import HERE, ended, export, of, session_path, start
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow

PLAN = ("--headless", "--plan", "2:3s")
NEVER = f"{sys.executable} -c 'import signal; signal.pause()' {{port}}"
LONG = ("--headless", "--plan", "2:60s")


def error_lines(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("capexplorer: ")]


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ((f"{sys.executable} -c 'print(4711); exit(3)' {{port}}",), "ended before it was ready (exit code 3): 4711"),
        ((NEVER, "--ready-timeout", "1.5"), "not ready after 1.5 s: GET http://127.0.0.1:"),
    ],
)
def test_a_target_that_does_not_start_ends_the_run_with_4_and_its_reason(
    tmp_path: Path, arguments: tuple[str, ...], reported: str
) -> None:
    run, code = ended(tmp_path, "--target-cmd", *arguments, *PLAN)
    assert code == 4
    [line] = error_lines(run.stderr)
    assert reported in line
    assert run.stderr.partition(line)[0] == "target failed\n"
    assert run.stdout == f"{session_path(run.sessions)}\n"
    events = run.events()
    assert [event.state for event in of(events, Target)] == ["starting", "failed"]
    assert isinstance(events[-1], Ended)
    assert events[-1].exit_code == 4
    assert reported in events[-1].reason


def test_a_target_that_dies_during_a_run_ends_it_with_4_and_a_complete_session(tmp_path: Path) -> None:
    with start(tmp_path, "actor", *LONG) as run:
        target = run.target_pid()
        run.until(Sample, lambda sample: sample.endpoints, count=2)
        os.kill(target, signal.SIGKILL)
        assert run.exit_code() == 4
    assert error_lines(run.stderr) == ["capexplorer: actor: the target died: SIGKILL"]
    events = run.events()
    assert [(event.state, event.signal) for event in of(events, Target)][-1] == ("died", "SIGKILL")
    assert len(of(events, LevelClosed)) == 1
    assert isinstance(events[-1], Ended) and events[-1].exit_code == 4
    assert export(run.sessions)["session"]["complete"] is True


def test_output_of_a_dead_target_is_shown_and_its_escapes_are_not_obeyed(tmp_path: Path) -> None:
    with on_terminal(tmp_path, "actor", "--set", "act=dies_hostile", *PLAN) as run:
        assert run.exit_code() == 4
        written = run.written
    assert written.count("\\x1b[2J\\x1b[H\\x1b[31mHOSTILE\\x1b[0m") == 2  # the error, and the output below it
    assert "[bold red]markup[/bold red] [/nothing] end" in written
    for obeyed in ("\x1b[2J", "\x1b[31m", "\x1b]0;", "\x07", "\x9b"):
        assert obeyed not in written


def test_a_sessions_folder_that_cannot_be_created_is_refused_in_one_line(tmp_path: Path) -> None:
    """`tests/session/test_writer.py` has a folder that is not writable."""
    (tmp_path / "file").write_text("a file, not a folder")
    with start(tmp_path, "actor", *PLAN, sessions=tmp_path / "file" / "sessions") as run:
        assert run.exit_code() == 4
    assert run.stdout == ""
    [line] = run.stderr.splitlines()
    assert line.startswith("capexplorer: ") and str(tmp_path / "file") in line


def in_namespace(script: str) -> list[str]:
    """Words that run what follows them in a mount namespace of its own, after a script; needs root."""
    require("unshare")
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    words = ["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("mounts are not allowed here")
    return words


def test_a_full_disk_ends_the_run_with_4_and_what_was_recorded_is_readable(tmp_path: Path) -> None:
    """What was recorded before is read back: the log is copied out of its tiny disk as the run ends."""
    folder, kept = tmp_path / "sessions", tmp_path / "kept"
    folder.mkdir()
    kept.mkdir()
    words = in_namespace(f"mount -t tmpfs -o size=8k none {folder}")
    words[4] = words[4].replace('exec "$@"', f'{{ "$@"; code=$?; cp {folder}/* {kept}; exit $code; }}')
    run, code = ended(tmp_path, "actor", *LONG, before=words)
    assert code == 4
    [line] = error_lines(run.stderr)
    assert "the session log cannot be written: No space left on device" in line
    path = session_path(kept)
    assert path is not None and path.read_bytes().endswith(b"\n")
    run.sessions = kept
    events = run.events()
    samples = of(events, Sample)
    assert len(samples) >= 2
    for before, after in zip(samples, samples[1:], strict=False):
        assert after.t_s - after.duration_s == pytest.approx(before.t_s, abs=0.01)
    assert [event.state for event in of(events, Target)][:2] == ["starting", "ready"]
    assert len(export(kept)["levels"]) == 1


@needs_tmux
def test_a_target_that_fails_is_reported_on_the_screen_and_can_be_restarted(tmp_path: Path) -> None:
    with on_screen(tmp_path, "actor", "--set", "act=dies_at_start", size=(80, 24)) as screen:
        screen.shows("actor", "failed", "no configuration found", "press t to restart it")
        screen.press("t")
        screen.once(lambda text: re.search(r"act +dies_at_start", text), "the form")
        screen.press("C-u")
        screen.once(lambda text: re.search(r"act +│", text), "an empty field")
        screen.type("serves")
        screen.once(lambda text: re.search(r"act +serves ", text), "the new value")
        screen.press("Enter")
        screen.shows("ready", "users 2 ", "level ")
        os.kill(of(screen.events(), Target)[-1].pid or 0, signal.SIGKILL)
        screen.shows("actor", "died", "SIGKILL", "press t to restart it")
        screen.press("q")
        screen.shows("Quit?")
        screen.press("y")
        assert screen.exit_code() == 4
        assert "capexplorer: actor: the target died: SIGKILL" in screen.text()
    events = screen.events()
    assert [target.state for target in of(events, Target)] == ["starting", "failed", "starting", "ready", "died"]
    assert isinstance(events[-1], Ended) and events[-1].exit_code == 4


@needs_tmux
def test_a_full_disk_is_reported_on_the_screen(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    words = in_namespace(f"mount -t tmpfs -o size=4k none {folder}")
    with on_screen(tmp_path, "actor", size=(120, 40), before=words) as screen:
        screen.shows("not be written: No space left on device", "users 0")
        screen.shows("the session log cannot be written", "1 cause (f)", "Limited by a session log that cannot be written")
        screen.press("f")
        screen.shows("Host", "Free space where sessions are saved", "the users were stopped")
        screen.press("q")  # no load runs, so it does not ask
        assert screen.exit_code() == 4
        assert "No space left on device" in screen.text()


BREAKS_IN_ON_START = """
from itertools import count
from locust import HttpUser, constant, task
born = count()
class Fragile(HttpUser):
    wait_time = constant(0.2)
    def on_start(self):
        if next(born) < 3:
            raise RuntimeError("no seat \\x1b[2J[bold]left[/bold]")
    @task
    def sit(self):
        self.client.get("/sit")
"""


def test_users_that_die_in_on_start_are_replaced_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "fragile.py"
    path.write_text(BREAKS_IN_ON_START, encoding="utf-8")
    run, code = ended(tmp_path, "actor", "-f", str(path), "--headless", "--plan", "4:5s")
    assert code == 0, run.stderr
    events = run.events()
    marks = [mark for mark in of(events, Mark) if mark.kind == "cause"]
    assert {mark.id for mark in marks} == {"user_code_error"}
    evidence = marks[-1].finding.figures()
    assert evidence["count"] == evidence["users_replaced"] == 3
    assert "RuntimeError: no seat" in evidence["example"] and "fragile.py:9 in on_start" in evidence["example"]
    assert of(events, Sample)[-1].users == 4
    level = export(run.sessions)["levels"][-1]
    assert level["settled"] and level["requests"] > 0
    assert "error: cause: user code error at 4 users" in run.stderr and "\x1b" not in run.stderr


def test_load_to_a_host_that_is_not_allowed_is_refused_where_it_connects(tmp_path: Path) -> None:
    path = tmp_path / "abroad.py"
    path.write_text(
        "from locust import HttpUser, constant, task\n"
        "class Abroad(HttpUser):\n    wait_time = constant(0.2)\n"
        "    @task\n    def go(self):\n        self.client.get('http://192.0.2.1/away')\n",
        encoding="utf-8",
    )
    run, code = ended(tmp_path, "actor", "-f", str(path), "--headless", "--plan", "1:2s")
    assert code == 4, run.stderr
    assert "capexplorer: no request succeeded: " in run.stderr
    reported = [log for log in of(run.events(), Log) if "load to 192.0.2.1 is not allowed and was refused" in log.text]
    assert len(reported) == 1
    assert "load to 192.0.2.1 is not allowed" in run.stderr
    failures = [failure for sample in of(run.events(), Sample) for failure in sample.failures]
    assert failures and all("HostNotAllowed" in failure.signature.types for failure in failures)


DEFECT = """
from capexplorer.analysis.causes.cause_detector import CauseDetector
from capexplorer.model.events import Sample
whole, seen = CauseDetector.process, []
def process(self, event):
    if isinstance(event, Sample) and event.users == 2:
        seen.append(event)
    if len(seen) > 2:
        raise ValueError("a defect for the test")
    return whole(self, event)
CauseDetector.process = process
"""


def test_a_defect_of_capexplorer_ends_the_load_and_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    """Without this the users continued unrecorded, and the process crashed at its end (exit code 139)."""
    (tmp_path / "sitecustomize.py").write_text(DEFECT, encoding="utf-8")
    before = ("env", f"PYTHONPATH={tmp_path}")
    run, code = ended(tmp_path, "actor", "--headless", "--plan", "2:20s", before=before)
    assert code == 1, run.stderr
    assert "a defect in capexplorer: ValueError: a defect for the test" in run.stderr
    assert of(run.events(), Sample)[-1].users == 2  # nothing recorded is lost


def test_no_sessions_folder_is_left_beside_the_tests() -> None:
    assert not (HERE / "sessions").exists()
