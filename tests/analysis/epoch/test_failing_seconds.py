"""Seconds at which requests began to fail: counts of each second in, indices out."""

from __future__ import annotations

import numpy as np
import pytest

from capexplorer.analysis.epoch.level_seconds import failing_changes, faulty_last_seconds, slow_last_seconds

REQUESTS = [6, 5, 6, 7, 5, 6, 0, 0, 0, 6, 5, 7]


@pytest.mark.parametrize(
    ("in_flight", "changes"),
    [
        (None, [6, 9]),
        ([1, 1, 1, 1, 1, 1, 4, 9, 12, 1, 1, 1], [6, 9]),
        ([1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1], []),
    ],
    ids=["users, who always send requests", "a rate, whose iterations wait", "a low Poisson rate without arrivals"],
)
def test_seconds_without_requests_are_a_stall_unless_none_arrived(in_flight: list[int] | None, changes: list[int]) -> None:
    waiting = None if in_flight is None else np.array(in_flight, float)
    assert failing_changes(np.array(REQUESTS, float), np.zeros(len(REQUESTS)), waiting) == changes


@pytest.mark.parametrize(
    ("clean_after", "changes"), [(0, [10]), (1, [10]), (2, [10, 14])], ids=["at the end", "a second before", "two seconds before"]
)
def test_when_failures_began_is_known_even_if_they_ended_just_before_the_level_did(clean_after: int, changes: list[int]) -> None:
    """Recorded: a deployment refused connections for 4 s; the level ended a second later."""
    failures = [0] * 10 + [50] * 4 + [0] * clean_after
    assert failing_changes(np.full(len(failures), 53.0), np.array(failures, float)) == changes


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


@pytest.mark.parametrize(
    ("goodput", "slow"),
    [
        ([73, 77, 81, 75, 60, 19, 21], 3),
        ([73, 77, 81, 75, 74, 79, 21], 1),
        ([73, 77, 81, 75, 74, 79, 60], 0),
        ([73, 20, 81, 75, 74, 79, 21], 0),
        ([73, 77, 81, 75, 19, 21, 18, 20], 0),
        ([7, 8, 6, 7, 8, 7, 3], 0),
    ],
    ids=["a slowdown", "its first second", "no half", "as slow before", "more than three", "too few to be sure"],
)
def test_the_last_seconds_of_a_level_in_which_a_slowdown_began(goodput: list[int], slow: int) -> None:
    assert slow_last_seconds(np.array(goodput, float)) == slow
