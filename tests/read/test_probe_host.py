"""The host probe and the facts of the machine, compared with what psutil and the kernel report of this machine."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

from capexplorer.model.readings import HostReading
from capexplorer.read.machine import HostProbe, fastest_link, host_facts


def read_twice() -> tuple[HostReading, HostReading]:
    """Two readings of one probe, with CPU work of this process between them."""
    probe = HostProbe()
    first = probe.read(1.0)
    before = time.monotonic()
    sum(range(3_000_000))
    time.sleep(0.2)
    second = probe.read(time.monotonic() - before)
    probe.close()
    return first, second


def test_rates_are_none_at_the_first_read() -> None:
    first, _ = read_twice()
    rates = (
        "cpu_ratio",
        "steal_ratio",
        "disk_busy_ratio",
        "received_bytes_per_s",
        "cpu_pressure_ratio",
        "memory_pressure_ratio",
        "io_pressure_ratio",
    )
    assert {name: getattr(first, name) for name in rates} == dict.fromkeys(rates)
    assert first.grown("swapped_in_per_s") is None


def test_the_second_reading_is_within_the_bounds_of_this_machine() -> None:
    _, reading = read_twice()
    cpus = os.cpu_count() or 1
    assert reading.cpu_ratio is not None and 0 < reading.cpu_ratio <= cpus
    total = psutil.virtual_memory().total
    assert reading.memory_used_bytes is not None and 0 < reading.memory_used_bytes < total
    assert reading.load_average_1m is not None
    limit = host_facts().fds_limit_of_system
    assert reading.fds is not None and limit is not None
    assert 0 < reading.fds < limit
    assert reading.grown("swapped_in_per_s") is not None
    for name in ("cpu_pressure_ratio", "memory_pressure_ratio", "io_pressure_ratio", "disk_busy_ratio"):
        ratio = getattr(reading, name)
        assert ratio is None or 0 <= ratio <= 1, name


def test_a_closed_probe_gives_no_figures() -> None:
    probe = HostProbe()
    probe.close()
    assert probe.read(1.0) == HostReading(unread=("swapped_in_per_s",))


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


def test_the_fastest_link_is_none_without_the_folder_of_links(tmp_path: Path) -> None:
    assert fastest_link(str(tmp_path / "missing")) is None
