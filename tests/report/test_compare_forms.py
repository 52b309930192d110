"""A comparison as Markdown, HTML and JSON: the same bytes each time, and hostile text is inert."""

from __future__ import annotations

import html.parser
import re
import xml.etree.ElementTree

from capexplorer.report.compare import Comparison, Session, compare, markdown, page
from capexplorer.report.compare.page import capacity, latency

from .compared import LevelSpec, knee, timeline

HOSTILE = "<script>alert(1)</script> | **x** [y](http://z) `q` \x1b[31m \u202e&\"'"


def comparison(label: str | None = "old") -> Comparison:
    """Two sessions with this label, with a knee, an unsettled level and a level that only one of them has."""
    levels = [LevelSpec(10, 40.0), LevelSpec(50, 90.0, p50_ms=40.0), LevelSpec(80, None, None, settled=False)]
    before = timeline(levels, label=label, more=[knee(45, 90.0)])
    after = timeline([LevelSpec(10, 41.0), LevelSpec(50, 120.0), LevelSpec(60, 130.0, None)], id="b", label=label and label[::-1])
    return compare([Session(before, title=label), Session(after)])


def test_all_rows_of_a_markdown_table_have_the_same_number_of_cells() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", markdown.render(comparison(HOSTILE)).decode(), re.MULTILINE)
    assert len(tables) >= 3
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_hostile_text_is_inert_in_markdown_and_html() -> None:
    hostile = comparison(HOSTILE)
    for text in (markdown.render(hostile).decode(), page.render(hostile).decode()):
        assert "<script" not in text
        assert not {"\x1b", "\u202e"} & set(text)


class Page(html.parser.HTMLParser):
    """Collects the tags that are open and all addresses, and asserts that tags are closed in the right order."""

    VOID = ("meta", "input")
    """Tags that are never closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_refers_to_no_other_file() -> None:
    content = page.render(comparison(HOSTILE)).decode()
    parser = Page()
    parser.feed(content)
    parser.close()
    assert parser.open == []
    assert parser.addresses == []
    assert "url(" not in content
    assert "@import" not in content
    assert "prefers-color-scheme:dark" in content


def test_charts_are_well_formed_svg_also_without_levels() -> None:
    nothing = compare([Session(timeline([LevelSpec(1, settled=False)])), Session(timeline([]))])
    for compared in (comparison(), nothing):
        for drawn in (capacity(compared.curves), latency(compared.curves), latency(compared.curves, log=True)):
            assert "nan" not in drawn
            xml.etree.ElementTree.fromstring(drawn)
    assert "knee of A" in capacity(comparison().curves)
