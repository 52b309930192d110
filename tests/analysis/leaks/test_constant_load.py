"""Which seconds may be examined together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capexplorer.analysis.leaks.constant_load import pieces

PIECES = {
    "nothing": ([], None, []),
    "one stretch": ([10, 11, 12, 13], None, [(0, 4)]),
    "a fall under half of the peak is another process": ([10, 20, 9, 10], None, [(0, 2), (2, 4)]),
    "a fall by less is the same one": ([10, 20, 11, 12], None, [(0, 4)]),
    "what was not read is skipped": ([10, math.nan, 12], None, [(0, 3)]),
    "near its limit a value is cut off": ([10, 50, 96, 97, 60], 100.0, [(0, 2), (4, 5)]),
    "it begins at its limit": ([99, 98, 40, 41], 100.0, [(2, 4)]),
}


@pytest.mark.parametrize(("values", "limit", "expected"), PIECES.values(), ids=PIECES)
def test_pieces(values: list[float], limit: float | None, expected: list[tuple[int, int]]) -> None:
    assert list(pieces(np.array(values, float), limit)) == expected
