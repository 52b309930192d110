"""A tick as numbers has each column by its name, once."""

from __future__ import annotations

from capexplorer.model.columns import COLUMNS, FOLD_COLUMNS, READINGS, SECOND_COLUMNS, row, second_values
from capexplorer.model.events import Sample

TICK = Sample(t_s=1.0, duration_s=1.0, level=0, users=3, wanted=3, phase="settled", settled=True)


def test_a_tick_has_every_column_and_no_other() -> None:
    assert sorted(row(TICK)) == sorted((*COLUMNS, *FOLD_COLUMNS))


def test_a_second_has_what_a_level_needs_in_its_order() -> None:
    assert tuple(second_values(TICK)) == SECOND_COLUMNS
    assert set(READINGS) <= set(SECOND_COLUMNS)


def test_no_column_occurs_twice() -> None:
    names = (*COLUMNS, *FOLD_COLUMNS)
    assert len(set(names)) == len(names)
