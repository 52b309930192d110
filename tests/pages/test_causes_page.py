"""docs/causes.md has every entry of the catalogue, with what the code says of it."""

from __future__ import annotations

import pytest

from capexplorer import wording
from capexplorer.analysis.causes.catalogue import ENTRIES
from docs import causes

from .tables import ROOT, rows


def test_the_page_is_what_the_code_and_the_texts_make() -> None:
    on_disk = (ROOT / "docs" / "causes.md").read_text(encoding="utf-8")
    assert on_disk == causes.page(causes.texts()), "run `python docs/causes.py`"


def test_every_entry_of_the_catalogue_has_one_row_with_its_severity_and_advice() -> None:
    found = [cells for cells in rows("docs/causes.md") if cells[0].startswith("`")]
    expected = {
        (f"`{entry.id}`", entry.severity + (", symptom" if entry.symptom else ""), wording.advice_for(entry.id, {}))
        for entry in ENTRIES.values()
    }
    assert {(cells[0], cells[1], cells[5]) for cells in found} == expected
    assert len(found) == len(ENTRIES)


def test_no_row_has_an_empty_cell() -> None:
    assert [cells for cells in rows("docs/causes.md") if not all(cells)] == []


def test_a_cause_without_a_text_is_named() -> None:
    texts = {name: fields for name, fields in causes.texts().items() if name != "rate_limited"}
    with pytest.raises(ValueError, match=r"causes\.toml has no entry: rate_limited"):
        causes.page(texts)


def test_a_text_without_a_cause_is_named() -> None:
    with pytest.raises(ValueError, match="the catalogue lacks: of_no_use"):
        causes.page({**causes.texts(), "of_no_use": {}})
