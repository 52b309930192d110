"""CPU time of a target's process tree, with real processes: children are counted, when they run and when they end."""

from __future__ import annotations

import sys
import time

import pytest

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

from capexplorer.model.readings import TargetReading
from capexplorer.read.target import TargetProbe

from .python_processes import IDLE, python, resume


def read_twice(probe: TargetProbe, between_s: float) -> TargetReading:
    """The second reading, which has rates; closes the probe."""
    probe.read(1.0)
    before = time.monotonic()
    time.sleep(between_s)
    reading = probe.read(time.monotonic() - before)
    probe.close()
    return reading


def test_cpu_time_of_a_child_counts_for_the_target() -> None:
    with python("start('while True: pass'); print_line(); input()") as process:
        reading = read_twice(TargetProbe(process.pid), 1.5)
    assert reading.cpu_ratio is not None and 0.05 < reading.cpu_ratio < 1.2
    assert reading.busiest_thread_ratio is not None and 0.05 < reading.busiest_thread_ratio <= 1.0
    assert reading.processes == 2
    assert reading.threads == 2
    assert reading.alive


def test_an_idle_target_uses_almost_no_cpu() -> None:
    with python(IDLE) as process:
        reading = read_twice(TargetProbe(process.pid), 0.5)
    assert reading.cpu_ratio is not None and reading.cpu_ratio < 0.02
    assert reading.busiest_thread_ratio is not None and reading.busiest_thread_ratio < 0.02
    assert reading.run_delay_ratio is not None


def test_the_first_read_of_a_target_has_memory_and_no_rates() -> None:
    with python(IDLE) as process:
        probe = TargetProbe(process.pid)
        reading = probe.read(1.0)
        probe.close()
    rates = ("cpu_ratio", "busiest_thread_ratio", "run_delay_ratio", "read_bytes_per_s")
    assert {name: getattr(reading, name) for name in rates} == dict.fromkeys(rates)
    assert reading.rss_bytes is not None and reading.rss_bytes > 1_000_000


def test_cpu_time_of_children_that_end_between_two_reads_is_counted() -> None:
    code = """
print_line(); input()
for _ in range(10):
    pid = os.fork()
    if not pid: burn(0.05); os._exit(0)
    os.waitpid(pid, 0)
print_line(); input()
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        probe.read(1.0)
        resume(process)
        reading = probe.read(1.0)
        probe.close()
    assert reading.cpu_ratio is not None and 0.4 < reading.cpu_ratio < 0.7, "ten times 0.05 s"
    assert reading.processes == 1


def test_the_cpu_time_of_a_child_is_not_counted_again_when_it_ends() -> None:
    code = """
pid = os.fork()
if not pid: burn(1.0); print_line(); time.sleep(60)
input(); os.kill(pid, 9); os.waitpid(pid, 0)
print_line(); time.sleep(60)
"""
    with python(code) as process:
        probe = TargetProbe(process.pid)
        probe.read(1.0)
        resume(process)
        readings = [probe.read(1.0) for _ in range(3)]
        probe.close()
    assert [reading.processes for reading in readings] == [1, 1, 1]
    for reading in readings:
        assert reading.cpu_ratio is not None and 0 <= reading.cpu_ratio < 0.3, (
            "the whole second of the child, which was counted before"
        )
