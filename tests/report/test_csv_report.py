"""The CSV export: a line for each level, each bin of a ramp, each second and each endpoint."""

from __future__ import annotations

import csv
import io

from capexplorer.model.events import Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import EndpointDegradation
from capexplorer.report import summary
from capexplorer.report.formats import csv as csv_report
from capexplorer.report.formats.html import points
from capexplorer.report.summary import summarise

from .exported_sessions import ramp, session


def csv_rows(content: bytes) -> list[dict[str, str]]:
    """The lines of a CSV file below its heading, by column."""
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_levels_csv_has_the_figures_of_the_summary() -> None:
    timeline = Timeline(session())
    levels = csv_rows(csv_report.levels(timeline))
    for level, line in zip(summarise(timeline)["levels"], levels, strict=True):
        assert float(line["goodput_rps"]) == level["goodput_rps"]
        assert float(line["latency_p99_ms"]) == level["latency_ms"]["p99"]
        assert line["settled"] == "1"
        assert line["open_sockets"] == str(level["open_sockets"])


def test_every_figure_of_a_level_is_in_levels_csv() -> None:
    level = summarise(Timeline(session()))["levels"][0]
    latency = {f"latency_{name}_ms" for name in level["latency_ms"]}
    known = set(level) - {"latency_ms", "endpoints", "other_processes", "offered"} | latency | set(summary.COLUMNS)
    assert set(csv_report.LEVEL_COLUMNS) == known


def test_seconds_csv_has_every_tick_with_unmeasured_values_empty() -> None:
    timeline = Timeline(session())
    seconds = csv_rows(csv_report.seconds(timeline))
    assert len(seconds) == len(timeline) == 36
    assert seconds[0]["users"] == "5"
    assert {line["sent_bytes_per_s"] for line in seconds} == {""}


def test_endpoints_csv_has_each_endpoint_at_each_level_and_which_degrades_first() -> None:
    timeline = Timeline(session())
    levels = summarise(timeline)["levels"]
    most = max(level["users"] for level in levels)
    name = levels[0]["endpoints"][0]["name"]
    first = EndpointDegradation(method="GET", name=name, users=most, column="latency", before=1.0, after=9.0)
    timeline.apply(Verdict(t_s=timeline.last_s, first_endpoint=first))
    lines = csv_rows(csv_report.endpoints(timeline))
    assert len(lines) == sum(len(level["endpoints"]) for level in levels if level["settled"])
    assert {line["leaves_first"] for line in lines if line["name"] == name and float(line["users"]) == most} == {"1"}
    assert {line["leaves_first"] for line in lines if float(line["users"]) < most} == {"0"}
    successes = int(lines[0]["requests"]) - int(lines[0]["failures"])
    assert successes == round(float(lines[0]["goodput_rps"]) * timeline.levels[0].figures.settled_seconds)


def test_levels_csv_has_a_line_for_each_bin_of_a_ramp() -> None:
    timeline = Timeline(ramp())
    lines = csv_rows(csv_report.levels(timeline))
    assert len(lines) == len(timeline.levels[0].bins) > 1
    assert {line["kind"] for line in lines} == {"ramp"}


def test_an_export_at_an_earlier_moment_of_a_replay_ends_there() -> None:
    timeline = Timeline(session())
    timeline.ticks = 10  # as in a replay: its columns have later seconds, too
    assert len(csv_rows(csv_report.seconds(timeline))) == 10
    times, _ = points(timeline, {"users": 0})
    assert len(times) == 10
