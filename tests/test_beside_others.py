"""When a run that may have been disturbed by other processes is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest
from beside_others import repeated_while_disturbed

MISSING, COMPLETE = False, True
IDLE_MACHINE, BUSY_MACHINE = 0.1, 1.5


@pytest.mark.parametrize(
    ("runs", "counts"),
    [
        ([(COMPLETE, BUSY_MACHINE)], 0),
        ([(MISSING, IDLE_MACHINE)], 0),
        ([(MISSING, BUSY_MACHINE), (COMPLETE, BUSY_MACHINE)], 1),
        ([(MISSING, BUSY_MACHINE), (MISSING, IDLE_MACHINE)], 1),
        ([(MISSING, BUSY_MACHINE)] * 3, 2),
    ],
    ids=["complete", "not disturbed", "complete at the second attempt", "not disturbed at the second attempt", "at most three"],
)
def test_a_run_counts_once_it_is_complete_or_was_not_disturbed(
    runs: list[tuple[bool, float]], counts: int, tmp_path: Path
) -> None:
    left = iter(enumerate(runs))
    ran = repeated_while_disturbed(lambda folder: next(left), lambda ran: ran[1][0], lambda ran: ran[1][1], tmp_path)
    assert ran[0] == counts
