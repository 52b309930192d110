"""Quotas, limits and kills of control groups: recorded files of both versions, and a real group that kills."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("control groups are Linux", allow_module_level=True)

from capexplorer.probe.cgroup import Cgroup
from capexplorer.probe.facts import cgroup_folders
from capexplorer.probe.target import TargetProbe

ROOT = Path("/sys/fs/cgroup")


def write(folder: Path, **files: str) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return str(folder)


def version_2(folder: Path, *, quota: str = "max", throttled_us: int = 0, kills: int = 0, memory: str = "max") -> str:
    stat = f"usage_usec 9\nnr_periods 70\nnr_throttled 3\nthrottled_usec {throttled_us}\n"
    events = f"low 0\nhigh 0\nmax 8\noom 2\noom_kill {kills}\noom_group_kill 0\n"
    return write(folder, cpu__max=f"{quota} 100000\n", cpu__stat=stat, memory__events=events, memory__max=f"{memory}\n")


def version_1(folder: Path, *, quota: str = "-1", throttled_us: int = 0, kills: int = 0, memory: int = 2**63 - 4096) -> str:
    stat = f"nr_periods 70\nnr_throttled 3\nthrottled_time {throttled_us * 1000}\n"
    control = f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n"
    files = {"cpu__cfs_quota_us": f"{quota}\n", "cpu__stat": stat, "memory__oom_control": control}
    return write(folder, **files, memory__limit_in_bytes=f"{memory}\n")


@pytest.mark.parametrize("made", [version_2, version_1])
def test_throttling_and_kills_are_growth_and_the_lowest_limit_applies(made: object, tmp_path: Path) -> None:
    assert callable(made)
    own, above = tmp_path / "own", tmp_path / "above"
    folders = [made(own, quota="50000", memory="300" if made is version_2 else 300), made(above, quota="200000")]
    group = Cgroup(folders, folders)
    assert (group.throttled_ratio(1.0), group.oom_kills(), group.memory_limit_bytes()) == (None, 0, 300)
    made(own, quota="50000", throttled_us=250_000, kills=2)
    made(above, quota="200000", throttled_us=100_000, kills=9)
    assert (group.throttled_ratio(1.0), group.oom_kills(), group.memory_limit_bytes()) == (0.25, 2, None)
    made(own, quota="50000", throttled_us=9_250_000, kills=2)
    assert (group.throttled_ratio(2.0), group.oom_kills()) == (1.0, 0), "of several cores at once it is still the whole tick"
    group.close()


@pytest.mark.parametrize("made", [version_2, version_1])
def test_without_a_quota_nothing_throttles(made: object, tmp_path: Path) -> None:
    assert callable(made)
    folder = made(tmp_path / "own")
    group = Cgroup([folder], [folder])
    assert [group.throttled_ratio(1.0) for _ in range(2)] == [None, None]
    assert group.memory_limit_bytes() is None
    group.close()


def test_pressure_is_read_from_the_control_group_of_the_target(tmp_path: Path) -> None:
    def stalled(folder: str, cpu_us: int) -> str:
        text = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
        return write(tmp_path / folder, cpu__pressure=text.format(cpu_us), memory__pressure=text.format(0))

    folders = [stalled("own", 1_000), stalled("above", 5_000)]
    group = Cgroup(folders, folders)
    assert group.pressure_ratio("cpu", 1.0) is None, "no growth yet"
    assert group.pressure_ratio("memory", 1.0) is None
    stalled("own", 401_000)
    stalled("above", 905_000)
    assert group.pressure_ratio("cpu", 1.0) == pytest.approx(0.4)
    assert group.pressure_ratio("memory", 1.0) == 0.0
    group.close()
    version_one = version_1(tmp_path / "first")
    without = Cgroup([version_one], [version_one])
    assert [without.pressure_ratio("cpu", 1.0) for _ in range(2)] == [None, None]
    without.close()


def test_oom_kills_are_the_machines_where_no_group_counts_them(tmp_path: Path) -> None:
    group = Cgroup([str(tmp_path)], [str(tmp_path)])
    kills = group.oom_kills()
    group.close()
    assert kills is not None and kills >= 0


def test_a_removed_group_gives_none(tmp_path: Path) -> None:
    group = Cgroup([], [])
    group.close()
    assert (group.throttled_ratio(1.0), group.oom_kills(), group.memory_limit_bytes()) == (None, None, None)


@contextmanager
def real_group(controller: str, limits: dict[str, str]) -> Iterator[Path]:
    """A group of version 1 or 2 below the one that we are in, with the first of `limits` that it has a file for."""
    for above in cgroup_folders(Path("/proc/self/cgroup").read_text(), controller)[::-1]:
        folder = Path(above) / f"capexplorer-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            found = [folder / name for name in limits if (folder / name).exists()]
            if found:
                found[0].write_text(limits[found[0].name])
                yield folder
                return
        finally:
            remove(folder)
    pytest.skip("this machine lets us make no control group")


def remove(folder: Path) -> None:
    """Processes that ended a moment ago may still be in it."""
    for _ in range(200):
        try:
            return folder.rmdir()
        except OSError:
            time.sleep(0.01)
    folder.rmdir()


def started_in(folder: Path, code: str) -> subprocess.Popen[str]:
    enter = f"open({str(folder / 'cgroup.procs')!r}, 'w').write('0'); print(flush=True); input()\n"
    process = subprocess.Popen([sys.executable, "-c", enter + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_an_oom_kill_by_a_real_group_is_reported_after_the_target_ended() -> None:
    with real_group("memory", {"memory.max": "33554432", "memory.limit_in_bytes": "33554432"}) as folder:
        with started_in(folder, "held = b'x' * (256 << 20); print(len(held))") as process:
            probe = TargetProbe(process.pid)
            assert probe.read(1.0).memory_limit_bytes == 33554432
            process.communicate("\n")
            reading = probe.read(1.0)
            probe.close()
    assert process.returncode == -9
    assert (reading.alive, reading.grown("oom_kills"), reading.processes_ended) == (False, 1, 1)
    assert reading.ended_by in ({"SIGKILL": 1}, {})


def test_throttling_by_a_real_quota_is_reported() -> None:
    with real_group("cpu", {"cpu.max": "5000 100000", "cpu.cfs_quota_us": "5000"}) as folder:
        code = "import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass\nprint(flush=True); input()"
        with started_in(folder, code) as process:
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
        "0.05 s of work at a twentieth of a core is held back for 0.9 s or so, however busy the machine"
    )
