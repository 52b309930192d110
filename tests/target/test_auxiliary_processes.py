"""Auxiliary processes: several run at once, each with its own run number, and none survives the app or the supervisor."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from capexplorer.target.supervisor import Exited, Output, Report, Started

from .target_rig import LEAVES_A_DAEMON, PRINTS_AND_SLEEPS, Rig, becomes_true, is_alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process sessions are distinguished on Linux only")

SLEEPS = "import time; print('here', flush=True); time.sleep(600)"


class Auxiliary:
    """One auxiliary process, and the reports on it."""

    def __init__(self, rig: Rig, program: str = SLEEPS) -> None:
        self.reports: list[Report] = []
        self.run = rig.supervisor.start_auxiliary([sys.executable, "-c", program], {}, self.reports.append)
        assert becomes_true(lambda: self.of(Started))
        self.pid = self.of(Started)[0].pid

    def of(self, kind: type) -> list:  # type: ignore[type-arg]
        return [report for report in self.reports if isinstance(report, kind)]

    def exited(self) -> Exited:
        assert becomes_true(lambda: self.of(Exited))
        found = self.of(Exited)[0]
        assert isinstance(found, Exited)
        return found


def test_auxiliary_processes_survive_a_restart_of_the_target(rig: Rig) -> None:
    one, two = Auxiliary(rig), Auxiliary(rig)
    first = rig.run(PRINTS_AND_SLEEPS)
    pid = rig.started(first)
    second = rig.run(PRINTS_AND_SLEEPS)
    assert rig.exited(first).stopped
    assert not is_alive(pid)
    rig.started(second)
    rig.supervisor.stop()
    rig.exited(second)
    assert is_alive(one.pid)
    assert is_alive(two.pid)


def test_an_auxiliary_process_is_stopped_alone_and_has_its_own_reports(rig: Rig) -> None:
    one, two = Auxiliary(rig), Auxiliary(rig)
    target = rig.run(PRINTS_AND_SLEEPS)
    rig.started(target)
    assert becomes_true(lambda: any(report.lines == ("here",) for report in one.of(Output)))
    rig.supervisor.stop_auxiliary(one.run)
    ended = one.exited()
    assert (ended.stopped, ended.signal) == (True, "SIGTERM")
    assert is_alive(two.pid)
    assert rig.supervisor.runs(target)
    assert not any(report.run in (one.run, two.run) for report in rig.reports)


def test_the_children_of_a_killed_auxiliary_process_are_ended(rig: Rig) -> None:
    forks = "import subprocess, sys; c = subprocess.Popen(['sleep', '600']); print(c.pid, flush=True); c.wait()"
    one = Auxiliary(rig, forks)
    assert becomes_true(lambda: one.of(Output))
    child = int(one.of(Output)[0].lines[0])
    os.kill(one.pid, signal.SIGKILL)
    ended = one.exited()
    assert (ended.stopped, ended.signal) == (False, "SIGKILL")
    assert not is_alive(child)


def test_a_stopped_process_is_killed_after_the_grace(rig: Rig) -> None:
    one = Auxiliary(rig)
    os.kill(one.pid, signal.SIGSTOP)
    rig.supervisor.stop_auxiliary(one.run, grace_s=0.0)
    assert one.exited().signal == "SIGKILL"


def test_a_daemon_of_the_target_belongs_to_the_target(rig: Rig) -> None:
    one = Auxiliary(rig)
    run = rig.run(LEAVES_A_DAEMON)
    assert rig.printed("daemon")
    daemon = int(rig.supervisor.output[0].split()[1])
    rig.supervisor.stop()
    rig.exited(run)
    assert not is_alive(daemon)
    assert is_alive(one.pid)


def test_no_auxiliary_process_outlives_the_supervisor_and_the_app_gets_a_report(rig: Rig) -> None:
    one = Auxiliary(rig)
    os.kill(rig.supervisor_pid, signal.SIGKILL)
    assert one.exited().reason == "the supervisor process ended"
    assert becomes_true(lambda: not is_alive(one.pid))


def test_no_auxiliary_process_outlives_a_close(rig: Rig) -> None:
    one = Auxiliary(rig)
    rig.supervisor.close()
    assert not is_alive(one.pid)
