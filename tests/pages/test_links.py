"""Links and file names in the Markdown pages lead to files that exist."""

from __future__ import annotations

import re

import pytest

from .page_tables import ROOT

PAGES = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "targets/README.md"))
LOCAL_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:capexplorer|tests|docs|lab|profiles|targets|sessions)/[\w./-]*\w)`")
FILE_NAME = re.compile(r"`(\w+\.py)`")
FILE_AND_PACKAGE = re.compile(r"`(\w+\.py)`(?: \(?of `(\w+)`\)?)?")
"""A file name with its package, if the words after it name one: `marks.py` (of `wording`)."""
SECTION_AND_PACKAGE = re.compile(r"^## [^\n]*\(`(\w+)`\)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
"""A section whose heading ends with the name of a package."""
PYTHON_FILES = {path.name for folder in ("capexplorer", "tests", "docs") for path in (ROOT / folder).rglob("*.py")}


@pytest.mark.parametrize("page", PAGES)
def test_a_link_leads_to_a_file(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    folder = (ROOT / page).parent
    assert [link for link in LOCAL_LINK.findall(text) if not (folder / link).exists()] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "docs/contributing.md", "docs/knee.md", "docs/causes.md"])
def test_a_path_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [path for path in PATH.findall(text) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "docs/contributing.md", "docs/decisions.md", "docs/causes.md"])
def test_a_file_that_a_page_names_without_its_folder_exists(page: str) -> None:
    assert [name for name in FILE_NAME.findall((ROOT / page).read_text(encoding="utf-8")) if name not in PYTHON_FILES] == []


def test_a_file_in_contributing_is_in_the_package_of_its_heading_or_of_the_words_after_it() -> None:
    sections = SECTION_AND_PACKAGE.findall((ROOT / "docs/contributing.md").read_text(encoding="utf-8"))
    files = {(other or package, name) for package, text in sections for name, other in FILE_AND_PACKAGE.findall(text)}
    assert len(files) > 10, "the pattern no longer finds the file names"
    missing = [
        f"{name} of {package}" for package, name in sorted(files) if not list((ROOT / "capexplorer" / package).rglob(name))
    ]
    assert missing == []
