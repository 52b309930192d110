"""A person reads what is short: README and pages have bounds. CHANGELOG.md has none, since each release adds to it, and neither
have the files in changes/, which become its next section."""

from __future__ import annotations

from .page_tables import ROOT

README_MOST = 10_000
PAGE_MOST = 25_000
ALL_MOST = 210 * 1_024


def test_pages_are_short() -> None:
    found = {path.relative_to(ROOT): path.stat().st_size for path in ROOT.rglob("*.md")}
    sizes = {
        path.as_posix(): size
        for path, size in found.items()
        if not any(part.startswith(".") or part == "changes" for part in path.parts)
    }
    del sizes["CHANGELOG.md"]
    assert sizes["README.md"] <= README_MOST
    assert {name: size for name, size in sizes.items() if size > PAGE_MOST} == {}
    assert sum(sizes.values()) <= ALL_MOST, "say it once: shorten the page to which you added, or another one"
