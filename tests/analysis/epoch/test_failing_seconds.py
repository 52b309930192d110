"""Seconds at the end of a level at which requests began to fail: counts of each second in, their number out."""

from __future__ import annotations

import numpy as np
import pytest

from capexplorer.analysis.epoch.level_seconds import faulty_last_seconds


@pytest.mark.parametrize(
    ("failures", "finished", "faulty"),
    [
        ([0] * 8, [20] * 8, 0),
        ([0] * 7 + [9], [20] * 8, 1),
        ([0] * 8, [20] * 7 + [0], 1),
        ([0] * 8, [20] * 6 + [4, 0], 2),
        ([0, 9] + [0] * 6, [20] * 7 + [0], 0),
        ([0] * 8, [2, 0, 1, 0, 2, 1, 0, 0], 0),
    ],
    ids=["none", "failures", "a stall", "a stall with its mixed second", "failures at another time", "few iterations"],
)
def test_the_last_seconds_of_a_level_in_which_a_fault_began(failures: list[int], finished: list[int], faulty: int) -> None:
    columns = ([20] * 8, failures, finished, [1] * 8)
    assert faulty_last_seconds(*(np.array(each, float) for each in columns)) == faulty
