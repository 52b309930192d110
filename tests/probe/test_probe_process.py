"""Generator and target, with real processes that work and that do not."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

from capexplorer.model.readings import TargetReading
from capexplorer.probe.generator import GeneratorProbe
from capexplorer.probe.parse import Schedule
from capexplorer.probe.program import program_of
from capexplorer.probe.syscalls import open_files, soft_limit_of_open_files
from capexplorer.probe.target import TargetProbe
from capexplorer.probe.threads import Thread

START = """
import os, resource, subprocess, sys, threading, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def say(): print(flush=True)
def start(code): return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
"""
IDLE = "say(); input()"
SLEEPER = "import time; time.sleep(60)"


@contextmanager
def python(code: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has said its first line. What it started ends with it."""
    with subprocess.Popen(
        [sys.executable, "-c", START + code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            os.killpg(process.pid, 9)


def all_cores() -> bool:
    return len(os.sched_getaffinity(0)) == os.cpu_count()


def read_twice(probe: TargetProbe, between_s: float) -> TargetReading:
    probe.read(1.0)
    before = time.monotonic()
    time.sleep(between_s)
    reading = probe.read(time.monotonic() - before)
    probe.close()
    return reading


def go_on(process: subprocess.Popen[str]) -> None:
    """Past its `input()`, to what it says next."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    process.stdout.readline()


def test_cpu_time_of_a_child_counts_as_the_targets() -> None:
    with python("start('while True: pass'); say(); input()") as process:
        reading = read_twice(TargetProbe(process.pid), 1.5)
    assert reading.cpu_ratio is not None and 0.05 < reading.cpu_ratio < 1.2
    assert reading.busiest_thread_ratio is not None and 0.05 < reading.busiest_thread_ratio <= 1.0
    assert (reading.processes, reading.threads, reading.alive) == (2, 2, True)


def test_a_target_that_does_nothing_uses_nothing() -> None:
    with python(IDLE) as process:
        reading = read_twice(TargetProbe(process.pid), 0.5)
    assert reading.cpu_ratio is not None and reading.cpu_ratio < 0.02
    assert reading.busiest_thread_ratio is not None and reading.busiest_thread_ratio < 0.02
    assert reading.run_delay_ratio is not None


def test_the_first_read_has_no_rates() -> None:
    with python(IDLE) as process:
        probe = TargetProbe(process.pid)
        reading = probe.read(1.0)
        probe.close()
    assert (reading.cpu_ratio, reading.busiest_thread_ratio, reading.run_delay_ratio, reading.read_bytes_per_s) == (None,) * 4
    assert reading.rss_bytes is not None and reading.rss_bytes > 1_000_000


def test_work_of_children_too_short_to_be_seen_is_not_lost() -> None:
    code = """
say(); input()
for _ in range(10):
    pid = os.fork()
    if not pid: burn(0.05); os._exit(0)
    os.waitpid(pid, 0)
say(); input()
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        probe.read(1.0)
        go_on(process)
        reading = probe.read(1.0)
        probe.close()
    assert reading.cpu_ratio is not None and 0.4 < reading.cpu_ratio < 0.7, "ten times 0.05 s"
    assert reading.processes == 1


def test_the_end_of_a_child_is_not_a_jump() -> None:
    code = """
pid = os.fork()
if not pid: burn(1.0); say(); time.sleep(60)
input(); os.kill(pid, 9); os.waitpid(pid, 0)
say(); time.sleep(60)
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        probe.read(1.0)
        go_on(process)
        readings = [probe.read(1.0) for _ in range(3)]
        probe.close()
    assert [reading.processes for reading in readings] == [1, 1, 1]
    for reading in readings:
        assert reading.cpu_ratio is not None and 0 <= reading.cpu_ratio < 0.3, "the child's whole second must not show here"


def test_children_of_other_threads_are_found() -> None:
    code = f"threading.Thread(target=lambda: (start({SLEEPER!r}), say(), input())).start()"
    with python(code) as process:
        probe = TargetProbe(process.pid)
        assert probe.read(1.0).processes == 2
        probe.close()


def test_orphans_stay_in_the_tree_and_the_root_is_reported_dead() -> None:
    with python(f"start({SLEEPER!r}); say(); input()") as process:
        probe = TargetProbe(process.pid)
        assert probe.read(1.0).processes == 2
        process.kill()
        process.wait()
        reading = probe.read(1.0)
        probe.close()
    assert (reading.alive, reading.processes) == (False, 1)


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        probe = TargetProbe(process.pid)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        reading = probe.read(1.0)
        assert (reading.alive, reading.processes) == (False, 0)
        process.wait()
        assert probe.read(1.0) == TargetReading(pid=process.pid, alive=False, processes=0)
        probe.close()


def test_a_process_that_does_not_exist_is_not_alive() -> None:
    probe = TargetProbe(2**22 + 1)
    assert probe.read(1.0) == TargetReading(pid=2**22 + 1, alive=False, processes=0, unread=("processes_started",))
    probe.close()


def test_open_files_limit_and_threads_are_those_of_the_target() -> None:
    code = (
        "resource.setrlimit(resource.RLIMIT_NOFILE, (123, 200))\n"
        "held = [open('/dev/null') for _ in range(40)]\n"
        "for _ in range(5): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nsay(); input()"
    )
    with python(code) as process:
        probe = TargetProbe(process.pid)
        reading = probe.read(1.0, accept_queue=(3, 5))
        probe.close()
        assert reading.fds == reading.fds_fullest == len(os.listdir(f"/proc/{process.pid}/fd")) == 43
    assert (reading.fds_limit, reading.threads) == (123, 6)
    assert (reading.listen_queue, reading.listen_backlog) == (3, 5)


def test_the_fullest_process_is_the_one_nearest_to_its_own_limit() -> None:
    code = """
opened, tell = os.pipe()
if not os.fork():
    resource.setrlimit(resource.RLIMIT_NOFILE, (50, 200))
    held = [open('/dev/null') for _ in range(30)]
    os.read(opened, 1); say(); time.sleep(60)
held = [open('/dev/null') for _ in range(60)]
os.write(tell, b'.'); time.sleep(60)
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        reading = probe.read(1.0)
        probe.close()
    assert reading.fds_limit == 50
    assert reading.fds_fullest is not None and reading.fds is not None
    assert 33 <= reading.fds_fullest < 50 < reading.fds


def test_allowed_cores_are_reported_if_they_are_not_all() -> None:
    with python("say(); input(); os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); say(); input()") as process:
        probe = TargetProbe(process.pid)
        assert probe.read(1.0).cpus_allowed == (None if all_cores() else len(os.sched_getaffinity(0)))
        go_on(process)
        assert probe.read(1.0).cpus_allowed == (1 if (os.cpu_count() or 1) > 1 else None)
        probe.close()


def test_free_disk_space_is_read_every_fifth_second(tmp_path: Path) -> None:
    with python(f"os.chdir({str(tmp_path)!r}); say(); input()") as process:
        probe = TargetProbe(process.pid)
        reported = [probe.read(1.0).disk_free_bytes for _ in range(7)]
        probe.close()
    assert [room is None for room in reported] == [False, True, True, True, True, False, True]
    assert reported[0] is not None and abs(reported[0] - shutil.disk_usage(tmp_path).free) < 1 << 30


def test_workers_that_come_and_go_are_counted_with_how_they_ended() -> None:
    code = """
def worker():
    pid = os.fork()
    if not pid: time.sleep(60); os._exit(0)
    return pid
killed, failing = worker(), worker()
say(); input()
os.kill(killed, 9); os.waitpid(killed, 0)
worker()
say(); input()
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        first = probe.read(1.0)
        go_on(process)
        second, third = probe.read(1.0), probe.read(1.0)
        probe.close()
    assert (first.processes, first.grown("processes_started"), first.processes_ended) == (3, None, 0)
    assert (second.processes, second.grown("processes_started"), second.processes_ended) == (3, 1, 1)
    assert second.ended_by in ({"SIGKILL": 1}, {}), "empty where the kernel reports an end to the parent process only"
    assert (third.processes_started, third.processes_ended, third.ended_by) == (0, 0, {})


def test_a_worker_that_was_not_waited_for_is_counted_once_as_ended() -> None:
    with python("pid = os.fork()\nif not pid: time.sleep(60)\nsay(); input(); os.kill(pid, 15); say(); input()") as process:
        probe = TargetProbe(process.pid)
        probe.read(1.0)
        go_on(process)
        while (reading := probe.read(1.0)).processes == 2:  # a signal takes its time
            pass
        after = probe.read(1.0)
        probe.close()
    assert (reading.processes, reading.processes_ended, reading.ended_by) == (1, 1, {"SIGTERM": 1})
    assert (after.processes, after.processes_ended, after.ended_by) == (1, 0, {})


def test_pages_that_had_to_come_from_disk_are_not_measured_at_first() -> None:
    with python(IDLE) as process:
        probe = TargetProbe(process.pid)
        reported = [probe.read(1.0).grown("major_faults_per_s") for _ in range(2)]
        probe.close()
    assert reported == [None, 0.0]


def test_a_program_is_named_by_its_file_name() -> None:
    assert program_of(os.getpid()) == os.path.basename(os.path.realpath(sys.executable))
    assert program_of(2**22 + 1) is None


def test_bytes_written_to_disk_are_a_rate(tmp_path: Path) -> None:
    code = f"""
say(); input()
file = open({str(tmp_path / "file")!r}, "wb")
file.write(bytes(1 << 20)); file.flush(); os.fsync(file.fileno())
say(); input()
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        probe.read(1.0)
        go_on(process)
        reading = probe.read(1.0)
        probe.close()
    written = reading.written_bytes_per_s
    assert written == 0.0 or (written is not None and 1 << 20 <= written < 2 << 20), "0 where the folder is in memory"


def test_each_thread_of_the_generator_has_its_own_cpu_figure() -> None:
    tids: list[int] = []
    begin, finished, end = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        tids.append(threading.get_native_id())
        begin.wait()
        stop = time.thread_time() + 0.3
        while time.thread_time() < stop:
            pass
        finished.set()
        end.wait()

    thread = threading.Thread(target=work)
    thread.start()
    while not tids:
        time.sleep(0.01)
    probe = GeneratorProbe(load_tid=tids[0], screen_tid=threading.get_native_id(), recorder_tid=None)
    first = probe.read(1.0)
    begin.set()
    finished.wait()
    second = probe.read(1.0, lag_ms=(0.1, 2.0, 9.0))
    end.set()
    thread.join()
    while os.path.exists(f"/proc/self/task/{tids[0]}"):  # the kernel's thread ends a little after Python's
        time.sleep(0.01)
    third = probe.read(1.0)
    probe.close()
    assert (first.cpu_ratio, first.process_cpu_ratio, first.recorder_cpu_ratio) == (None, None, None)
    assert second.cpu_ratio is not None and 0.28 < second.cpu_ratio < 0.4
    assert second.screen_cpu_ratio is not None and second.screen_cpu_ratio < 0.15
    assert second.process_cpu_ratio is not None and second.process_cpu_ratio >= 0.3
    assert (second.loop_lag_p50_ms, second.loop_lag_p99_ms, second.loop_lag_max_ms) == (0.1, 2.0, 9.0)
    assert second.rss_bytes is not None and second.fds_limit == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert third.cpu_ratio is None, "the thread is gone"


def test_open_files_of_this_process_are_counted() -> None:
    before = open_files("self")
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(7)]
    assert before is not None and open_files("self") == before + 7
    for fd in held:
        os.close(fd)
    assert open_files(2**22 + 1) is None


def test_a_thread_that_ran_while_its_clock_stood_still_is_stale(tmp_path: Path) -> None:
    schedstat = tmp_path / "schedstat"
    reported = []
    schedstat.write_text("5000 10 1\n")
    thread = Thread(str(schedstat))
    for text in ("5000 10 1\n", "5000 10 9\n", "5400 10 12\n", "0 0 0\n", "5600 10 13\n", "5900 20 15\n"):
        schedstat.write_text(text)
        reported.append(thread.read())
    thread.close()
    stale = not_counted = gap = None
    assert reported == [None, stale, Schedule(400, 0, 3), not_counted, gap, Schedule(300, 10, 2)]


def test_the_descriptor_limit_of_a_process_that_refuses_prlimit_is_its_own_and_not_its_parents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """nginx's workers belong to another user than its master, and have a limit of their own."""

    def denied(*_: object) -> None:
        raise PermissionError

    own = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    monkeypatch.setattr(resource, "prlimit", denied)
    assert soft_limit_of_open_files(os.getpid(), otherwise=own + 1) == own
    assert soft_limit_of_open_files(1 << 30, otherwise=7) == 7
