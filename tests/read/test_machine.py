"""Files of /proc and /sys: recorded texts, cut off, empty or missing; and the machine's readings and facts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from capexplorer.model.readings import HostReading
from capexplorer.read import cgroup, machine, procfs
from capexplorer.read.machine import HostProbe, fastest_link, host_facts

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

PROC_STAT = """cpu  100 5 40 1000 60 3 7 20 9 0
cpu0 50 2 20 500 30 1 3 10 4 0
cpu1 50 3 20 500 30 2 4 10 5 0
intr 12345 0 9 0
ctxt 999
"""
PRESSURE = """some avg10=1.53 avg60=0.87 avg300=0.24 total=123456
full avg10=0.00 avg60=0.00 avg300=0.00 total=789
"""
DISKSTATS = """   7       0 loop0 0 0 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0
 259       0 nvme0n1 54328 16640 3362938 10071 8048 18004 969552 2785 0 4960 13025 3539 26 168912 149 644 20
 259       1 nvme0n1p1 100 0 200 10 0 0 0 0 0 40 10 0 0 0 0 0 0
"""
NET_DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0
  eth0: 122255718    3362    0    0    0     0          0         0   246573    1912    0    0    0     0       0          0
"""
SNMP = """Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RtoMin MaxConn ActiveOpens OutRsts
Tcp: 1 200 -1 77 5
"""
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max processes             98653                98653                processes
Max open files            1024                 524288               files
"""
IO = "rchar: 2012\nwchar: 0\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"

CASES: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    (procfs.schedstat, ("123456 789 42\n",), procfs.Schedule(123456, 789, 42)),
    (procfs.schedstat, ("0 0 0\n",), None),
    (procfs.schedstat, ("",), None),
    (procfs.statm_rss_pages, ("5911 2222 1500 700 0 1600 0\n",), 2222),
    (procfs.colon_table, (IO,), {"rchar": 2012, "wchar": 0, "read_bytes": 4096, "write_bytes": 8192, "cancelled_write_bytes": 0}),
    (procfs.colon_table, ("MemTotal:       25276510 kB\nHugePages_Total:   0\n",), {"MemTotal": 25276510, "HugePages_Total": 0}),
    (procfs.spaced_table, ("pswpin 12\noom_kill 3\n",), {"pswpin": 12, "oom_kill": 3}),
    (procfs.spaced_table, ("max 100000\n-1\n",), {"max": 100000}),
    (procfs.listening, ("   0: 0100007F:22D6 00000000:0000 0A 00000000:0000000C 00:00000000 00000000 0 0 1",), (8918, 12)),
    (procfs.listening, ("   1: " + "0" * 31 + "1:1F90 " + "0" * 32 + ":0000 0A 00000000:00000000 00:00000000",), (8080, 0)),
    (procfs.listening, ("   7: 0100007F:22D6 0100007F:9C40 01 00000000:00000000 00:00000000 00000000 0 0 1",), None),
    (procfs.listening, ("",), None),
    (procfs.soft_limit_of_open_files, (LIMITS,), 1024),
    (procfs.soft_limit_of_open_files, (LIMITS.replace("1024 ", "unlimited "),), None),
    (procfs.cpu_time, (PROC_STAT,), procfs.CpuTime(busy=155, steal=20, total=1235, cpus=2)),
    (procfs.cpu_time, ("cpu  1 2 3 4\ncpu0 1 2 3 4\n",), procfs.CpuTime(busy=6, steal=0, total=10, cpus=1)),
    (procfs.load_average_1m, ("0.61 0.40 0.30 2/210 4321\n",), 0.61),
    (procfs.pressure_us, (PRESSURE, "some"), 123456),
    (procfs.pressure_us, (PRESSURE, "full"), 789),
    (procfs.pressure_us, (PRESSURE.splitlines()[0], "full"), None),
    (procfs.disks, (DISKSTATS,),
     {"loop0": (5, 0), "nvme0n1": (13025 - 8065, 512 * (3362938 + 969552)), "nvme0n1p1": (40, 512 * 200)}),
    (procfs.interface_bytes, (NET_DEV,), (3193 + 122255718, 3193 + 246573)),
    (procfs.interface_bytes, ("\n".join(NET_DEV.splitlines()[:2]),), None),
    (procfs.file_nr, ("503\t0\t2466177\n",), (503, 2466177)),
    (procfs.named_counters, (SNMP,), {"Ip.Forwarding": 1, "Ip.DefaultTTL": 64, "Tcp.RtoAlgorithm": 1, "Tcp.RtoMin": 200,
                                     "Tcp.MaxConn": -1, "Tcp.ActiveOpens": 77, "Tcp.OutRsts": 5}),
    (procfs.sockstat, ("TCP: inuse 41 orphan 2 tw 25000 alloc 42 mem 401\n",),
     {"TCP.inuse": 41, "TCP.orphan": 2, "TCP.tw": 25000, "TCP.alloc": 42, "TCP.mem": 401}),
    (procfs.port_ranges, ("8080,9000-9100\n",), [(8080, 8080), (9000, 9100)]),
    (procfs.port_ranges, ("\n",), []),
    (machine.cpu_model, ("processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n",), "Some CPU @ 2.0GHz"),
    (machine.cpu_model, ("processor\t: 0\n",), None),
]  # fmt: skip


@pytest.mark.parametrize(("parser", "arguments", "expected"), CASES)
def test_a_recorded_text_is_parsed(parser: Callable[..., Any], arguments: tuple[Any, ...], expected: Any) -> None:
    assert parser(*arguments) == expected


@pytest.mark.parametrize(
    "parser",
    [procfs.schedstat, procfs.statm_rss_pages, procfs.soft_limit_of_open_files, procfs.cpu_time,
     procfs.load_average_1m, procfs.interface_bytes, procfs.file_nr, machine.cpu_model],
)  # fmt: skip
@pytest.mark.parametrize("text", [None, ""])
def test_a_value_of_a_missing_or_empty_file_is_none(parser: Callable[..., Any], text: str | None) -> None:
    assert parser(text) is None


@pytest.mark.parametrize(
    "parser",
    [
        procfs.colon_table,
        procfs.disks,
        procfs.named_counters,
        procfs.sockstat,
        procfs.spaced_table,
        procfs.port_ranges,
        cgroup.cgroup_folders,
    ],
)
def test_a_table_of_a_missing_file_is_empty(parser: Callable[..., Any]) -> None:
    assert not parser(None)


def test_cgroup_folders_are_the_process_own_and_all_above_it() -> None:
    assert cgroup.cgroup_folders("0::/a/b\n")[:3] == ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]
    assert "/sys/fs/cgroup/cpu,cpuacct/a" in cgroup.cgroup_folders("4:cpu,cpuacct:/a\n3:memory:/b\n"), "version 1"
    assert cgroup.cgroup_folders("3:memory:/b\n") == [], "no CPU controller"


V1_MOUNT = "118 117 0:29 {begin} /sys/fs/cgroup/cpu ro,nosuid - cgroup cgroup rw,cpu\n"
V2_MOUNT = "30 29 0:26 {begin} /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"


@pytest.mark.parametrize(
    ("proc_cgroup", "mountinfo", "folders"),
    [
        pytest.param("1:cpu:/pod/a\n", V1_MOUNT.format(begin="/pod/a"), ["/sys/fs/cgroup/cpu"], id="v1: its own"),
        pytest.param(
            "1:cpu:/pod/a/b\n", V1_MOUNT.format(begin="/pod/a"), ["/sys/fs/cgroup/cpu/b", "/sys/fs/cgroup/cpu"], id="v1: below"
        ),
        pytest.param("1:cpu:/pod/ab\n", V1_MOUNT.format(begin="/pod/a"), [], id="v1: another container's"),
        pytest.param("1:cpu:/\n", V1_MOUNT.format(begin="/pod/a"), [], id="v1: the host's"),
        pytest.param(
            "1:cpu:/a\n", V1_MOUNT.format(begin="/"), ["/sys/fs/cgroup/cpu/a", "/sys/fs/cgroup/cpu"], id="v1: on the host"
        ),
        pytest.param(
            "0::/\n", V2_MOUNT.format(begin="/"), ["/sys/fs/cgroup"], id="v2: its own, in a namespace of control groups"
        ),
        pytest.param("0::/../b\n", V2_MOUNT.format(begin="/"), [], id="v2: another container's"),
        pytest.param("0::/pod/a\n", V2_MOUNT.format(begin="/pod/a"), ["/sys/fs/cgroup"], id="v2: its own, without a namespace"),
        pytest.param("0::/b\n", V2_MOUNT.format(begin="/pod/a"), [], id="v2: the host's, without a namespace"),
    ],
)
def test_in_a_container_only_groups_of_the_container_have_folders(proc_cgroup: str, mountinfo: str, folders: list[str]) -> None:
    found = cgroup.cgroup_folders(proc_cgroup, mountinfo=mountinfo)
    assert [each for each in dict.fromkeys(found) if not each.startswith("/sys/fs/cgroup/unified")] == folders


class FileOf:
    """A file of a machine that is a table of texts by path."""

    error: int | None = None

    def __init__(self, texts: dict[str, str], path: str) -> None:
        self._texts, self._path = texts, path

    def read(self) -> str | None:
        return self._texts.get(self._path)

    def close(self) -> None:
        pass


def texts_after(seconds: int) -> dict[str, str]:
    """Files of a machine whose two cores are busy for half of the time, and a tenth of it stolen."""
    return {
        "/proc/stat": f"cpu  {100 * seconds} 0 0 {80 * seconds} 0 0 0 {20 * seconds}\ncpu0 0\ncpu1 0\n",
        "/proc/loadavg": "1.5 0 0 1/2 3",
        "/proc/meminfo": "MemTotal: 100 kB\nMemAvailable: 40 kB\n",
        "/proc/pressure/cpu": f"some avg10=0 total={250_000 * seconds}\nfull avg10=0 total={900_000 * seconds}\n",
        "/proc/pressure/memory": f"some avg10=0 total=9\nfull avg10=0 total={4_000_000 * seconds}\n",
        "/proc/diskstats": "".join(f"8 0 {name} {'0 ' * 9}{600 * seconds} 0\n" for name in ("sda", "sda1", "loop0")),
        "/proc/net/dev": f"a\nb\n lo: {10 * seconds} 0 0 0 0 0 0 0 {30 * seconds} 0\n",
        "/proc/sys/fs/file-nr": "503\t0\t2466177\n",
        "/proc/vmstat": f"pswpin {8 * seconds}\n",
    }


def test_the_machine_is_read_from_its_files_and_rates_begin_with_the_second_reading() -> None:
    texts = texts_after(10)
    probe = HostProbe(lambda path: FileOf(texts, path), lambda name: name == "sda")
    totals = HostReading(load_average_1m=1.5, memory_used_bytes=60 * 1024, fds=503, unread=("swapped_in_per_s",))
    assert probe.read(2.0) == totals
    texts |= texts_after(12)
    assert probe.read(2.0) == msgspec.structs.replace(
        totals,
        cpu_ratio=1.0,
        steal_ratio=0.2,
        cpu_pressure_ratio=0.25,
        memory_pressure_ratio=1.0,
        disk_busy_ratio=0.6,
        disk_bytes_per_s=0.0,
        received_bytes_per_s=10.0,
        sent_bytes_per_s=30.0,
        swapped_in_per_s=8.0,
        unread=(),
    )
    texts.clear()
    assert probe.read(2.0) == HostReading(unread=("swapped_in_per_s",))


def test_this_machine_is_read() -> None:
    probe = HostProbe()
    probe.read(1.0)
    while not (reading := probe.read(1.0)).cpu_ratio:  # its clock of CPU time advances in steps, at first of an idle core
        sum(range(1_000_000))
    probe.close()
    assert 0 < reading.cpu_ratio <= (os.cpu_count() or 1)
    assert 0 < (reading.memory_used_bytes or 0) < psutil.virtual_memory().total
    assert 0 < (reading.fds or 0) < (host_facts().fds_limit_of_system or 0)


def test_the_facts_of_the_host_agree_with_the_kernel_and_psutil() -> None:
    facts = host_facts()
    assert facts.system == "Linux"
    assert facts.kernel == os.uname().release
    assert facts.cpus == os.cpu_count()
    assert facts.memory_bytes == psutil.virtual_memory().total
    assert facts.port_range is not None and facts.ports_reserved is not None
    first, last = facts.port_range
    assert facts.ports_capacity == last - first + 1 - facts.ports_reserved
    assert facts.somaxconn is not None and facts.tcp_tw_reuse in (0, 1, 2)


@pytest.mark.parametrize(
    ("speeds_mbit_s", "bytes_per_s"),
    [
        pytest.param({"eth0": "1000\n", "eth1": "100\n"}, 125e6, id="the faster of two"),
        pytest.param({"eth0": "-1\n"}, None, id="speed unknown to the kernel"),
        pytest.param({"lo": None}, None, id="no file with a speed"),
        pytest.param({"eth0": "?\n"}, None, id="not a number"),
        pytest.param({}, None, id="no links"),
    ],
)
def test_the_fastest_link_is_the_one_with_the_highest_speed(
    speeds_mbit_s: dict[str, str | None], bytes_per_s: float | None, tmp_path: Path
) -> None:
    for name, speed in speeds_mbit_s.items():
        (tmp_path / name).mkdir()
        if speed is not None:
            (tmp_path / name / "speed").write_text(speed)
    assert fastest_link(str(tmp_path)) == bytes_per_s
