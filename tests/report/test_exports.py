"""What holds of every export: hostile text is inert, tables and pictures are well-formed, nothing is fetched from elsewhere.

What each export contains: `recorded_exports`.
"""

from __future__ import annotations

import html.parser
import json
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from capexplorer.errors import InputError
from capexplorer.model.columns import WRITTEN
from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.report import capacity, summary
from capexplorer.report.compare import Comparison, Session, compare, markdown, page
from capexplorer.report.compare.page import capacity as curves
from capexplorer.report.compare.page import latency
from capexplorer.report.formats import FORMATS
from capexplorer.report.formats import csv as csv_report
from capexplorer.report.formats import html as html_report
from capexplorer.report.formats import markdown as markdown_report

from .compared import LevelSpec, knee, timeline
from .exported_sessions import HEADER, HOSTILE, export_files, ramp, session, to_disk
from .made_comparisons import COMPARED
from .made_sessions import MADE

ROOT = Path(__file__).resolve().parents[2]


def hostile_comparison() -> Comparison:
    """Two sessions with hostile labels and titles, a knee, an unsettled level and a level that only one of them has."""
    levels = [LevelSpec(10, 40.0), LevelSpec(50, 90.0, p50_ms=40.0), LevelSpec(80, None, None, settled=False)]
    before = timeline(levels, label=HOSTILE, more=[knee(45, 90.0)])
    after = timeline([LevelSpec(10, 41.0), LevelSpec(50, 120.0), LevelSpec(60, 130.0, None)], id="b", label=HOSTILE[::-1])
    return compare([Session(before, title=HOSTILE), Session(after)])


def made(name: str) -> Timeline:
    return Timeline(MADE[name]())


PAGES = {
    "a session": lambda: html_report.render(made("hostile text")).decode(),
    "an example of a failure": lambda: html_report.render(made("a hostile example")).decode(),
    "a comparison": lambda: page.render(hostile_comparison()).decode(),
}
TEXTS = {
    "a session": lambda: markdown_report.render(made("hostile text")).decode(),
    "an example of a failure": lambda: markdown_report.render(made("a hostile example")).decode(),
    "a comparison": lambda: markdown.render(hostile_comparison()).decode(),
}


# -- hostile text


@pytest.mark.parametrize("name", PAGES)
def test_hostile_text_is_inert_in_a_page(name: str) -> None:
    text = PAGES[name]()
    assert text.count("<script") == (0 if name == "a comparison" else 2)
    assert not {"\x1b", "\u202e"} & set(text)
    assert "<img" not in text
    for data in re.findall(r'<script type="application/json" id="data">(.*?)</script>', text):
        assert not set("<>&\u2028") & set(data)
        json.loads(data)


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_text_is_inert_in_markdown(name: str) -> None:
    text = TEXTS[name]()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]", text)
    outside = re.sub(r"(`+).*?\1", "", text).replace("\\]", "")
    assert [markup for markup in ("<script", "<img", "@everyone", "](http") if markup in outside] == []


# -- form


@pytest.mark.parametrize("name", TEXTS)
def test_all_rows_of_a_markdown_table_have_as_many_cells_as_its_heading(name: str) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", TEXTS[name](), re.MULTILINE)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table


class Page(html.parser.HTMLParser):
    """Collects the tags that are open and all addresses, and asserts that tags are closed in the right order."""

    VOID = ("meta", "input", "link")
    """Tags that are never closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]
        if tag not in self.VOID and not tag.startswith("/"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_formed_and_refers_to_no_other_file(name: str) -> None:
    content = PAGES[name]()
    parser = Page()
    parser.feed(content)
    parser.close()
    assert parser.open == []
    assert set(parser.addresses) <= {"data:,"}
    assert not re.search(r"@import|url\s*\(\s*[\"']?(?!data:|#)[\w/.]", content)
    assert name == "a comparison" or "default-src 'none'" in content


@pytest.mark.parametrize(
    "events", [session(), ramp(), session((5, 20, 5, 20)), session((5,))], ids=["steps", "ramp", "epochs", "one"]
)
def test_the_picture_is_well_formed_svg_and_within_its_frame(events: Sequence[Event]) -> None:
    drawn = capacity.picture(Timeline(events))
    assert drawn is not None
    for element in ElementTree.fromstring(drawn).iter():
        for names, most in ((("cx", "x1", "x"), capacity.WIDTH), (("cy", "y1"), capacity.HEIGHT)):
            assert all(0 <= float(element.get(name, 0)) <= most for name in names)


@pytest.mark.parametrize("name", ["knees with intervals", "nothing", "epochs"])
def test_the_charts_of_a_comparison_are_well_formed_svg(name: str) -> None:
    compared = compare(COMPARED[name]()).curves
    for drawn in (curves(compared), latency(compared), latency(compared, log=True)):
        assert "nan" not in drawn
        ElementTree.fromstring(drawn)


def test_there_is_no_picture_without_a_settled_level() -> None:
    assert capacity.picture(Timeline([HEADER])) is None
    assert markdown_report.with_picture(Timeline([HEADER]), "a.md").keys() == {"a.md"}


# -- formats


@pytest.mark.parametrize("form", [name for name in FORMATS if name not in ("hgrm", "pprof", "speedscope")])
def test_a_session_without_a_level_can_be_exported(form: str, tmp_path: Path) -> None:
    assert export_files(form, [HEADER], tmp_path / "a")


@pytest.mark.parametrize(
    ("form", "events", "name", "reason"),
    [
        ("hgrm", [HEADER], "x", "no distribution"),
        ("pprof", [HEADER], "x", "no stacks"),
        ("speedscope", [HEADER], "x", "no stacks"),
        ("csv", session((5,), 2), "levels.csv", "-o names a folder"),
    ],
)
def test_an_export_that_cannot_be_written_is_refused(
    form: str, events: Sequence[Event], name: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=reason):
        to_disk(form, events, tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("form", ["hgrm", "locust-csv", "pprof"])
def test_formats_of_several_files_are_refused_on_stdout(form: str) -> None:
    with pytest.raises(InputError, match="name a folder with -o"):
        FORMATS[form].to_text([HEADER])


def test_formats_that_need_the_log_are_refused_from_a_timeline() -> None:
    with pytest.raises(InputError, match="export the saved session"):
        FORMATS["locust-csv"].of_timeline(Timeline([HEADER]), "x")


def test_every_csv_column_and_every_format_is_documented() -> None:
    documented = (ROOT / "docs" / "exports.md").read_text()
    names = (*csv_report.LEVEL_COLUMNS, *csv_report.ENDPOINT_COLUMNS, *csv_report.METRIC_COLUMNS, *WRITTEN, *FORMATS)
    assert [name for name in names if f"`{name}`" not in documented] == []


def test_every_figure_of_a_level_is_in_levels_csv() -> None:
    level = summary.level_entries(Timeline(session((5,), 4)))[0]
    latency_columns = {f"latency_{name}_ms" for name in level["latency_ms"]}
    known = set(level) - {"latency_ms", "endpoints", "other_processes", "offered"} | latency_columns | set(summary.COLUMNS)
    assert set(csv_report.LEVEL_COLUMNS) == known


# -- seconds


def test_an_export_at_an_earlier_moment_of_a_replay_ends_there() -> None:
    shown = Timeline(session())
    shown.ticks = 10  # as in a replay: its columns have later seconds, too
    assert len(csv_report.seconds(shown).splitlines()) == 1 + 10
    times, _ = html_report.points(shown, {"users": 0})
    assert len(times) == 10


def test_every_column_of_a_chart_is_a_column_of_the_timeline() -> None:
    assert {line.column for chart in html_report.CHARTS for line in chart.lines} <= set(WRITTEN)


def test_charts_of_many_seconds_have_few_points_and_keep_extremes_and_gaps() -> None:
    shown = Timeline(session((2,), seconds=200))
    shown.columns["p99_ms"][20], shown.columns["p99_ms"][21] = 9_000.0, 0.001
    for index in range(50, 150):
        shown.columns["p99_ms"][index] = float("nan")
    times, series = html_report.points(shown, {"p99_ms": 3, "goodput_rps": 2}, most=100)
    known = [value for value in series["p99_ms"] if value is not None]
    assert (max(known), min(known)) == (9_000.0, 0.001)
    assert [value is None for value in series["p99_ms"]] == [26 <= index < 74 for index in range(100)]
    assert times == sorted(times)
