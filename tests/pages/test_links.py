"""Links, anchors and file names in the Markdown pages lead to what exists, and each page has its place in the site's navigation.

`make site` finds broken links, too, of Zensical's own reading; this needs nothing installed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.package import PACKAGE

from capexplorer import cli
from docs.site import LINK, MADE, lay_out, navigation, unplaced

from .page_tables import ROOT

PAGES = [page for page in navigation() if page not in MADE]
PATH = re.compile(r"`((?:capexplorer|tests|docs|lab|profiles|targets|sessions)/[\w./-]*\w)`")
FILE_NAME = re.compile(r"`(\w+\.py)`")
PYTHON_FILES = {
    path.name
    for folder in (PACKAGE, *(ROOT / name for name in ("tests", "docs", "lab", "targets")))
    for path in folder.rglob("*.py")
}
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Those of headings, as the code host and docs/site.toml make them."""
    headings = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        linked = page.parent.joinpath(link) if link else page
        if not linked.is_file() or (anchor and anchor not in anchors(linked)):
            broken.append(f"{link}#{anchor}" if anchor else link)
    return broken


def test_every_page_has_one_place_in_the_navigation() -> None:
    assert unplaced() == [], "give each a line in docs/site.toml"
    assert sorted(PAGES) == sorted(set(PAGES))
    assert [page for page in PAGES if not (ROOT / page).exists()] == []


def test_every_linked_page_has_a_place_in_the_navigation() -> None:
    linked = {
        (ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT).as_posix()
        for page in PAGES
        for link, _ in LINK.findall((ROOT / page).read_text(encoding="utf-8"))
        if link.endswith(".md")
    }
    assert sorted(linked - set(PAGES)) == [], "give each a line in docs/site.toml"


@pytest.mark.parametrize("page", PAGES)
def test_links_paths_and_files_of_a_page_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert broken_links(ROOT / page) == []
    if page != "CHANGELOG.md":  # of earlier versions, too
        assert [
            path for path in PATH.findall(text) if not any((folder / path).exists() for folder in (ROOT, PACKAGE.parent))
        ] == []
        assert [name for name in FILE_NAME.findall(text) if name not in PYTHON_FILES] == [], "files without their folder"


@pytest.mark.parametrize("link", ["gone.md", "other.md#gone", "#other", "folder"])
def test_a_link_to_nothing_or_to_a_folder_is_broken(tmp_path: Path, link: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.md").write_text("# Other\n\n```\n# gone\n```\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Page, and `code`\n\n[a]({link}) [b](other.md#other) [c](#page-and-code) [d](https://host.example/#x)\n")
    assert broken_links(page) == [link]


def test_what_the_site_is_built_from_has_every_page_with_all_that_it_links_to(tmp_path: Path) -> None:
    lay_out(tmp_path)
    assert {page: broken for page in navigation() if (broken := broken_links(tmp_path / page))} == {}
    options = (tmp_path / "reference" / "options.md").read_text(encoding="utf-8")
    assert [name for name in cli.COMMANDS if f"\n## {name}\n" not in options] == []


def test_the_action_names_the_page_that_has_the_exit_codes() -> None:
    action = (ROOT / ".github" / "actions" / "capexplorer" / "action.yml").read_text(encoding="utf-8")
    [page] = re.findall(r"3 something is not met.*; others in (\S+\.md)", action)
    assert "| exit code | means |" in (ROOT / page).read_text(encoding="utf-8")
