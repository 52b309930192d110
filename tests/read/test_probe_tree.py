"""CPU time of a process tree whose processes start and end: it grows without jumps and loses nothing. And its descendants."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

from capexplorer.procs.processes import descendants
from capexplorer.read.processes import Cpu, Used

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
