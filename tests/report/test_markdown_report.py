"""The Markdown report and its picture."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from capexplorer.model.events import Event, LevelClosed, LevelOpened
from capexplorer.model.figures import LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.timeline import Timeline
from capexplorer.report import capacity
from capexplorer.report.formats import FORMATS, markdown

from .exported_sessions import HEADER, HOSTILE, export_files, ramp, session


def test_markdown_has_its_sections_and_its_picture(tmp_path: Path) -> None:
    files = export_files("md", session(), tmp_path / "a")
    text = files["out.md"].decode()
    assert list(files) == ["out-capacity.svg", "out.md"]
    assert "(out-capacity.svg)" in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Capacity of `mixed`", "## Levels", "## Endpoints by level", "## Marks", "## Notes", "## Environment",
    ]  # fmt: skip
    assert "| users | settled s |" in text
    assert "epoch" not in text


def test_markdown_on_stdout_replaces_the_picture_by_a_note() -> None:
    content, left_out = FORMATS["md"].to_text(session()), FORMATS["md"].text_lacks
    assert b"![" not in content
    assert "without its picture" in left_out


def test_tables_name_the_epoch_if_there_are_several() -> None:
    text = markdown.render(Timeline(session((5, 20, 5, 20)))).decode()
    assert "| epoch | users |" in text
    assert "| parameters, epoch 1 | `threads=16` |" in text


def test_a_percentile_of_few_values_is_in_parentheses() -> None:
    text = markdown.render(Timeline(session((5,), seconds=6))).decode()
    assert re.search(r"\| \(\d[\d.]*\) \| \(\d[\d.]*\) \|", text)
    assert "based on too few values" in text


def test_a_level_that_never_settled_has_no_figures() -> None:
    assert "| 5 | not settled | 0 | – | – |" in markdown.render(Timeline(session((5,), seconds=2))).decode()


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


def test_the_picture_shows_the_mean_without_percentiles_and_says_if_no_latency_was_measured() -> None:
    for latency, title in ((Latency(mean=12.0), b"mean, ms"), (Latency(), b"not measured")):
        figures = LevelFigures(settled=True, counted=False, goodput_rps=7.0, throughput_rps=7.0, latency_ms=latency)
        opened = LevelOpened(t_s=0.0, index=0, users=5, spawn_rate=5, by="plan")
        closed = LevelClosed(t_s=1.0, index=0, users=5, started_s=0.0, figures=figures)
        assert title in (capacity.picture(Timeline([HEADER, opened, closed])) or b"")


def test_there_is_no_picture_without_a_settled_level() -> None:
    assert capacity.picture(Timeline([HEADER])) is None
    assert markdown.with_picture(Timeline([HEADER]), "a.md").keys() == {"a.md"}
