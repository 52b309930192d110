"""The CSV export: a line for each level, each bin of a ramp, each second and each endpoint."""

from __future__ import annotations

import csv
import io

from capexplorer.model.timeline import Timeline
from capexplorer.report import summary
from capexplorer.report.formats import csv as csv_report
from capexplorer.report.formats.html import points
from capexplorer.report.summary import summarise

from .exported_sessions import session


def csv_rows(content: bytes) -> list[dict[str, str]]:
    """The lines of a CSV file below its heading, by column."""
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_every_figure_of_a_level_is_in_levels_csv() -> None:
    level = summarise(Timeline(session()))["levels"][0]
    latency = {f"latency_{name}_ms" for name in level["latency_ms"]}
    known = set(level) - {"latency_ms", "endpoints", "other_processes", "offered"} | latency | set(summary.COLUMNS)
    assert set(csv_report.LEVEL_COLUMNS) == known


def test_an_export_at_an_earlier_moment_of_a_replay_ends_there() -> None:
    timeline = Timeline(session())
    timeline.ticks = 10  # as in a replay: its columns have later seconds, too
    assert len(csv_rows(csv_report.seconds(timeline))) == 10
    times, _ = points(timeline, {"users": 0})
    assert len(times) == 10
