"""However a signal ends a run: a complete session, no process left, the terminal as it was. Killed runs: test_kills_short.py."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from capexplorer.commands.signals import SIGNALS
from capexplorer.model.events import Ended, Event, LevelClosed, Sample, Target

from .pty_rig import on_terminal
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


def numbers_of(pid: int, which: str) -> set[int]:
    """Numbers of the signals in one of the kernel's masks of a process: `SigIgn` ignored, `SigCgt` caught."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    mask = int(status.partition(f"{which}:")[2].split()[0], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def test_a_signal_ends_a_headless_run_with_a_complete_session_and_a_second_one_changes_nothing(tmp_path: Path) -> None:
    with start(tmp_path, "actor", *PLAN) as run:
        run.until(Sample)
        assert set(SIGNALS) <= numbers_of(run.process.pid, "SigCgt")
        os.kill(run.process.pid, signal.SIGHUP)
        os.kill(run.process.pid, signal.SIGHUP)
        assert run.exit_code() == 128 + signal.SIGHUP
    assert_complete(run.events(), signal.SIGHUP)
    assert run.stdout == f"{session_path(run.sessions)}\n"
    assert "Traceback" not in run.stderr


def test_a_signal_before_the_session_exists_ends_it_at_once(tmp_path: Path) -> None:
    with start(tmp_path, "actor", *PLAN) as run:
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() in (128 + signal.SIGTERM, -signal.SIGTERM)  # the interpreter itself may not be up yet


# SIGHUP comes from the terminal below, other signals in test_idle_signal.py; test_attach.py quits by a key.
def test_a_signal_ends_the_live_screen_and_restores_the_terminal(tmp_path: Path) -> None:
    with on_terminal(tmp_path, ENDS_WITH_TERMINAL) as run:
        before = run.settings()
        run.wait_for(lambda: of(run.events(), Sample), "a sample")
        assert run.settings() != before
        os.kill(run.process.pid, signal.SIGQUIT)
        assert run.exit_code() == 128 + signal.SIGQUIT
        assert run.settings() == before
        run.assert_given_back()
    assert_complete(run.events(), signal.SIGQUIT)


def test_a_terminal_that_hangs_up_ends_it_with_a_complete_session(tmp_path: Path) -> None:
    with on_terminal(tmp_path, ENDS_WITH_TERMINAL) as run:
        run.wait_for(lambda: of(run.events(), Sample), "a sample")
        run.hang_up()
        assert run.exit_code() == 128 + signal.SIGHUP
    assert_complete(run.events(), signal.SIGHUP)


IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
IGNORING = ("sh", "-c", 'trap "" INT HUP QUIT; exec "$@"', "sh")


def test_signals_that_were_ignored_at_the_start_stay_ignored_but_not_for_the_target(tmp_path: Path) -> None:
    with start(tmp_path, "actor", "--target-cmd", BELOW_SH, "--ready", "/", *PLAN, before=IGNORING) as run:
        target, seen = run.target_pid(), run.until(Sample)
        assert set(IGNORED) <= numbers_of(run.process.pid, "SigIgn")
        assert not numbers_of(target, "SigIgn") & set(IGNORED)
        for number in IGNORED:
            os.kill(run.process.pid, number)
        run.until(Sample, count=len(seen) + 2)
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    assert_complete(run.events(), signal.SIGTERM)
