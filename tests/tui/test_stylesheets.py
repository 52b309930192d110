"""The style sheets: a selector that names no class would have no effect, and nobody would see why."""

from __future__ import annotations

import re
from pathlib import Path

import textual.widgets

import capexplorer.tui

FOLDER = Path(capexplorer.tui.__file__).parent


def test_each_class_that_a_style_sheet_names_exists() -> None:
    sheets = {path.name: path.read_text() for path in FOLDER.rglob("*.tcss")}
    assert "picker.tcss" in sheets
    sources = "".join(path.read_text() for path in FOLDER.rglob("*.py"))
    widgets = textual.widgets.__all__  # type: ignore[attr-defined]
    classes = {*re.findall(r"^class (\w+)", sources, re.MULTILINE), *widgets, "SearchIcon"}
    selectors = {(name, each) for name, sheet in sheets.items() for each in re.findall(r"(?<![\w#.$-])[A-Z]\w+", sheet)}
    assert {(name, each) for name, each in selectors if each not in classes} == set()
