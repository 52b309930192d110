"""CPU time of a tree whose members come and go: no jumps, nothing lost. And who belongs to it."""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("/proc is Linux", allow_module_level=True)

from capexplorer.probe.tree import Cpu, Used, descendants

Tick = dict[int, tuple[int, int, float]]
"""pid to own ns, reaped ns, start time. A tick a second, from second 100."""

CASES: dict[str, tuple[list[Tick], list[int | None]]] = {
    "a steady process": ([{1: (5, 0, 9)}, {1: (8, 0, 9)}, {1: (8, 0, 9)}], [None, 3, 0]),
    "one that was there before us counts from when it was first seen": (
        [{1: (5, 0, 9)}, {1: (5, 0, 9), 2: (900, 0, 50)}, {1: (5, 0, 9), 2: (907, 0, 50)}],
        [None, 0, 7],
    ),
    "one born since the last tick counts whole": ([{1: (5, 0, 9)}, {1: (5, 0, 9), 2: (40, 0, 100.5)}], [None, 40]),
    "a child that is waited for adds only what it used since": (
        [{1: (5, 0, 9), 2: (900, 0, 9)}, {1: (6, 930, 9)}, {1: (7, 930, 9)}],
        [None, 31, 1],
    ),
    "a child that came and went between two ticks is not lost": ([{1: (5, 0, 9)}, {1: (5, 70, 9)}], [None, 70]),
    "a child with grandchildren": (
        [{1: (0, 0, 9), 2: (100, 300, 9)}, {1: (0, 450, 9)}],
        [None, 50],
    ),
    "a child found gone after its parent was read is made up for at the next tick": (
        [{1: (0, 0, 9), 2: (900, 0, 9)}, {1: (1, 0, 9)}, {1: (2, 910, 9)}, {1: (3, 915, 9)}],
        [None, 1, 11, 6],
    ),
    "a child that nobody waited for does not eat what others use later": (
        [{1: (0, 0, 9), 2: (900, 0, 9)}, {1: (1, 0, 9)}, {1: (2, 0, 9)}, {1: (2, 50, 9)}],
        [None, 1, 1, 50],
    ),
    "clock ticks that round the reaped time down never make it negative": (
        [{1: (0, 0, 9), 2: (905, 0, 9)}, {1: (1, 900, 9)}, {1: (2, 900, 9)}],
        [None, 1, 1],
    ),
    "a pid that is given to another starts anew": (
        [{1: (0, 0, 9), 2: (900, 0, 9)}, {1: (0, 900, 9), 2: (4, 0, 100.7)}],
        [None, 4],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_cpu_time_of_a_changing_tree_grows_without_jumps(case: str) -> None:
    ticks, expected = CASES[case]
    cpu = Cpu()
    reported = [
        cpu.grown_ns({pid: Used(*used) for pid, used in tick.items()}, 100.0 + second) for second, tick in enumerate(ticks)
    ]
    assert reported == expected


def test_descendants_are_found_in_a_table_of_parents() -> None:
    parents = {2: 1, 3: 2, 4: 2, 5: 4, 6: 1, 7: 99}
    assert descendants({2}, parents) == [3, 4, 5]
    assert descendants({1}, parents) == [2, 6, 3, 4, 5]
    assert descendants({7}, parents) == []
