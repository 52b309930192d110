"""The HTML report and the points of its charts. In a browser: html_page/test_page.py."""

from __future__ import annotations

import json
import re

from capexplorer.model.columns import WRITTEN
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats import html
from capexplorer.report.formats.html import points

from .exported_sessions import HOSTILE, session


def test_the_page_refers_to_no_other_file() -> None:
    text = html.render(Timeline(session())).decode()
    assert not re.search(r"(?:src|href|url)\s*[=(]\s*[\"']?(?!data:|#)[\w/.]", text.replace('xmlns="http', ""))
    assert "default-src 'none'" in text


def test_hostile_text_is_inert_in_the_page() -> None:
    text = html.render(Timeline(session(text=HOSTILE))).decode()
    assert text.count("<script") == 2
    assert "<img" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert data is not None
    assert not set("<>&\u2028") & set(data[1])
    json.loads(data[1])


def test_a_page_of_one_hour_is_under_two_megabytes() -> None:
    assert len(html.render(Timeline(session((5, 10, 15, 20), seconds=900)))) < 2_000_000


def test_every_column_of_a_chart_is_a_column_of_the_timeline() -> None:
    assert {line.column for chart in html.CHARTS for line in chart.lines} <= set(WRITTEN)


def test_charts_of_many_seconds_have_few_points_and_keep_extremes() -> None:
    timeline = Timeline(session((2, 3), seconds=500))
    timeline.columns["p99_ms"][300], timeline.columns["p99_ms"][301] = 9_000.0, 0.001
    times, series = points(timeline, {"p99_ms": 3, "goodput_rps": 2, "received_bytes_per_s": 0}, most=100)
    values = [value for value in series["p99_ms"] if value is not None]
    assert len(times) == len(series["p99_ms"]) <= 100
    assert max(values) == 9_000.0
    assert min(values) == 0.001
    assert times == sorted(times)


def test_unmeasured_seconds_are_gaps_in_charts() -> None:
    timeline = Timeline(session((2,), seconds=200))
    for index in range(50, 150):
        timeline.columns["p99_ms"][index] = float("nan")
    _, series = points(timeline, {"p99_ms": 3}, most=100)
    assert [value is None for value in series["p99_ms"]] == [26 <= index < 74 for index in range(100)]
