"""The probe of a target, with real processes: its process tree, descriptors, limits, disk, and processes that end."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

from capexplorer.model.readings import TargetReading
from capexplorer.read.generator import soft_limit_of_open_files
from capexplorer.read.target import TargetProbe, program_of

from .python_processes import IDLE, NO_SUCH_PID, SLEEPER, python, resume


def may_use_all_cores() -> bool:
    """Whether this process may run on all cores of the machine."""
    return len(os.sched_getaffinity(0)) == os.cpu_count()


def test_children_of_other_threads_are_found() -> None:
    code = f"threading.Thread(target=lambda: (start({SLEEPER!r}), print_line(), input())).start()"
    with python(code) as process:
        probe = TargetProbe(process.pid)
        assert probe.read(1.0).processes == 2
        probe.close()


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


def test_a_process_that_does_not_exist_is_not_alive() -> None:
    probe = TargetProbe(NO_SUCH_PID)
    assert probe.read(1.0) == TargetReading(pid=NO_SUCH_PID, alive=False, processes=0, unread=("processes_started",))
    probe.close()


def test_open_files_their_limit_and_threads_of_the_target_are_read() -> None:
    code = (
        "resource.setrlimit(resource.RLIMIT_NOFILE, (123, 200))\n"
        "opened = [open('/dev/null') for _ in range(40)]\n"
        "for _ in range(5): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint_line(); input()"
    )
    with python(code) as process:
        probe = TargetProbe(process.pid)
        reading = probe.read(1.0, accept_queue=(3, 5))
        probe.close()
        assert reading.fds == len(os.listdir(f"/proc/{process.pid}/fd")) == 43, "40 files and the standard streams"
    assert reading.fds_fullest == reading.fds, "it is the only process"
    assert reading.fds_limit == 123
    assert reading.threads == 6, "the main thread and 5 others"
    assert (reading.listen_queue, reading.listen_backlog) == (3, 5), "as given to `read`"


def test_fds_fullest_is_of_the_process_nearest_to_its_own_limit() -> None:
    code = """
read_end, write_end = os.pipe()
if not os.fork():
    resource.setrlimit(resource.RLIMIT_NOFILE, (50, 200))
    opened = [open('/dev/null') for _ in range(30)]
    os.read(read_end, 1); print_line(); time.sleep(60)
opened = [open('/dev/null') for _ in range(60)]
os.write(write_end, b'.'); time.sleep(60)
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        reading = probe.read(1.0)
        probe.close()
    assert reading.fds_limit == 50
    assert reading.fds_fullest is not None and reading.fds is not None
    assert 33 <= reading.fds_fullest < 50, "30 files, the standard streams and the pipe of the child"
    assert reading.fds > 50, "the parent has 60 files more"


def test_the_number_of_allowed_cores_is_given_unless_all_are_allowed() -> None:
    with python(
        "print_line(); input(); os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print_line(); input()"
    ) as process:
        probe = TargetProbe(process.pid)
        assert probe.read(1.0).cpus_allowed == (None if may_use_all_cores() else len(os.sched_getaffinity(0)))
        resume(process)
        assert probe.read(1.0).cpus_allowed == (1 if (os.cpu_count() or 1) > 1 else None)
        probe.close()


def test_free_disk_space_is_read_every_fifth_second(tmp_path: Path) -> None:
    with python(f"os.chdir({str(tmp_path)!r}); print_line(); input()") as process:
        probe = TargetProbe(process.pid)
        reported = [probe.read(1.0).disk_free_bytes for _ in range(7)]
        probe.close()
    assert [index for index, free in enumerate(reported) if free is not None] == [0, 5]
    assert reported[0] is not None
    assert abs(reported[0] - shutil.disk_usage(tmp_path).free) < 1 << 30, "within 1 GiB: other processes write, too"


def test_started_and_ended_worker_processes_are_counted_with_their_signal() -> None:
    code = """
def worker():
    pid = os.fork()
    if not pid: time.sleep(60); os._exit(0)
    return pid
killed, failing = worker(), worker()
print_line(); input()
os.kill(killed, 9); os.waitpid(killed, 0)
worker()
print_line(); input()
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        first = probe.read(1.0)
        resume(process)
        second, third = probe.read(1.0), probe.read(1.0)
        probe.close()
    assert (first.processes, first.grown("processes_started"), first.processes_ended) == (3, None, 0)
    assert (second.processes, second.grown("processes_started"), second.processes_ended) == (3, 1, 1)
    assert second.ended_by in ({"SIGKILL": 1}, {}), "empty where the kernel reports an end to the parent process only"
    assert (third.processes_started, third.processes_ended, third.ended_by) == (0, 0, {})


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


def test_major_page_faults_per_second_are_unknown_at_the_first_read_only() -> None:
    with python(IDLE) as process:
        probe = TargetProbe(process.pid)
        reported = [probe.read(1.0).grown("major_faults_per_s") for _ in range(2)]
        probe.close()
    assert reported == [None, 0.0]


def test_a_program_is_named_by_its_file_name() -> None:
    assert program_of(os.getpid()) == os.path.basename(os.path.realpath(sys.executable))
    assert program_of(NO_SUCH_PID) is None


def test_bytes_written_to_disk_are_given_per_second(tmp_path: Path) -> None:
    code = f"""
print_line(); input()
file = open({str(tmp_path / "file")!r}, "wb")
file.write(bytes(1 << 20)); file.flush(); os.fsync(file.fileno())
print_line(); input()
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        probe.read(1.0)
        resume(process)
        reading = probe.read(1.0)
        probe.close()
    written = reading.written_bytes_per_s
    assert written == 0.0 or (written is not None and 1 << 20 <= written < 2 << 20), "0 where the folder is in memory"


def test_the_descriptor_limit_is_read_from_proc_if_prlimit_is_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is denied for processes of other users, such as nginx's workers, whose limit may differ from that of the master."""

    def denied(*_: object) -> None:
        raise PermissionError

    own = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    monkeypatch.setattr(resource, "prlimit", denied)
    assert soft_limit_of_open_files(os.getpid()) == own
    assert soft_limit_of_open_files(NO_SUCH_PID) is None
