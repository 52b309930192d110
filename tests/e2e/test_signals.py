"""However a run is ended: a complete session (killed: all but about a second), no process left, the terminal as it was.

How much a killed run loses: trials/results/kills.json (median 0.5 s, at most 1.01 s).
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from capexplorer.model.events import Ended, Event, LevelClosed, Sample, Target

from .pty_rig import OnTerminal, modes_left_on, on_terminal
from .rig import HERE, of, session_path, start

pytestmark = pytest.mark.slow

ENDS_WITH_TERMINAL = str(HERE / "profiles" / "ends-with-terminal.toml")
"""As before there were attached screens: `unattended_s = 0`."""
PLAN = ("--headless", "--plan", "3:60s")
BELOW_SH = f"sh -c '{sys.executable} {HERE}/targets/actor/actor.py {{port}} serves; :'"
"""A target whose first process keeps the signals as it got them, unlike Python, which handles SIGINT by itself."""


def assert_complete(events: list[Event], number: signal.Signals) -> None:
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.signal, ended.exit_code, ended.reason) == (number.name, 128 + number, f"ended by {number.name}")
    assert [target.state for target in of(events, Target)] == ["starting", "ready", "stopping", "stopped"]
    assert len(of(events, LevelClosed)) == ended.levels >= 1
    ticks = [tick for sample in of(events, Sample) for tick in sample.endpoints]
    assert ended.requests == sum(tick.requests + tick.warmup_requests for tick in ticks) > 0


# SIGINT comes twice below, SIGTERM where the others are ignored.
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_signal_ends_a_headless_run_with_a_complete_session(tmp_path: Path, number: signal.Signals) -> None:
    with start(tmp_path, "actor", *PLAN) as run:
        run.until(Sample)
        os.kill(run.process.pid, number)
        assert run.exit_code() == 128 + number
    assert_complete(run.events(), number)
    assert run.stdout == f"{session_path(run.sessions)}\n"
    assert "Traceback" not in run.stderr


def test_a_second_signal_while_it_ends_changes_nothing(tmp_path: Path) -> None:
    with start(tmp_path, "actor", *PLAN) as run:
        run.until(Sample)
        os.kill(run.process.pid, signal.SIGINT)
        os.kill(run.process.pid, signal.SIGINT)
        assert run.exit_code() == 130
    assert_complete(run.events(), signal.SIGINT)
    assert run.stdout == f"{session_path(run.sessions)}\n"
    assert "Traceback" not in run.stderr


def test_a_signal_before_the_session_exists_ends_it_at_once(tmp_path: Path) -> None:
    with start(tmp_path, "actor", *PLAN) as run:
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() in (128 + signal.SIGTERM, -signal.SIGTERM)  # the interpreter itself may not be up yet


def assert_given_back(run: OnTerminal) -> None:
    """The stream ends on the main screen, with the cursor, without mouse and paste modes, and a line about the session."""
    written = run.written
    assert "\x1b[?1049h" in written
    _, leave, rest = written.rpartition("\x1b[?1049l")
    assert leave, "the alternate screen was not left"
    assert "\x1b[?1049h" not in rest
    assert not modes_left_on(written)
    assert f"saved: {session_path(run.sessions)}" in rest


# SIGHUP comes from the terminal below; tests/tui/test_terminal.py sends each of them to a screen without a run.
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_signal_ends_the_live_screen_and_restores_the_terminal(tmp_path: Path, number: signal.Signals) -> None:
    with on_terminal(tmp_path, ENDS_WITH_TERMINAL) as run:
        before = run.settings()
        run.wait_for(lambda: of(run.events(), Sample), "a sample")
        assert run.settings() != before
        os.kill(run.process.pid, number)
        assert run.exit_code() == 128 + number
        assert run.settings() == before
        assert_given_back(run)
    assert_complete(run.events(), number)


def test_quitting_restores_the_terminal(tmp_path: Path) -> None:
    with on_terminal(tmp_path, "actor") as run:
        before = run.settings()
        run.wait_for(lambda: of(run.events(), Sample), "a sample")
        run.type("q")
        run.wait_for(lambda: "Quit?" in run.written, "the question")
        run.type("y")
        assert run.exit_code() == 0
        assert run.settings() == before
        assert_given_back(run)
    ended = run.events()[-1]
    assert isinstance(ended, Ended) and (ended.signal, ended.exit_code) == (None, 0)


def test_a_terminal_that_hangs_up_ends_it_with_a_complete_session(tmp_path: Path) -> None:
    with on_terminal(tmp_path, ENDS_WITH_TERMINAL) as run:
        run.wait_for(lambda: of(run.events(), Sample), "a sample")
        run.hang_up()
        assert run.exit_code() == 128 + signal.SIGHUP
    assert_complete(run.events(), signal.SIGHUP)


def assert_killed_run_kept_its_record(run_events: list[Event], last_seen: Sample) -> None:
    assert not of(run_events, Ended)
    samples = of(run_events, Sample)
    assert samples[-1].t_s >= last_seen.t_s
    for before, after in zip(samples, samples[1:], strict=False):
        assert after.t_s - after.duration_s == pytest.approx(before.t_s, abs=0.01)


def test_killed_headless_it_loses_at_most_the_last_second_and_leaves_no_process(tmp_path: Path) -> None:
    with start(tmp_path, "actor", *PLAN) as run:
        target = run.target_pid()
        seen = run.until(Sample, count=3)
        assert target in run.marked.processes()
        run.process.kill()
        assert run.exit_code() == -signal.SIGKILL
    assert_killed_run_kept_its_record(run.events(), seen[-1])


def test_killed_on_screen_it_leaves_no_process_and_restores_the_terminal(tmp_path: Path) -> None:
    with on_terminal(tmp_path, "actor") as run:
        before = run.settings()
        run.wait_for(lambda: len(of(run.events(), Sample)) >= 3, "three samples")
        seen = of(run.events(), Sample)
        assert modes_left_on(run.written)
        run.process.kill()
        assert run.exit_code() == -signal.SIGKILL
        assert run.settings() == before
        assert not modes_left_on(run.written)
    assert_killed_run_kept_its_record(run.events(), seen[-1])


IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
IGNORING = ("sh", "-c", 'trap "" INT HUP QUIT; exec "$@"', "sh")


def ignored_by(pid: int) -> set[int]:
    """Numbers of the signals that a process ignores."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    mask = int(status.partition("SigIgn:")[2].split()[0], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def test_signals_that_were_ignored_at_the_start_stay_ignored_but_not_for_the_target(tmp_path: Path) -> None:
    with start(tmp_path, "actor", "--target-cmd", BELOW_SH, "--ready", "/", *PLAN, before=IGNORING) as run:
        target, seen = run.target_pid(), run.until(Sample)
        assert set(IGNORED) <= ignored_by(run.process.pid)
        assert not ignored_by(target) & set(IGNORED)
        for number in IGNORED:
            os.kill(run.process.pid, number)
        run.until(Sample, count=len(seen) + 3)
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    assert_complete(run.events(), signal.SIGTERM)
