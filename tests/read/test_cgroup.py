"""A control group's CPU throttling, memory limit and OOM kills: files as each version writes them, and real groups."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("control groups are Linux", allow_module_level=True)

from capexplorer.read.cgroup import Cgroup, cgroup_folders
from capexplorer.read.target import TargetProbe


def write_files(folder: Path, files: dict[str, str]) -> str:
    """Write files by their names into a folder that stands for a control group; gives its path."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return str(folder)


def write_version_2(folder: Path, *, quota: str = "max", throttled_us: int = 0, kills: int = 0, memory: str = "max") -> str:
    stat = f"usage_usec 9\nnr_periods 70\nnr_throttled 3\nthrottled_usec {throttled_us}\n"
    events = f"low 0\nhigh 0\nmax 8\noom 2\noom_kill {kills}\noom_group_kill 0\n"
    limit = f"{memory}\n"
    return write_files(folder, {"cpu.max": f"{quota} 100000\n", "cpu.stat": stat, "memory.events": events, "memory.max": limit})


def write_version_1(
    folder: Path, *, quota: str = "-1", throttled_us: int = 0, kills: int = 0, memory: str = str(2**63 - 4096)
) -> str:
    stat = f"nr_periods 70\nnr_throttled 3\nthrottled_time {throttled_us * 1000}\n"
    control = f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n"
    files = {"cpu.cfs_quota_us": f"{quota}\n", "cpu.cfs_period_us": "100000\n", "cpu.stat": stat, "memory.oom_control": control}
    return write_files(folder, {**files, "memory.limit_in_bytes": f"{memory}\n"})


each_version = pytest.mark.parametrize("write_group", [write_version_2, write_version_1])


@each_version
def test_throttling_and_kills_are_reported_as_growth(write_group: Callable[..., str], tmp_path: Path) -> None:
    own, above = tmp_path / "own", tmp_path / "above"
    folders = [write_group(own, quota="50000"), write_group(above, quota="200000")]
    group = Cgroup(folders, folders)
    assert group.throttled_ratio(1.0) is None, "no growth at the first read"
    assert group.oom_kills() == 0
    write_group(own, quota="50000", throttled_us=250_000, kills=2)
    write_group(above, quota="200000", throttled_us=100_000, kills=9)
    assert group.throttled_ratio(1.0) == 0.25, "the group that throttles more"
    assert group.oom_kills() == 2, "of the process's own group"
    write_group(own, quota="50000", throttled_us=9_250_000, kills=2)
    assert group.throttled_ratio(2.0) == 1.0, "the kernel sums the time over cores; the ratio never exceeds 1"
    assert group.oom_kills() == 0
    group.close()


@each_version
def test_the_memory_limit_is_the_lowest_of_all_levels(write_group: Callable[..., str], tmp_path: Path) -> None:
    own, above = tmp_path / "own", tmp_path / "above"
    folders = [write_group(own, memory="300"), write_group(above, memory="500")]
    group = Cgroup(folders, folders)
    assert group.memory_limit_bytes() == 300
    write_group(own)
    assert group.memory_limit_bytes() == 500, "its own group has no limit"
    write_group(above)
    assert group.memory_limit_bytes() is None, "no level has a limit"
    group.close()


@each_version
def test_the_quota_is_the_lowest_of_all_levels(write_group: Callable[..., str], tmp_path: Path) -> None:
    folders = [write_group(tmp_path / name, quota=quota) for name, quota in (("own", "150000"), ("above", "200000"))]
    group = Cgroup(folders, [])
    assert group.cpus() == 1.5
    write_group(tmp_path / "own")
    assert group.cpus() == 2.0, "its own group has no quota"
    group.close()


@each_version
def test_throttling_and_memory_limit_are_none_without_a_quota_and_a_limit(
    write_group: Callable[..., str], tmp_path: Path
) -> None:
    folder = write_group(tmp_path / "own")
    group = Cgroup([folder], [folder])
    assert [group.throttled_ratio(1.0) for _ in range(2)] == [None, None]
    assert [group.pressure_ratio("cpu", 1.0) for _ in range(2)] == [None, None], "no file of it"
    assert (group.memory_limit_bytes(), group.cpus()) == (None, None)
    group.close()
    without_groups = Cgroup([], [])
    assert without_groups.oom_kills() is not None, "those of the machine"
    without_groups.close()


def test_pressure_is_read_from_the_control_group_of_the_target(tmp_path: Path) -> None:
    def write_pressure(folder: str, cpu_us: int) -> str:
        text = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
        return write_files(tmp_path / folder, {"cpu.pressure": text.format(cpu_us), "memory.pressure": text.format(0)})

    folders = [write_pressure("own", 1_000), write_pressure("above", 5_000)]
    group = Cgroup(folders, folders)
    assert group.pressure_ratio("cpu", 1.0) is None, "no growth at the first read"
    assert group.pressure_ratio("memory", 1.0) is None
    write_pressure("own", 401_000)
    write_pressure("above", 905_000)
    assert group.pressure_ratio("cpu", 1.0) == pytest.approx(0.4), "of its own group only"
    assert group.pressure_ratio("memory", 1.0) == 0.0
    group.close()


@contextmanager
def real_group(controller: str, limits: dict[str, str]) -> Iterator[Path]:
    """A new control group inside a group of this process. `limits`: file name to limit, for version 2 and version 1; the first
    file that exists is written. Skips the test where the machine allows no new group.
    """
    for above in cgroup_folders(Path("/proc/self/cgroup").read_text(), controller)[::-1]:
        folder = Path(above) / f"capexplorer-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            limit_files = [folder / name for name in limits if (folder / name).exists()]
            if limit_files:
                limit_files[0].write_text(limits[limit_files[0].name])
                yield folder
                return
        finally:
            remove_group(folder)
    pytest.skip("this machine allows no new control group")


def remove_group(folder: Path) -> None:
    """Remove an empty control group; tried again for 2 s, since the kernel removes ended processes from it with a delay."""
    for _ in range(200):
        try:
            return folder.rmdir()
        except OSError:
            time.sleep(0.01)
    folder.rmdir()


def python_in_group(folder: Path, code: str) -> subprocess.Popen[str]:
    """A Python process in a control group; it runs `code` after a line on its standard input."""
    enter = f"open({str(folder / 'cgroup.procs')!r}, 'w').write('0'); print(flush=True); input()\n"
    process = subprocess.Popen([sys.executable, "-c", enter + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_an_oom_kill_in_a_real_group_is_reported_after_the_target_ended() -> None:
    with real_group("memory", {"memory.max": "33554432", "memory.limit_in_bytes": "33554432"}) as folder:
        with python_in_group(folder, "allocated = b'x' * (256 << 20); print(len(allocated))") as process:
            probe = TargetProbe(process.pid)
            assert probe.read(1.0).memory_limit_bytes == 33554432
            process.communicate("\n")
            reading = probe.read(1.0)
            probe.close()
    assert process.returncode == -9
    assert not reading.alive
    assert reading.grown("oom_kills") == 1
    assert reading.processes_ended == 1
    assert reading.ended_by in ({"SIGKILL": 1}, {}), "empty where the kernel reports an end to the parent process only"


def test_throttling_by_a_real_quota_is_reported() -> None:
    with real_group("cpu", {"cpu.max": "5000 100000", "cpu.cfs_quota_us": "5000"}) as folder:
        code = "import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass\nprint(flush=True); input()"
        with python_in_group(folder, code) as process:
            probe = TargetProbe(process.pid)
            probe.read(1.0)
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            ratio = probe.read(1.0).throttled_ratio
            probe.close()
            process.kill()
    assert ratio is not None and ratio > 0.05, (
        "0.05 s of CPU time at a quota of 5% of a core takes about 1 s, of which 0.9 s are throttled on a machine of any load"
    )
