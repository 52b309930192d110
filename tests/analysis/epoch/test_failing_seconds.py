"""Seconds at which requests began to fail: counts of each second in, indices out."""

from __future__ import annotations

import numpy as np
import pytest

from capexplorer.analysis.epoch.failing_seconds import failing_changes

REQUESTS = [6, 5, 6, 7, 5, 6, 0, 0, 0, 6, 5, 7]


@pytest.mark.parametrize(
    ("in_flight", "changes"),
    [
        (None, [6, 9]),  # users always ask: a stall
        ([1, 1, 1, 1, 1, 1, 4, 9, 12, 1, 1, 1], [6, 9]),  # what was asked waits: a stall
        ([1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1], []),  # a low Poisson rate had no arrivals
    ],
)
def test_silent_seconds_are_a_stall_unless_nothing_was_asked(in_flight: list[int] | None, changes: list[int]) -> None:
    waiting = None if in_flight is None else np.array(in_flight, float)
    assert failing_changes(np.array(REQUESTS, float), np.zeros(len(REQUESTS)), waiting) == changes
