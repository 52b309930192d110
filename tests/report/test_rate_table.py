"""Levels of offered rates in reports and comparisons: tables of their own, never among levels of users."""

from __future__ import annotations

from functools import cache

import numpy as np

from capexplorer.model.timeline import Timeline
from capexplorer.report import html, markdown, rate_table
from capexplorer.report.compare.across_sessions import compare
from capexplorer.report.compare.comparison import Session
from capexplorer.report.compare.json import document
from capexplorer.report.compare.markdown import render
from capexplorer.report.compare.rates import rate_points
from capexplorer.report.compare.second_latencies import SecondLatencies
from capexplorer.report.summary import summarise
from trials.simulation.open_queue import OpenRun
from trials.simulation.queues import System
from trials.simulation.virtual_rates import VirtualRates


@cache
def session(capacity: float) -> tuple[Timeline, SecondLatencies]:
    found, latencies = VirtualRates(OpenRun(System(1 / capacity, 0), np.random.default_rng(200_003))), SecondLatencies()
    marks = found.sink.derive_events
    found.sink.derive_events = lambda event: [*latencies.collecting([event]), *marks(event)][1:]
    found.climb([40, 60, 80, 160], 14)
    found.end()
    return found.timeline, latencies


def timeline(capacity: float) -> Timeline:
    return session(capacity)[0]


def test_each_level_is_a_line_with_its_state() -> None:
    rows = rate_table.lines(timeline(100))
    assert [row[0] for row in rows] == ["40/s", "60/s", "80/s", "160/s"]
    assert rows[0][-1] == "served in full" and rows[-1][-1].startswith("not stationary: the queue grows by ")
    assert all(len(row) == len(rate_table.titles()) for row in rows)


def test_markdown_and_page_have_the_table_and_the_capacity() -> None:
    written = markdown.render(timeline(100)).decode()
    assert "## Offered rates" in written and "## Levels" not in written
    assert "| capacity as a rate |" in written
    page = html.render(timeline(100)).decode()
    assert "<h2>Offered rates</h2>" in page and "not stationary" in page


def test_the_json_has_the_verdict() -> None:
    found = summarise(timeline(100))["rates"]
    assert found["capacity"]["kind"] == "capacity" and found["capacity"]["overload"]["kind"] == "queues"
    assert [each["state"] for each in found["levels"]] == ["kept", "kept", "kept", "queue_grows"]


def test_two_sessions_are_compared_at_equal_rates_and_by_their_capacity() -> None:
    found = compare([Session(timeline(100)), Session(timeline(130))])
    (pair,) = found.pairs
    assert [each.per_s for each in pair.rates] == [40, 60, 80, 160] and not pair.levels
    assert pair.rates[-1]["goodput"].better
    written = render(found).decode()
    assert "**The capacity as a rate is 1" in written and "| 160/s | goodput/s |" in written
    assert document(found)["comparisons"][0]["rate_capacity"]["better"] is True


def test_percentiles_from_plan_have_their_noise_by_batches_unless_the_queue_grew() -> None:
    played, latencies = session(100)
    errors = [point.figures["p95"].se for point in rate_points(played, 0, latencies)]
    assert [error is not None and 0 < error < 100 for error in errors] == [True, True, True, False]
    assert [point.figures["p95"].se for point in rate_points(played, 0, SecondLatencies())] == [None] * 4
