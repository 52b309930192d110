"""docs/causes.md has every entry of the catalogue of causes, with the severity and the advice that the code gives."""

from __future__ import annotations

import pytest

from capexplorer import wording
from capexplorer.analysis.causes.catalogue import ENTRIES
from docs import causes

from .page_tables import ROOT, table_rows


def test_the_causes_page_is_what_its_generator_makes() -> None:
    on_disk = (ROOT / "docs" / "causes.md").read_text(encoding="utf-8")
    assert on_disk == causes.page(causes.texts()), "run `python docs/causes.py`"


def test_every_entry_of_the_catalogue_has_one_row_with_its_severity_and_advice() -> None:
    found = [cells for cells in table_rows("docs/causes.md") if cells[0].startswith("`")]
    expected = {
        (f"`{entry.id}`", entry.severity + (", symptom" if entry.symptom else ""), wording.advice_for(entry.id, {}))
        for entry in ENTRIES.values()
    }
    assert {(cells[0], cells[1], cells[5]) for cells in found} == expected
    assert len(found) == len(ENTRIES)


def test_no_row_has_an_empty_cell() -> None:
    assert [cells for cells in table_rows("docs/causes.md") if not all(cells)] == []


def test_a_cause_without_an_entry_in_causes_toml_is_refused() -> None:
    texts = {name: fields for name, fields in causes.texts().items() if name != "rate_limited"}
    with pytest.raises(ValueError, match=r"causes\.toml has no entry: rate_limited"):
        causes.page(texts)


def test_an_entry_in_causes_toml_without_a_cause_is_refused() -> None:
    with pytest.raises(ValueError, match="the catalogue lacks: of_no_use"):
        causes.page({**causes.texts(), "of_no_use": {}})
