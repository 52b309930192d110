"""A comparison as Markdown, HTML and JSON: the same bytes every time, and nothing foreign is alive in them."""

from __future__ import annotations

import html.parser
import json
import re
import xml.etree.ElementTree
from typing import Any

import pytest

from capexplorer.report.compare import Comparison, Session, compare, markdown, page
from capexplorer.report.compare import json as json_form
from capexplorer.report.compare.curves import capacity, latency

from .compared import Seen, knee, timeline

EVIL = "<script>alert(1)</script> | **x** [y](http://z) `q` \x1b[31m \u202e&\"'"


def sample(label: str | None = "old") -> Comparison:
    levels = [Seen(10, 40.0), Seen(50, 90.0, p50_ms=40.0), Seen(80, None, None, settled=False)]
    before = timeline(levels, label=label, more=[knee(45, 90.0)])
    after = timeline([Seen(10, 41.0), Seen(50, 120.0), Seen(60, 130.0, None)], id="b", label=label and label[::-1])
    return compare([Session(before, title=label), Session(after)])


@pytest.mark.parametrize("render", [markdown.render, page.render, json_form.render], ids=["md", "html", "json"])
def test_the_same_comparison_gives_the_same_bytes(render: Any) -> None:
    assert render(sample()) == render(sample())


def test_markdown_has_verdict_levels_and_unmatched_user_counts() -> None:
    sentence = markdown.render(sample()).decode()
    assert sentence.startswith(
        "# Comparison\n\n**B finishes more than A beyond noise at 1 of 2 user counts in common (+33.3% at 50 users)"
    )
    assert "| 50 | goodput/s | 90.0 | 120.0 | +30.0 | +33.3% | 4.15 | better, beyond noise |" in sentence
    assert "Settled only in B: 60 users." in sentence
    assert "| A |" in sentence and "| 45 users, 90/s | 10, 50 | 80 |" in sentence


def test_every_markdown_table_has_as_many_cells_in_each_line() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", markdown.render(sample(EVIL)).decode(), re.MULTILINE)
    assert len(tables) >= 3
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_foreign_text_is_inert_in_every_form() -> None:
    found = sample(EVIL)
    for sentence in (markdown.render(found).decode(), page.render(found).decode()):
        assert "<script" not in sentence
        assert not {"\x1b", "\u202e"} & set(sentence)


def test_json_names_its_schema_and_distinguishes_null_from_zero() -> None:
    document = json.loads(json_form.render(sample()))
    assert document["schema"] == "capexplorer.compare/1"
    assert [session["letter"] for session in document["sessions"]] == ["A", "B"]
    first, second = document["comparisons"][0]["levels"]
    assert second["users"] == 50
    goodput = {"before": {"value": 90.0, "se": 1.0}, "after": {"value": 120.0, "se": 1.0}}
    assert second["goodput"] == goodput | {
        "change": 30.0, "ratio": 0.333333, "noise": 4.151829, "judgement": "beyond", "sure": True, "alone": False,
        "better": True, "floor_change_ms": None,
    }  # fmt: skip
    assert first["target_cpu"]["before"] == {"value": None, "se": None}
    assert first["failure_ratio"]["before"]["value"] == 0.0
    assert document["comparisons"][0]["users_only_after"] == [60]
    assert document["verdict"].endswith(".")


class Page(html.parser.HTMLParser):
    """Tags that are open, and every address."""

    VOID = ("meta", "input")

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


def test_the_page_is_whole_and_asks_for_nothing() -> None:
    content = page.render(sample(EVIL)).decode()
    parser = Page()
    parser.feed(content)
    parser.close()
    assert (parser.open, parser.addresses) == ([], [])
    assert "url(" not in content and "@import" not in content
    assert "prefers-color-scheme:dark" in content


def test_curves_are_drawn_well_formed_also_of_nothing() -> None:
    nothing = compare([Session(timeline([Seen(1, settled=False)])), Session(timeline([]))])
    for found in (sample(), nothing):
        for drawn in (capacity(found.curves), latency(found.curves), latency(found.curves, log=True)):
            assert "nan" not in drawn
            xml.etree.ElementTree.fromstring(drawn)
    assert "knee of A" in capacity(sample().curves)
