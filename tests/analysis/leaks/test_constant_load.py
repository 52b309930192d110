"""Readings of a level are split into pieces, each of one process and below its limit, that may be examined together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capexplorer.analysis.leaks import pieces

PIECES = {
    "no values": ([], None, []),
    "values that grow": ([10, 11, 12, 13], None, [(0, 4)]),
    "a fall to less than half of the peak is another process": ([10, 20, 9, 10], None, [(0, 2), (2, 4)]),
    "a fall to more than half of the peak is the same process": ([10, 20, 11, 12], None, [(0, 4)]),
    "a value that was not read is skipped": ([10, math.nan, 12], None, [(0, 3)]),
    "values near the limit are cut off": ([10, 50, 96, 97, 60], 100.0, [(0, 2), (4, 5)]),
    "the first values are near the limit": ([99, 98, 40, 41], 100.0, [(2, 4)]),
}


@pytest.mark.parametrize(("values", "limit", "expected"), PIECES.values(), ids=PIECES)
def test_readings_are_split_where_the_process_was_replaced_and_cut_off_near_the_limit(
    values: list[float], limit: float | None, expected: list[tuple[int, int]]
) -> None:
    assert list(pieces(np.array(values, float), limit)) == expected
