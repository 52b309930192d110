"""Panes and status show what is kept in tests/tui/expected; `snapshots.py` renews it."""

from __future__ import annotations

import pytest

from . import snapshots

CASES = snapshots.cases()


@pytest.mark.parametrize("name", CASES)
def test_the_state_is_shown_as_before(name: str) -> None:
    expected = (snapshots.FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert snapshots.text_of(CASES[name]()) == expected


def test_no_file_is_left_without_a_case() -> None:
    assert {path.stem for path in snapshots.FOLDER.glob("*.txt")} == CASES.keys()
