"""The probe of the generator, this process: CPU time of its threads, and its open files."""

from __future__ import annotations

import os
import resource
import sys
import threading
import time

import pytest

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

from capexplorer.read.generator import GeneratorProbe, open_files
from capexplorer.read.processes import Schedules
from capexplorer.read.procfs import Schedule, schedstat

from .python_processes import NO_SUCH_PID


def test_each_thread_of_the_generator_has_its_own_cpu_figure() -> None:
    work_allowed, work_done, end_allowed = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        work_allowed.wait()
        work_ends = time.thread_time() + 0.3
        while time.thread_time() < work_ends:
            pass
        work_done.set()
        end_allowed.wait()

    thread = threading.Thread(target=work)
    thread.start()
    assert thread.native_id is not None
    probe = GeneratorProbe(load_tid=thread.native_id, screen_tid=threading.get_native_id(), pump_tid=None)
    first = probe.read(1.0)
    work_allowed.set()
    work_done.wait()
    second = probe.read(1.0, lag_ms=(0.1, 2.0, 9.0))
    end_allowed.set()
    thread.join()
    while os.path.exists(f"/proc/self/task/{thread.native_id}"):  # the kernel's thread ends a little after Python's
        time.sleep(0.01)
    third = probe.read(1.0)
    probe.close()
    assert (first.cpu_ratio, first.process_cpu_ratio, first.recorder_cpu_ratio) == (None, None, None)
    assert second.cpu_ratio is not None and 0.28 < second.cpu_ratio < 0.4
    assert second.screen_cpu_ratio is not None and second.screen_cpu_ratio < 0.15
    assert second.process_cpu_ratio is not None and second.process_cpu_ratio >= 0.3
    assert (second.loop_lag_p50_ms, second.loop_lag_p99_ms, second.loop_lag_max_ms) == (0.1, 2.0, 9.0)
    assert second.rss_bytes is not None and second.fds_limit == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert third.cpu_ratio is None, "the thread has ended"


def test_open_files_of_this_process_are_counted() -> None:
    before = open_files("self")
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(7)]
    assert before is not None and open_files("self") == before + 7
    for fd in opened:
        os.close(fd)
    assert open_files(NO_SUCH_PID) is None


def test_a_thread_whose_cpu_clock_is_stale_or_missing_gives_no_growth() -> None:
    """A schedstat file has CPU time in ns, waiting time in ns and time slices; a stale one has new slices and old times."""
    schedules = Schedules()
    for text, growth, case in (
        ("5000 10 1\n", None, "first read"),
        ("5000 10 9\n", None, "it ran, and its clock did not advance"),
        ("5400 10 12\n", Schedule(400, 0, 3), "since the stale read"),
        ("0 0 0\n", None, "the kernel keeps no figures"),
        ("5600 10 13\n", None, "first read after the gap"),
        ("5900 20 15\n", Schedule(300, 10, 2), "growth since the last read"),
        ("400 0 1\n", None, "another thread has its id"),
    ):
        found = schedstat(text)
        assert schedules.grown({} if found is None else {"thread": found}).get("thread") == growth, case
