"""CPU time of other processes on the machine: its total, and the names of the processes that used most of it.

"Neighbours" are all processes but the generator, the target and their children.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from typing import NamedTuple

import pytest

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

from capexplorer.procs.processes import Stat, stat_of
from capexplorer.read.neighbours import (
    NamesOfOthers,
    NeighboursProbe,
    PartHere,
    Snapshot,
    apart_from_target,
    busiest,
    process_name,
    snapshot,
)

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
OWN, TARGET, PART = 100, 200, 300


class Process(NamedTuple):
    """A process of a made-up snapshot."""

    name: str
    pid: int
    cpu_s: float
    parent: int = 0
    started_s: float = 1.0


NOTHING = Stat("", "S", 0, 0, 0, 0, 0, 1, 0, 0, 0)


def snapshot_of(at_s: float, *processes: Process) -> Snapshot:
    """A snapshot at a time, given in seconds since the machine started."""
    found = Snapshot(at_s, {})
    for each in processes:
        started_ticks = round(each.started_s * TICKS_PER_S)
        ticks = round(each.cpu_s * TICKS_PER_S)
        found.processes[each.pid, started_ticks] = NOTHING._replace(
            name=each.name, parent=each.parent, own_ticks=ticks, started_ticks=started_ticks
        )
    return found


def ours(cpu_s: float) -> list[Process]:
    """The generator, the target and a watched part, each with a child."""
    children = [Process("child", pid + 1, cpu_s, parent=pid) for pid in (OWN, TARGET, PART)]
    return [*(Process("first", pid, cpu_s) for pid in (OWN, TARGET, PART)), *children]


CASES: dict[str, tuple[list[Process], list[Process], dict[str, float]]] = {  # from the second 10 to the second 14
    "the three busiest": (
        [Process("chrome", 1, 5.0), Process("cc1plus", 2, 0.0), Process("sshd", 3, 1.0), Process("cron", 4, 1.0)],
        [Process("chrome", 1, 6.0), Process("cc1plus", 2, 4.0), Process("sshd", 3, 1.2), Process("cron", 4, 1.1)],
        {"cc1plus": 1.0, "chrome": 0.25, "sshd": 0.05},
    ),
    "without ours": ([*ours(0.0), Process("chrome", 1, 0.0)], [*ours(2.0), Process("chrome", 1, 2.0)], {"chrome": 0.5}),
    "a process that has started counts in full": ([], [Process("cc1plus", 5, 2.0, started_s=11.0)], {"cc1plus": 0.5}),
    "an older one that was missing does not": ([], [Process("missed", 6, 300.0, started_s=2.0)], {}),
    "a reused pid is another process": ([Process("old", 5, 9.0)], [Process("new", 5, 2.0, started_s=10.5)], {"new": 0.5}),
}


@pytest.mark.parametrize("case", CASES)
def test_names_are_those_of_the_busiest_others_with_their_cores(case: str) -> None:
    before, now, expected = CASES[case]
    assert busiest(snapshot_of(10.0, *before), snapshot_of(14.0, *now), {OWN, TARGET, PART}) == expected


@pytest.mark.parametrize(
    ("comm", "name"),
    [("cc1plus", "cc1plus"), ("kworker/0:1-events", "kworker"), ("Web Content", "Web Content"), ("a\x1b[2Jb\nc", "a?[2Jb?c")],
)
def test_a_process_name_is_that_of_the_kernel_without_control_characters_and_thread_numbers(comm: str, name: str) -> None:
    assert process_name(comm) == name


@pytest.mark.parametrize(
    ("host_cpu_ratio", "own_cpu_ratios", "cpu_ratio"),
    [
        pytest.param(0.5, [0.2, 0.2], 0.1, id="the rest of the host's"),
        pytest.param(0.3, [0.2, 0.2], 0.0, id="never negative: the host's clock and that of processes differ a little"),
        pytest.param(None, [0.1, 0.2], None, id="the host's is unknown"),
        pytest.param(1.0, [0.1, None], None, id="that of one of ours is unknown"),
    ],
)
def test_cpu_of_neighbours_is_that_of_the_host_minus_ours(
    host_cpu_ratio: float | None, own_cpu_ratios: list[float | None], cpu_ratio: float | None
) -> None:
    reading = NeighboursProbe().read(host_cpu_ratio, own_cpu_ratios, (TARGET,))
    assert reading.cpu_ratio == (None if cpu_ratio is None else pytest.approx(cpu_ratio))
    assert reading.processes == {}


def test_snapshots_are_due_only_while_neighbours_use_much_cpu_and_every_three_seconds() -> None:
    names, taken_s = NamesOfOthers(), []
    for second, others in enumerate([0.1] * 10 + [1.5] * 10 + [0.1]):
        if names.are_due(others, float(second)):
            taken_s.append(second)
            names.add(snapshot_of(float(second), Process("cc1plus", 5, second / 2)), {OWN})
        if second == 19:
            assert names.processes == {"cc1plus": 0.5}
    assert taken_s == [10, 13, 16, 19], "one at once, then one every three seconds"
    assert names.processes == {}, "others use little CPU again"


def test_watched_parts_on_this_machine_are_not_neighbours_and_the_target_as_a_part_counts_once() -> None:
    in_container, database, itself = PartHere(None, 0.4), PartHere(300, None), PartHere(TARGET, 0.7)
    assert apart_from_target((in_container, database, itself), {TARGET, 201}) == [in_container, database]


def test_a_busy_child_process_is_listed_unless_its_parent_is_excluded() -> None:
    spin = "import time\nwhile time.process_time() < 60: pass"
    with subprocess.Popen([sys.executable, "-c", spin]) as neighbour:
        try:
            before = snapshot()
            used_s = _cpu_s(neighbour.pid)
            while _cpu_s(neighbour.pid) < used_s + 0.3:
                time.sleep(0.05)
            now = snapshot()
            assert before is not None and now is not None
            [name] = [process.name for (pid, _), process in now.processes.items() if pid == neighbour.pid]
            cores_of_all = busiest(before, now, set())
            cores_of_others = busiest(before, now, {os.getpid()})
            assert cores_of_all, "no process used CPU time"
            at_most = cores_of_all.get(name, math.inf)  # infinite if three other names used more
            assert cores_of_others.get(name, 0.0) < at_most, "the child is counted as a neighbour"
        finally:
            neighbour.kill()


def _cpu_s(pid: int) -> float:
    """CPU seconds that a process has used so far."""
    found = stat_of(pid)
    assert found is not None
    return found.own_ticks / TICKS_PER_S
