"""A run that lacks a mark is repeated only while other processes disturb it, three times at most."""

from __future__ import annotations

from pathlib import Path

import pytest
from disturbed_runs import repeated_while_disturbed

MISSING, COMPLETE = False, True
"""Whether a run has all expected marks."""
IDLE_MACHINE, BUSY_MACHINE = 0.1, 1.5
"""Cores that other processes use."""


@pytest.mark.parametrize(
    ("runs", "returned"),
    [
        ([(COMPLETE, BUSY_MACHINE)], 0),
        ([(MISSING, IDLE_MACHINE)], 0),
        ([(MISSING, BUSY_MACHINE), (COMPLETE, BUSY_MACHINE)], 1),
        ([(MISSING, BUSY_MACHINE), (MISSING, IDLE_MACHINE)], 1),
        ([(MISSING, BUSY_MACHINE)] * 3, 2),
    ],
    ids=["complete", "not disturbed", "complete at the second attempt", "not disturbed at the second attempt", "at most three"],
)
def test_the_first_run_that_is_complete_or_not_disturbed_is_returned(
    runs: list[tuple[bool, float]], returned: int, tmp_path: Path
) -> None:
    attempts = iter(range(len(runs)))

    def is_complete(attempt: int) -> bool:
        return runs[attempt][0]

    def cores_of_others(attempt: int) -> float:
        return runs[attempt][1]

    assert repeated_while_disturbed(lambda folder: next(attempts), is_complete, cores_of_others, tmp_path) == returned
