"""A tree of processes, the target, and the generator: CPU time, threads, descriptors, disk, limits, and how processes end.

Real processes but for the arithmetic of CPU time, which grows without jumps and loses nothing.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from capexplorer.model.readings import TargetReading
from capexplorer.procs.processes import Stat, descendants
from capexplorer.read.generator import GeneratorProbe, soft_limit_of_open_files
from capexplorer.read.processes import Cpu, ProcessNow, Schedules, TreeNow, TreeSums, Used
from capexplorer.read.procfs import Schedule, schedstat
from capexplorer.read.target import TargetProbe, program_of

from .python_processes import NO_SUCH_PID, SLEEPER, python, resume

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

Tick = dict[int, tuple[int, int, float]]
"""At one reading: pid to (CPU time of its own in ns, CPU time of its reaped children in ns, start time in s).

Readings are one second apart, the first at second 100.
"""

CASES: dict[str, tuple[list[Tick], list[int | None]]] = {  # to the growth in ns at each reading
    "a steady process": ([{1: (5, 0, 9)}, {1: (8, 0, 9)}, {1: (8, 0, 9)}], [None, 3, 0]),
    "a process that is older than the last reading counts from when it was first seen": (
        [{1: (5, 0, 9)}, {1: (5, 0, 9), 2: (900, 0, 50)}, {1: (5, 0, 9), 2: (907, 0, 50)}],
        [None, 0, 7],
    ),
    "a process that started since the last reading counts in full": (
        [{1: (5, 0, 9)}, {1: (5, 0, 9), 2: (40, 0, 100.5)}],
        [None, 40],
    ),
    "a reaped child adds only the time that it used since the last reading": (
        [{1: (5, 0, 9), 2: (900, 0, 9)}, {1: (6, 930, 9)}, {1: (7, 930, 9)}],
        [None, 31, 1],
    ),
    "a child that started and ended between two readings counts": ([{1: (5, 0, 9)}, {1: (5, 70, 9)}], [None, 70]),
    "a reaped child with reaped children of its own counts once": (
        [{1: (0, 0, 9), 2: (100, 300, 9)}, {1: (0, 450, 9)}],
        [None, 50],
    ),
    "a child that ends after its parent was read is corrected at the next reading": (
        [{1: (0, 0, 9), 2: (900, 0, 9)}, {1: (1, 0, 9)}, {1: (2, 910, 9)}, {1: (3, 915, 9)}],
        [None, 1, 11, 6],
    ),
    "a child that was never reaped does not reduce the later growth of others": (
        [{1: (0, 0, 9), 2: (900, 0, 9)}, {1: (1, 0, 9)}, {1: (2, 0, 9)}, {1: (2, 50, 9)}],
        [None, 1, 1, 50],
    ),
    "reaped time that the kernel rounds down to clock ticks never makes the growth negative": (
        [{1: (0, 0, 9), 2: (905, 0, 9)}, {1: (1, 900, 9)}, {1: (2, 900, 9)}],
        [None, 1, 1],
    ),
    "a reused pid is a new process": (
        [{1: (0, 0, 9), 2: (900, 0, 9)}, {1: (0, 900, 9), 2: (4, 0, 100.7)}],
        [None, 4],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_cpu_time_of_a_changing_tree_grows_without_jumps(case: str) -> None:
    ticks, expected = CASES[case]
    cpu = Cpu()
    growth_ns = [
        cpu.grown_ns({pid: Used(*used) for pid, used in tick.items()}, 100.0 + second) for second, tick in enumerate(ticks)
    ]
    assert growth_ns == expected


def test_descendants_are_found_in_a_table_of_parents() -> None:
    parents = {2: 1, 3: 2, 4: 2, 5: 4, 6: 1, 7: 99}
    assert descendants({2}, parents) == [3, 4, 5]
    assert descendants({1}, parents) == [2, 6, 3, 4, 5]
    assert descendants({7}, parents) == []


def tree_of(own_ns: int, *, is_whole: bool = True, pid: int = 7) -> TreeNow:
    """One process that runs, with one thread, and has used that CPU time."""
    stat = Stat("web", "S", 1, 1, 0, 0, 0, 1, 900, 10, 0)
    process = ProcessNow(stat, own_ns, fds=3, fds_limit=10, io={"read_bytes": own_ns, "write_bytes": 0})
    return TreeNow(own_ns / 1e9, {pid: process}, {(pid, pid): Schedule(own_ns, 0, own_ns)}, is_whole, 100, 4096)


def test_after_a_reading_that_lacks_a_process_no_growth_is_that_of_two_readings() -> None:
    sums = TreeSums()
    wholes = (True, True, False, True, True)
    readings = [sums.read(tree_of(second * 10**8, is_whole=whole), 1.0) for second, whole in enumerate(wholes)]
    ratios = [(each.cpu_ratio, each.busiest_thread_ratio, each.read_bytes_per_s, each.processes) for each in readings]
    growth = (pytest.approx(0.1), pytest.approx(0.1), 1e8, 1)
    assert ratios == [(None, None, None, 1), growth, (None, None, None, None), (None, None, None, 1), growth]
    assert [each.alive for each in readings] == [True] * 5
    assert [each.fds_limit for each in readings] == [10] * 5


def test_a_process_that_ends_is_counted_and_bytes_of_its_parent_are_unknown_in_two_readings() -> None:
    sums, one = TreeSums(), dict(tree_of(0).processes)
    both = one | dict(tree_of(0, pid=8).processes)
    readings = [sums.read(tree_of(0)._replace(processes=each), 1.0) for each in (both, both, one, one, one)]
    found = [(each.processes, each.processes_ended, each.read_bytes_per_s) for each in readings]
    assert found == [
        (2, 0, None),
        (2, 0, 0.0),
        (1, 1, None),
        (1, 0, None),
        (1, 0, 0.0),
    ]


def readings_of(code: str, after: int = 0) -> list[TargetReading]:
    """Readings of a Python process: one where it first waits, then some after it went on to its next line."""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        found = [probe.read(1.0, accept_queue=(3, 5))]
        if after:
            resume(process)
        found += [probe.read(1.0) for _ in range(after)]
        probe.close()
    return found


def test_children_of_other_threads_are_found() -> None:
    [reading] = readings_of(f"threading.Thread(target=lambda: (start({SLEEPER!r}), print_line(), input())).start()")
    assert reading.processes == 2


def test_open_files_their_limit_and_threads_of_the_target_are_read() -> None:
    [reading] = readings_of(
        "resource.setrlimit(resource.RLIMIT_NOFILE, (123, 200))\n"
        "opened = [open('/dev/null') for _ in range(40)]\n"
        "for _ in range(5): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint_line(); input()"
    )
    assert (reading.fds, reading.fds_fullest, reading.fds_limit) == (43, 43, 123), "40 files and the standard streams"
    assert reading.threads == 6, "the main thread and 5 others"
    assert (reading.listen_queue, reading.listen_backlog) == (3, 5), "as given to `read`"


def test_fds_fullest_is_of_the_process_nearest_to_its_own_limit() -> None:
    [reading] = readings_of("""
read_end, write_end = os.pipe()
if not os.fork():
    resource.setrlimit(resource.RLIMIT_NOFILE, (50, 200))
    opened = [open('/dev/null') for _ in range(30)]
    os.read(read_end, 1); print_line(); time.sleep(60)
opened = [open('/dev/null') for _ in range(60)]
os.write(write_end, b'.'); time.sleep(60)
""")
    assert reading.fds_limit == 50
    assert reading.fds_fullest is not None and reading.fds is not None
    assert 33 <= reading.fds_fullest < 50, "30 files, the standard streams and the pipe of the child"
    assert reading.fds > 50, "the parent has 60 files more"


def test_the_number_of_allowed_cores_is_given_unless_all_are_allowed() -> None:
    bound = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    before, after = readings_of(f"print_line(); input(); {bound}; print_line(); input()", after=1)
    allowed = len(os.sched_getaffinity(0))
    assert before.cpus_allowed == (None if allowed == os.cpu_count() else allowed)
    assert after.cpus_allowed == (1 if (os.cpu_count() or 1) > 1 else None)


def test_started_and_ended_worker_processes_are_counted_with_their_signal() -> None:
    first, second, third = readings_of(
        """
def worker():
    pid = os.fork()
    if not pid: time.sleep(60); os._exit(0)
    return pid
killed, failing = worker(), worker()
print_line(); input()
os.kill(killed, 9); os.waitpid(killed, 0)
worker()
print_line(); input()
""",
        after=2,
    )
    assert (first.processes, first.grown("processes_started"), first.processes_ended) == (3, None, 0)
    assert (second.processes, second.grown("processes_started"), second.processes_ended) == (3, 1, 1)
    assert second.ended_by in ({"SIGKILL": 1}, {}), "empty where the kernel reports an end to the parent process only"
    assert (third.processes_started, third.processes_ended, third.ended_by) == (0, 0, {})


def test_bytes_written_to_disk_are_given_per_second(tmp_path: Path) -> None:
    write = f"file = open({str(tmp_path / 'file')!r}, 'wb'); file.write(bytes(1 << 20)); file.flush(); os.fsync(file.fileno())"
    written = readings_of(f"print_line(); input()\n{write}\nprint_line(); input()", after=1)[1].written_bytes_per_s
    assert written == 0.0 or (written is not None and 1 << 20 <= written < 2 << 20), "0 where the folder is in memory"


def test_rates_begin_with_the_second_read_and_cpu_time_of_a_child_counts() -> None:
    with python(f"start({SLEEPER!r}); print_line(); input(); start('while True: pass'); print_line(); input()") as process:
        probe = TargetProbe(process.pid)
        first, idle = probe.read(1.0), probe.read(1.0)
        resume(process)
        while ((busy := probe.read(0.1)).cpu_ratio or 0.0) < 0.05 or busy.busiest_thread_ratio is None:
            time.sleep(0.1)
        probe.close()
    rates = ("cpu_ratio", "busiest_thread_ratio", "run_delay_ratio", "read_bytes_per_s")
    assert {name: getattr(first, name) for name in rates} == dict.fromkeys(rates)
    assert first.rss_bytes is not None and first.rss_bytes > 1_000_000
    assert (first.grown("major_faults_per_s"), idle.grown("major_faults_per_s")) == (None, 0.0)
    assert idle.cpu_ratio is not None and idle.cpu_ratio < 0.1
    assert 0.0 < busy.busiest_thread_ratio <= 1.0
    assert (busy.processes, busy.threads) == (3, 3)


def test_cpu_time_of_children_that_end_between_two_reads_is_counted() -> None:
    reading = readings_of(
        """
print_line(); input()
for _ in range(10):
    pid = os.fork()
    if not pid: burn(0.05); os._exit(0)
    os.waitpid(pid, 0)
print_line(); input()
""",
        after=1,
    )[1]
    assert reading.cpu_ratio is not None and 0.4 < reading.cpu_ratio < 0.7, "ten times 0.05 s"
    assert reading.processes == 1


def test_a_killed_target_is_reported_as_not_alive_and_its_orphans_stay_in_its_tree() -> None:
    with python(f"start({SLEEPER!r}); print_line(); input()") as process:
        probe = TargetProbe(process.pid)
        assert probe.read(1.0).processes == 2
        process.kill()
        process.wait()
        reading = probe.read(1.0)
        probe.close()
    assert not reading.alive
    assert reading.processes == 1


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        probe = TargetProbe(process.pid)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        reading = probe.read(1.0)
        assert not reading.alive
        assert reading.processes == 0
        process.wait()
        assert probe.read(1.0) == TargetReading(pid=process.pid, alive=False, processes=0)
        probe.close()
    assert TargetProbe(NO_SUCH_PID).read(1.0) == TargetReading(
        pid=NO_SUCH_PID, alive=False, processes=0, unread=("processes_started",)
    )
    assert program_of(NO_SUCH_PID) is None
    assert program_of(os.getpid()) == os.path.basename(os.path.realpath(sys.executable))


def test_free_disk_space_is_read_every_fifth_second(tmp_path: Path) -> None:
    with python(f"os.chdir({str(tmp_path)!r}); print_line(); input()") as process:
        probe = TargetProbe(process.pid)
        reported = [probe.read(1.0).disk_free_bytes for _ in range(7)]
        probe.close()
    assert [index for index, free in enumerate(reported) if free is not None] == [0, 5]
    assert reported[0] is not None
    assert abs(reported[0] - shutil.disk_usage(tmp_path).free) < 1 << 30, "within 1 GiB: other processes write, too"


def test_a_worker_process_that_is_not_reaped_is_counted_once_as_ended() -> None:
    with python(
        "pid = os.fork()\nif not pid: time.sleep(60)\nprint_line(); input(); os.kill(pid, 15); print_line(); input()"
    ) as process:
        probe = TargetProbe(process.pid)
        probe.read(1.0)
        resume(process)
        while (reading := probe.read(1.0)).processes == 2:  # until the signal has ended it
            pass
        after = probe.read(1.0)
        probe.close()
    assert (reading.processes, reading.processes_ended, reading.ended_by) == (1, 1, {"SIGTERM": 1})
    assert (after.processes, after.processes_ended, after.ended_by) == (1, 0, {})


def test_the_descriptor_limit_is_read_from_proc_if_prlimit_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is denied for processes of other users, such as nginx's workers, whose limit may differ from that of the master."""

    def denied(*_: object) -> None:
        raise PermissionError

    own = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    monkeypatch.setattr(resource, "prlimit", denied)
    assert soft_limit_of_open_files(os.getpid()) == own
    assert soft_limit_of_open_files(NO_SUCH_PID) is None


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
    second = probe.read(1.0)
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
    assert second.rss_bytes is not None and second.fds_limit == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert third.cpu_ratio is None, "the thread has ended"


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
