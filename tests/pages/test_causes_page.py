"""docs/causes.md has a row for every entry of the catalogue of causes."""

from __future__ import annotations

import pytest

from capexplorer.analysis.causes.catalogue import ENTRIES
from docs import causes

from .page_tables import table_rows


def test_every_entry_of_the_catalogue_has_one_row_without_an_empty_cell() -> None:
    found = [cells for cells in table_rows("docs/causes.md") if cells[0].startswith("`")]
    assert sorted(cells[0].split("`")[1] for cells in found) == sorted(ENTRIES)
    assert [cells for cells in found if not all(cells)] == []


def test_a_cause_without_an_entry_in_causes_toml_is_refused() -> None:
    texts = {name: fields for name, fields in causes.texts().items() if name != "rate_limited"}
    with pytest.raises(ValueError, match=r"causes\.toml has no entry: rate_limited"):
        causes.page(texts)


def test_an_entry_in_causes_toml_without_a_cause_is_refused() -> None:
    with pytest.raises(ValueError, match="the catalogue lacks: of_no_use"):
        causes.page({**causes.texts(), "of_no_use": {}})
