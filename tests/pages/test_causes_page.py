"""docs/causes.md has a row for every entry of the catalogue of causes."""

from __future__ import annotations

from capexplorer.model.catalogue import ENTRIES

from .page_tables import table_rows


def test_every_entry_of_the_catalogue_has_one_row_without_an_empty_cell() -> None:
    found = [cells for cells in table_rows("docs/causes.md") if cells[0].startswith("`")]
    assert sorted(cells[0].split("`")[1] for cells in found) == sorted(ENTRIES)
    assert [cells for cells in found if not all(cells)] == []
