"""Links and file names in the Markdown pages lead to files that exist."""

from __future__ import annotations

import re

import pytest

from .page_tables import ROOT

PAGES = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "targets/README.md"))
LOCAL_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:capexplorer|tests|docs|lab|profiles|targets|sessions)/[\w./-]*\w)`")
FILE_NAME = re.compile(r"`(\w+\.py)`")
PYTHON_FILES = {
    path.name for folder in ("capexplorer", "tests", "docs", "lab", "targets") for path in (ROOT / folder).rglob("*.py")
}


@pytest.mark.parametrize("page", PAGES)
def test_a_link_leads_to_a_file(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    folder = (ROOT / page).parent
    assert [link for link in LOCAL_LINK.findall(text) if not (folder / link).exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_a_path_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [path for path in PATH.findall(text) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_a_file_that_a_page_names_without_its_folder_exists(page: str) -> None:
    assert [name for name in FILE_NAME.findall((ROOT / page).read_text(encoding="utf-8")) if name not in PYTHON_FILES] == []
