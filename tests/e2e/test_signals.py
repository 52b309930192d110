"""A run that a signal ends has a complete session, leaves no process, restores the terminal. SIGKILL: tests/lab/test_kills.py."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Literal

import pytest
from programs import needs

from capexplorer.commands.terminal import SIGNALS
from capexplorer.model.events import Event, LevelClosed, Sample

from .rig import E2E_FOLDER, ended, events_of, on_terminal, session_path, started_run, target_states

pytestmark = pytest.mark.slow

ENDS_WITH_TERMINAL = str(E2E_FOLDER / "profiles" / "ends-with-terminal.toml")
"""A run by hand that ends at a hang-up of its terminal (`unattended_s = 0`)."""
PLAN = ("--headless", "--plan", "3:60s")
TARGET_IN_SH = f"sh -c '{sys.executable} {E2E_FOLDER}/targets/actor/actor.py {{port}} serves; :'"
"""A target whose first process is `sh`, which keeps inherited dispositions of signals: Python would catch SIGINT."""


def assert_complete(events: list[Event], number: signal.Signals) -> None:
    """The session of a run that this signal ended has all of its last events."""
    last = ended(events)
    assert (last.signal, last.exit_code) == (number.name, 128 + number)
    assert target_states(events) == ["starting", "ready", "stopping", "stopped"]
    assert len(events_of(events, LevelClosed)) == last.levels >= 1
    ticks = [tick for sample in events_of(events, Sample) for tick in sample.endpoints]
    assert last.requests == sum(tick.requests + tick.warmup_requests for tick in ticks) > 0


def signals_in_mask(pid: int, mask_name: Literal["SigIgn", "SigCgt"]) -> set[int]:
    """Numbers of the signals that a process ignores (SigIgn) or catches (SigCgt)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    mask = int(status.partition(f"{mask_name}:")[2].split()[0], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


def test_a_signal_sent_twice_ends_a_headless_run_with_a_complete_session(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", *PLAN) as run:
        run.wait_for_events(Sample, lambda sample: sample.endpoints)
        assert set(SIGNALS) <= signals_in_mask(run.process.pid, "SigCgt")
        os.kill(run.process.pid, signal.SIGHUP)
        os.kill(run.process.pid, signal.SIGHUP)
        assert run.exit_code() == 128 + signal.SIGHUP
    assert_complete(run.events(), signal.SIGHUP)
    assert run.stdout == f"{session_path(run.sessions)}\n"
    assert "Traceback" not in run.stderr


FIRST_PROCESS = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""Words of a command that runs another one as process 1 of a PID namespace, as a container's: only signals that it handles reach
it."""


@needs("unshare")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a PID namespace")
def test_the_first_process_of_a_container_ends_its_run_at_sigterm_with_a_complete_session(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", *PLAN, before=FIRST_PROCESS) as run:
        run.wait_for_events(Sample, lambda sample: any(target.cpu_ratio is not None for target in sample.targets))
        outside = run.process.pid
        [first] = map(int, Path(f"/proc/{outside}/task/{outside}/children").read_text().split())
        os.kill(first, signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    assert_complete(run.events(), signal.SIGTERM)


def test_a_signal_during_start_up_ends_the_run(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", *PLAN) as run:
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() in (128 + signal.SIGTERM, -signal.SIGTERM)  # negative before it has handlers of signals


# SIGTERM: test_idle_signal.py; quitting by a key: test_attach.py.
@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGHUP])
def test_a_signal_or_a_hang_up_ends_the_live_screen_with_a_complete_session(tmp_path: Path, number: signal.Signals) -> None:
    with on_terminal(tmp_path, ENDS_WITH_TERMINAL) as run:
        before = run.settings()
        run.wait_for_events(Sample, lambda sample: sample.endpoints)
        assert run.settings() != before
        if number == signal.SIGHUP:
            run.hang_up()
        else:
            os.kill(run.process.pid, number)
        assert run.exit_code() == 128 + number
        if number != signal.SIGHUP:
            assert run.settings() == before
            run.assert_terminal_restored()
    assert_complete(run.events(), number)


IGNORED_SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
IGNORE_SIGNALS = ("sh", "-c", 'trap "" INT HUP QUIT; exec "$@"', "sh")
"""Words of a command that runs another one with these signals ignored."""


def test_signals_ignored_when_the_run_starts_stay_ignored_in_the_run_and_not_in_the_target(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", "--target-cmd", TARGET_IN_SH, "--ready", "/", *PLAN, before=IGNORE_SIGNALS) as run:
        target, samples = run.target_pid(), run.wait_for_events(Sample)
        assert set(IGNORED_SIGNALS) <= signals_in_mask(run.process.pid, "SigIgn")
        assert not signals_in_mask(target, "SigIgn") & set(IGNORED_SIGNALS)
        for number in IGNORED_SIGNALS:
            os.kill(run.process.pid, number)
        run.wait_for_events(Sample, count=len(samples) + 2)
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    assert_complete(run.events(), signal.SIGTERM)
