"""The pages link and name only files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .tables import ROOT

PAGES = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "targets/README.md"))
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
NAMED = re.compile(r"`((?:capexplorer|tests|docs|benchmarks|trials|profiles|targets|sessions)/[\w./-]*\w)`")

FILE = re.compile(r"`(\w+\.py)`")
FILE_OF_ROOM = re.compile(r"`(\w+\.py)`(?: \(?of `(\w+)`\)?)?")
SECTION_OF_ROOM = re.compile(r"^## [^\n]*\(`(\w+)`\)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
FILES = {path.name for room in ("capexplorer", "tests", "docs") for path in (ROOT / room).rglob("*.py")}


@pytest.mark.parametrize("page", PAGES)
def test_a_link_leads_to_a_file(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    folder = (ROOT / page).parent
    assert [link for link in LINK.findall(text) if not (folder / link).exists()] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "docs/contributing.md", "docs/knee.md", "docs/causes.md"])
def test_a_path_that_a_page_names_exists(page: str) -> None:
    text = Path(ROOT / page).read_text(encoding="utf-8")
    assert [path for path in NAMED.findall(text) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "docs/contributing.md", "docs/decisions.md", "docs/causes.md"])
def test_a_file_that_a_page_names_without_its_folder_exists(page: str) -> None:
    assert [name for name in FILE.findall((ROOT / page).read_text(encoding="utf-8")) if name not in FILES] == []


def test_a_file_named_without_its_folder_is_in_the_room_of_its_heading_or_of_the_words_after_it() -> None:
    sections = SECTION_OF_ROOM.findall((ROOT / "docs/contributing.md").read_text(encoding="utf-8"))
    named = {(other or room, name) for room, text in sections for name, other in FILE_OF_ROOM.findall(text)}
    assert len(named) > 10
    assert [f"{name} of {room}" for room, name in sorted(named) if not list((ROOT / "capexplorer" / room).rglob(name))] == []
