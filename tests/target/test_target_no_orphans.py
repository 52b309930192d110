"""No process of a target survives, whichever process dies first: the target, the supervisor or the app."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kit.package import PACKAGE

from capexplorer.errors import TargetError
from capexplorer.procs.processes import is_alive
from capexplorer.read.target import TargetProbe

from .target_rig import (
    IGNORES_SIGTERM,
    LEAVES_A_DAEMON,
    LEAVES_WORKERS_AND_A_DAEMON,
    MIXED,
    PRINTS_AND_SLEEPS,
    ROOT,
    TIMEOUT_S,
    Rig,
    becomes_true,
    below,
    children,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the supervisor needs POSIX")


def test_processes_that_a_crashed_target_leaves_running_are_ended(rig: Rig) -> None:
    run = rig.run(LEAVES_A_DAEMON)
    assert rig.printed("daemon")
    daemon = int(rig.supervisor.output[0].split()[1])
    os.kill(rig.started(run), signal.SIGKILL)
    assert not rig.exited(run).stopped
    assert not is_alive(daemon)


def test_when_the_supervisor_is_killed_the_target_ends_and_the_app_gets_a_report(rig: Rig) -> None:
    run = rig.run(IGNORES_SIGTERM)
    pid = rig.started(run)
    os.kill(rig.supervisor_pid, signal.SIGKILL)
    exited = rig.exited(run)
    assert (exited.stopped, exited.reason) == (False, "the supervisor process ended")
    assert becomes_true(lambda: not is_alive(pid))
    rig.supervisor.stop()
    with pytest.raises(TargetError, match="the supervisor process is gone"):
        rig.run(PRINTS_AND_SLEEPS)


def test_the_kernel_ends_the_target_of_a_killed_supervisor_without_the_app(tmp_path: Path) -> None:
    with app(tmp_path, IGNORES_SIGTERM) as (process, pids):
        os.kill(process.pid, signal.SIGSTOP)
        os.kill(pids["supervisor"], signal.SIGKILL)
        assert becomes_true(lambda: not is_alive(pids["target"]))


def test_terminal_signals_do_not_reach_or_end_the_supervisor(rig: Rig) -> None:
    run = rig.run(PRINTS_AND_SLEEPS)
    rig.started(run)
    for pid in (rig.supervisor._process.pid, rig.supervisor_pid):
        assert os.getsid(pid) == pid
        for number in (signal.SIGINT, signal.SIGHUP):
            os.kill(pid, number)
    rig.supervisor.stop()
    assert rig.exited(run).stopped


def test_sigterm_ends_the_supervisor_normally(rig: Rig) -> None:
    run = rig.run(PRINTS_AND_SLEEPS)
    pid = rig.started(run)
    os.kill(rig.supervisor_pid, signal.SIGTERM)
    assert rig.exited(run).signal == "SIGTERM"
    assert not is_alive(pid)


APP = """
import json, os, sys, time, threading
from pathlib import Path
from capexplorer.target.spec import load_spec
from capexplorer.target.supervisor import Supervisor

supervisor = Supervisor.launch()
supervisor.listen(lambda work: threading.Thread(target=work, daemon=True).start(), lambda report: None)
supervisor.start(load_spec(Path(sys.argv[1])), {}, 8000)
while not supervisor.output:
    time.sleep(0.01)
print(json.dumps({"watcher": supervisor._process.pid, "target": supervisor.pid}), flush=True)
time.sleep(600)
"""


@contextmanager
def app(folder: Path, program: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, int]]]:
    """An app, a process of its own, that has started a target; with the pids of its supervisor and its target."""
    (folder / "small.py").write_text(program, encoding="utf-8")
    (folder / "target.toml").write_text('title = "x"\ncommand = ["{python}", "small.py"]\n', encoding="utf-8")
    command = [sys.executable, "-c", APP, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            pids = json.loads(process.stdout.readline())
            yield process, {"app": process.pid, "supervisor": children(pids["watcher"])[0], **pids}
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_nothing_of_the_target_survives_any_end_of_the_app(tmp_path: Path, number: int) -> None:
    with app(tmp_path, LEAVES_A_DAEMON) as (process, pids):
        assert becomes_true(lambda: len(below(pids["supervisor"])) == 2)
        family = [pids["watcher"], *below(pids["watcher"])]
        os.killpg(process.pid, number)
        assert becomes_true(lambda: not [pid for pid in family if is_alive(pid)])


@pytest.mark.parametrize("killed", ["app", "supervisor", "watcher", "app supervisor", "app watcher"])
def test_no_worker_and_no_daemon_of_the_target_survives_any_kill(tmp_path: Path, killed: str) -> None:
    with app(tmp_path, LEAVES_WORKERS_AND_A_DAEMON) as (process, pids):
        family = [pids["watcher"], *below(pids["watcher"])]
        assert len(family) == 2 + 4
        for name in killed.split():
            os.kill(pids[name], signal.SIGKILL)
        assert becomes_true(lambda: not [pid for pid in family if is_alive(pid)])


def test_a_supervisor_that_hangs_is_ended_with_all_of_the_target_when_the_app_closes(rig: Rig) -> None:
    rig.run(LEAVES_WORKERS_AND_A_DAEMON)
    assert rig.printed("up")
    family = [rig.supervisor._process.pid, *below(rig.supervisor._process.pid)]
    os.kill(rig.supervisor_pid, signal.SIGSTOP)
    rig.supervisor.close(grace_s=0.1)
    assert not [pid for pid in family if is_alive(pid)]


IN_A_PATCHED_PROCESS = """
import sys, time
from pathlib import Path
from capexplorer.target.place import free_port
from capexplorer.target.ready import wait_until_ready
from capexplorer.target.spec import load_spec
from capexplorer.target.supervisor import Supervisor

supervisor = Supervisor.launch()
from gevent import monkey
monkey.patch_all()
import gevent
gevent.sleep(0.01)  # the main thread has a hub from here on
start_native_thread = monkey.get_original("_thread", "start_new_thread")
sleep = monkey.get_original("time", "sleep")
reports, done = [], []

def explore():
    spec, port = load_spec(Path(sys.argv[1])), free_port()
    for threads in (4, 8):
        run = supervisor.start(spec, spec.resolve({"threads": threads}), port)
        wait_until_ready(supervisor, run, spec, port, sleep=sleep)
    done.append(True)

supervisor.listen(lambda work: start_native_thread(work, ()), reports.append)
start_native_thread(explore, ())
while not done:
    gevent.sleep(0.01)
supervisor.close(grace_s=20)
for report in reports:
    print(type(report).__name__, getattr(report, "signal", None))
"""


def test_the_supervisor_works_in_a_process_that_gevent_patched_after_its_launch() -> None:
    command = [sys.executable, "-c", IN_A_PATCHED_PROCESS, str(MIXED)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=TIMEOUT_S * 2)
    assert process.stderr == ""
    assert process.stdout.splitlines() == ["Started None", "Exited SIGTERM", "Started None", "Exited SIGTERM"]


def test_the_supervisor_process_imports_the_standard_library_only() -> None:
    program = (
        f"import sys; sys.path.append({str(PACKAGE.parent)!r}); import capexplorer.target.supervisor_process\n"
        "ours = {name for name in sys.modules if name.startswith('capexplorer')}\n"
        "foreign = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'__main__', 'capexplorer'}\n"
        "print(*ours); print(*foreign); print('threading' in sys.modules and sys.modules['threading'].active_count())"
    )
    printed = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True).stdout
    ours, foreign, threads = printed.splitlines()
    rooms = {name.split(".")[1] for name in ours.split() if name != "capexplorer"}
    assert rooms <= {"target", "procs"}
    assert (foreign, threads) == ("", "1")


def test_a_daemon_that_left_the_targets_tree_before_it_was_seen_is_read_and_an_auxiliary_process_is_not(rig: Rig) -> None:
    run = rig.run(LEAVES_A_DAEMON)
    assert rig.printed("daemon")
    rig.supervisor.start_auxiliary([sys.executable, "-c", "import time; time.sleep(600)"], {}, rig.reports.append)
    assert becomes_true(lambda: len(children(rig.supervisor_pid)) == 3)
    probe = TargetProbe(rig.started(run))
    assert probe.read(1.0).processes == 2
    probe.close()
