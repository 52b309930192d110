"""The Markdown report and its picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.report import capacity
from capexplorer.report.formats import markdown

from .exported_sessions import HEADER, HOSTILE, ramp, session


def test_all_rows_of_a_markdown_table_have_as_many_cells_as_its_heading() -> None:
    text = markdown.render(Timeline(session(text=HOSTILE))).decode()
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table


def test_hostile_text_is_inert_in_markdown() -> None:
    text = markdown.render(Timeline(session(text=HOSTILE))).decode()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]", text)
    outside = re.sub(r"(`+).*?\1", "", text).replace("\\]", "")
    assert "<script" not in outside
    assert "<img" not in outside
    assert "@everyone" not in outside
    assert "](http" not in outside


@pytest.mark.parametrize(
    "events", [session(), ramp(), session((5, 20, 5, 20)), session((5,))], ids=["steps", "ramp", "epochs", "one"]
)
def test_the_picture_is_well_formed_svg_and_within_its_frame(events: list[Event]) -> None:
    drawn = capacity.picture(Timeline(events))
    assert drawn is not None
    root = ElementTree.fromstring(drawn)
    for element in root.iter():
        for name in ("cx", "x1", "x"):
            assert 0 <= float(element.get(name, 0)) <= capacity.WIDTH
        for name in ("cy", "y1"):
            assert 0 <= float(element.get(name, 0)) <= capacity.HEIGHT


def test_there_is_no_picture_without_a_settled_level() -> None:
    assert capacity.picture(Timeline([HEADER])) is None
    assert markdown.with_picture(Timeline([HEADER]), "a.md").keys() == {"a.md"}
