"""The host's figures against what this machine says of itself."""

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
from capexplorer.probe.facts import fastest_link, host_facts
from capexplorer.probe.host import HostProbe


def two_reads() -> tuple[HostReading, HostReading]:
    probe = HostProbe()
    first = probe.read(1.0)
    before = time.monotonic()
    sum(range(3_000_000))
    time.sleep(0.2)
    second = probe.read(time.monotonic() - before)
    probe.close()
    return first, second


def test_growth_is_not_measured_at_the_first_read() -> None:
    first, _ = two_reads()
    assert (first.cpu_ratio, first.steal_ratio, first.disk_busy_ratio, first.received_bytes_per_s) == (None,) * 4
    assert first.grown("swapped_in_per_s") is None
    assert (first.cpu_pressure_ratio, first.memory_pressure_ratio, first.io_pressure_ratio) == (None,) * 3


def test_figures_are_within_possible_bounds() -> None:
    _, reading = two_reads()
    cpus = os.cpu_count() or 1
    assert reading.cpu_ratio is not None and 0 < reading.cpu_ratio <= cpus
    total = psutil.virtual_memory().total
    assert reading.memory_used_bytes is not None and 0 < reading.memory_used_bytes < total
    assert reading.load_average_1m is not None
    limit = host_facts().fds_limit_of_system
    assert reading.fds is not None and limit is not None
    assert 0 < reading.fds < limit
    assert reading.grown("swapped_in_per_s") is not None
    for share in (reading.cpu_pressure_ratio, reading.memory_pressure_ratio, reading.io_pressure_ratio, reading.disk_busy_ratio):
        assert share is None or 0 <= share <= 1


def test_a_closed_probe_measures_nothing() -> None:
    probe = HostProbe()
    probe.close()
    assert probe.read(1.0) == HostReading(unread=("swapped_in_per_s",))


def test_facts_are_those_of_this_machine() -> None:
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
    ("speeds", "expected"),
    [
        ({"eth0": "1000\n", "eth1": "100\n"}, 125e6),
        ({"eth0": "-1\n"}, None),
        ({"lo": None}, None),
        ({"eth0": "?\n"}, None),
        ({}, None),
    ],
)
def test_the_fastest_link_is_the_one_with_the_highest_speed(
    speeds: dict[str, str | None], expected: float | None, tmp_path: Path
) -> None:
    for name, speed in speeds.items():
        (tmp_path / name).mkdir()
        if speed is not None:
            (tmp_path / name / "speed").write_text(speed)
    assert fastest_link(str(tmp_path)) == expected and fastest_link(str(tmp_path / "gone")) is None
