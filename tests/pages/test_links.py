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
def test_links_paths_and_files_of_a_page_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert [link for link in LOCAL_LINK.findall(text) if not (ROOT / page).parent.joinpath(link).exists()] == []
    if page != "CHANGELOG.md":  # of earlier versions, too
        assert [path for path in PATH.findall(text) if not (ROOT / path).exists()] == []
        assert [name for name in FILE_NAME.findall(text) if name not in PYTHON_FILES] == [], "files without their folder"
