"""One short row of each family of faults. `make faults` runs all rows with all client classes."""

from __future__ import annotations

from pathlib import Path

import pytest
from disturbed_runs import repeated_while_disturbed

from lab.trials.faults.trial import ALL, Row, carry_out, judged, why_not

pytestmark = [pytest.mark.slow, pytest.mark.trial]


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ALL.values() if row.short])
def test_a_fault_gets_its_name_and_no_other(row: Row, tmp_path: Path) -> None:
    if reason := why_not(row):
        pytest.skip(reason)
    found, ran = repeated_while_disturbed(
        lambda folder: (judged(row, ran := carry_out(row, "fast", folder, short=True)), ran),
        lambda found: not found[0].missing or bool(found[0].wrong),
        lambda found: found[0].busy_cores,
        tmp_path,
    )
    assert found.right, f"{found}: {ran.stderr}"
