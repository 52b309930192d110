"""Every format from one session: the same bytes twice, foreign text inert, nothing invented."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from capexplorer.errors import InputError
from capexplorer.model.columns import COLUMNS
from capexplorer.model.events import ClientOverhead, Ended, Event, LevelClosed, LevelOpened, Verdict
from capexplorer.model.figures import Latency, LevelFigures
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import EndpointDegradation
from capexplorer.report import capacity, charts, html, iterations, markdown
from capexplorer.report import csv as csv_report
from capexplorer.report.formats import FORMATS, to_disk, to_text, write
from capexplorer.report.series import points
from capexplorer.report.summary import summarise

from .material import HEADER, HOSTILE, ramp, session

ROOT = Path(__file__).resolve().parents[2]


def written(form: str, events: Iterable[Event], folder: Path) -> dict[str, bytes]:
    """All files of an export, by name."""
    folder.mkdir()
    to_disk(form, events, folder / f"out{FORMATS[form].suffix}", force=False)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def unfinished() -> list[Event]:
    """A session while its last level is open."""
    return [
        event for event in session() if not isinstance(event, Ended) and not (isinstance(event, LevelClosed) and event.index == 2)
    ]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "events", [session(), ramp(), session((5, 20, 5, 20)), unfinished()], ids=["steps", "ramp", "epochs", "open"]
)
def test_the_same_log_gives_the_same_bytes(form: str, events: list[Event], tmp_path: Path) -> None:
    first, second = written(form, events, tmp_path / "a"), written(form, iter(events), tmp_path / "b")
    assert first == second and first


@pytest.mark.parametrize("form", [name for name in FORMATS if name != "hgrm"])
def test_a_session_without_a_level_can_be_exported(form: str, tmp_path: Path) -> None:
    assert written(form, [HEADER], tmp_path / "a")


def test_hgrm_of_a_session_without_a_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no distribution"):
        to_disk("hgrm", [HEADER], tmp_path / "x", force=False)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("form", ["hgrm", "locust-csv"])
def test_a_folder_does_not_go_to_stdout(form: str) -> None:
    with pytest.raises(InputError, match="name a folder with -o"):
        to_text(form, session())


def test_a_folder_named_like_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="-o names a folder"):
        to_disk("csv", session(), tmp_path / "levels.csv", force=False)


def test_what_needs_the_log_is_not_written_from_a_screen(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="export the saved session"):
        write("locust-csv", Timeline(session()), tmp_path / "x", force=False)


def test_an_unfinished_session_is_reported_as_unfinished() -> None:
    timeline = Timeline(unfinished())
    assert b"snapshot of a running session" in markdown.render(timeline) and b"snapshot of a running session" in html.render(
        timeline
    )
    assert summarise(timeline)["session"]["complete"] is False


# -- Markdown


def test_markdown_has_verdict_picture_levels_marks_notes_environment(tmp_path: Path) -> None:
    files = written("md", session(), tmp_path / "a")
    text = files["out.md"].decode()
    assert list(files) == ["out-capacity.svg", "out.md"] and "(out-capacity.svg)" in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Capacity of `mixed`", "## Levels", "## Endpoints by level", "## Marks", "## Notes", "## Environment",
    ]  # fmt: skip
    assert "| users | settled s |" in text and "epoch" not in text


def test_markdown_on_stdout_replaces_the_picture_by_a_note() -> None:
    content, left_out = to_text("md", session())
    assert b"![" not in content and "without its picture" in left_out


def test_tables_say_the_epoch_when_there_are_several() -> None:
    text = markdown.render(Timeline(session((5, 20, 5, 20)))).decode()
    assert "| epoch | users |" in text and "| parameters, epoch 1 | `threads=16` |" in text


def test_a_percentile_of_few_values_is_in_parentheses() -> None:
    text = markdown.render(Timeline(session((5,), seconds=6))).decode()
    assert re.search(r"\| \(\d[\d.]*\) \| \(\d[\d.]*\) \|", text) and "based on too few values" in text


def test_a_level_that_never_settled_has_no_figures() -> None:
    assert "| 5 | not settled | 0 | – | – |" in markdown.render(Timeline(session((5,), seconds=2))).decode()


def test_every_table_row_has_as_many_cells_as_its_heading() -> None:
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


# -- pictures


@pytest.mark.parametrize(
    "events", [session(), ramp(), session((5, 20, 5, 20)), session((5,))], ids=["steps", "ramp", "epochs", "one"]
)
def test_the_picture_is_well_formed_and_within_its_frame(events: list[Event]) -> None:
    drawn = capacity.picture(Timeline(events))
    assert drawn is not None
    root = ElementTree.fromstring(drawn)
    for element in root.iter():
        for name, most in (
            ("cx", capacity.WIDTH),
            ("x1", capacity.WIDTH),
            ("x", capacity.WIDTH),
            ("cy", capacity.HEIGHT),
            ("y1", capacity.HEIGHT),
        ):
            assert 0 <= float(element.get(name, 0)) <= most


def test_the_picture_shows_the_mean_where_there_are_no_percentiles_and_says_when_there_is_nothing() -> None:
    for latency, title in ((Latency(mean=12.0), b"mean, ms"), (Latency(), b"not measured")):
        figures = LevelFigures(settled=True, counted=False, goodput_rps=7.0, throughput_rps=7.0, latency_ms=latency)
        opened = LevelOpened(t_s=0.0, index=0, users=5, spawn_rate=5, by="plan")
        closed = LevelClosed(t_s=1.0, index=0, users=5, started_s=0.0, figures=figures)
        assert title in (capacity.picture(Timeline([HEADER, opened, closed])) or b"")


def test_there_is_no_picture_without_a_settled_level() -> None:
    assert capacity.picture(Timeline([HEADER])) is None
    assert markdown.with_picture(Timeline([HEADER]), "a.md").keys() == {"a.md"}


# -- HTML


def test_the_page_is_one_file_that_refers_to_nothing() -> None:
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
    assert data is not None and not set("<>&\u2028") & set(data[1])
    json.loads(data[1])


def test_a_page_of_one_hour_is_under_two_megabytes() -> None:
    assert len(html.render(Timeline(session((5, 10, 15, 20), seconds=900)))) < 2_000_000


def test_every_column_of_a_chart_is_a_column_of_the_timeline() -> None:
    assert {line.column for chart in charts.CHARTS for line in chart.lines} <= set(COLUMNS)


def test_many_seconds_become_few_points_and_keep_every_peak() -> None:
    timeline = Timeline(session((2, 3), seconds=500))
    timeline.columns["p99_ms"][300], timeline.columns["p99_ms"][301] = 9_000.0, 0.001
    times, series = points(timeline, {"p99_ms": 3, "goodput_rps": 2, "received_bytes_per_s": 0}, most=100)
    values = [value for value in series["p99_ms"] if value is not None]
    assert len(times) == len(series["p99_ms"]) <= 100
    assert max(values) == 9_000.0
    assert min(values) == 0.001
    assert times == sorted(times)


def test_unmeasured_seconds_stay_gaps_in_every_bucket() -> None:
    timeline = Timeline(session((2,), seconds=200))
    for index in range(50, 150):
        timeline.columns["p99_ms"][index] = float("nan")
    _, series = points(timeline, {"p99_ms": 3}, most=100)
    assert [value is None for value in series["p99_ms"]] == [26 <= index < 74 for index in range(100)]


# -- CSV


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_levels_csv_is_the_summary_flat() -> None:
    timeline = Timeline(session())
    levels = rows(csv_report.levels(timeline))
    for level, line in zip(summarise(timeline)["levels"], levels, strict=True):
        assert float(line["goodput_rps"]) == level["goodput_rps"] and float(line["latency_p99_ms"]) == level["latency_ms"]["p99"]
        assert line["settled"] == "1" and line["open_sockets"] == str(level["open_sockets"])


def test_every_figure_of_a_level_is_in_levels_csv() -> None:
    level = summarise(Timeline(session()))["levels"][0]
    latency = {f"latency_{name}_ms" for name in level["latency_ms"]}
    known = set(level) - {"latency_ms", "endpoints", "other_processes", "offered"} | latency | set(iterations.COLUMNS)
    assert set(csv_report.LEVEL_COLUMNS) == known


def test_seconds_csv_has_every_tick_with_unmeasured_values_empty() -> None:
    timeline = Timeline(session())
    seconds = rows(csv_report.seconds(timeline))
    assert len(seconds) == len(timeline) == 36 and seconds[0]["users"] == "5"
    assert {line["sent_bytes_per_s"] for line in seconds} == {""}


def test_endpoints_csv_has_each_endpoint_at_each_level_and_says_which_leaves_the_line_first() -> None:
    timeline = Timeline(session())
    levels = summarise(timeline)["levels"]
    most = max(level["users"] for level in levels)
    name = levels[0]["endpoints"][0]["name"]
    first = EndpointDegradation(method="GET", name=name, users=most, column="latency", before=1.0, after=9.0)
    timeline.apply(Verdict(t_s=timeline.last_s, first_endpoint=first))
    lines = rows(csv_report.endpoints(timeline))
    assert len(lines) == sum(len(level["endpoints"]) for level in levels if level["settled"])
    assert {line["leaves_first"] for line in lines if line["name"] == name and float(line["users"]) == most} == {"1"}
    assert {line["leaves_first"] for line in lines if float(line["users"]) < most} == {"0"}
    one = lines[0]
    assert int(one["requests"]) - int(one["failures"]) == round(
        float(one["goodput_rps"]) * timeline.levels[0].figures.settled_seconds
    )


def test_pages_and_markdown_have_each_endpoint_at_each_level_and_the_one_that_degrades_first() -> None:
    timeline = Timeline(session())
    name, most = timeline.levels[0].endpoints[0].name, float(max(level.users for level in timeline.levels))
    first = EndpointDegradation(method="GET", name=name, users=most, column="latency", before=1.0, after=9.0)
    timeline.apply(Verdict(t_s=timeline.last_s, first_endpoint=first))
    levels = [level for level in summarise(timeline)["levels"] if level["settled"]]
    lines = sum(len(level["endpoints"]) for level in levels)
    marked = sum(each["leaves_first"] for level in levels for each in level["endpoints"])
    assert marked and lines > marked
    page = html.render(timeline).decode().split('id="endpoint-levels"')[1].split("</table>")[0]
    assert (page.count("<bdi>GET "), page.count('leaves"'), page.count(">yes<")) == (lines, marked, marked)
    table = markdown.render(timeline).decode().split("## Endpoints by level")[1].split("\n\n")[1]
    assert (table.count("`GET "), table.count("**`GET ")) == (lines, marked)


def test_an_endpoint_that_degrades_with_the_others_is_not_marked() -> None:
    timeline = Timeline(session())
    assert "degrades first" not in html.render(timeline).decode()
    assert "No endpoint was found to degrade" in markdown.render(timeline).decode()


def test_a_ramp_has_a_line_a_bin() -> None:
    kinds = {line["kind"] for line in rows(csv_report.levels(Timeline(ramp())))}
    assert kinds == {"ramp"}


def test_every_column_is_documented() -> None:
    reported = (ROOT / "docs" / "exports.md").read_text()
    for column in (*csv_report.LEVEL_COLUMNS, *csv_report.ENDPOINT_COLUMNS, *COLUMNS):
        assert f"`{column}`" in reported, column
    for form in FORMATS:
        assert f"`{form}`" in reported, form


# -- levels that a replay shows half way


def test_an_earlier_moment_is_exported_without_what_came_later() -> None:
    timeline = Timeline(session())
    timeline.ticks = 10  # as a replay's cursor has it: columns are shared, and go on
    assert len(rows(csv_report.seconds(timeline))) == 10 == len(points(timeline, {"users": 0})[0])


def test_one_level_that_opened_and_has_no_tick_yet() -> None:
    events = [HEADER, LevelOpened(t_s=1.0, index=0, users=5, spawn_rate=5, by="user")]
    assert b"| 5 | not settled |" in markdown.render(Timeline(events)) and html.render(Timeline(events))


@pytest.mark.parametrize(("wait", "sentence"), [(0.25, "constant 0.25"), ({"between": [0.1, 0.5], "poisson": None}, "between")])
def test_a_wait_may_be_a_number_or_a_table(wait: object, sentence: str, tmp_path: Path) -> None:
    profile = {**HEADER.profile, "users": {"wait_s": wait}}
    to_disk("md", session(header=msgspec.structs.replace(HEADER, profile=profile)), tmp_path / "x.md", force=False)
    [line] = [line for line in (tmp_path / "x.md").read_text().split("\n") if "wait, s" in line]
    assert sentence in line.replace("=", " ")


# -- who made the requests


def test_the_client_of_a_locustfile_in_an_older_log_is_not_taken_from_the_profile() -> None:
    """Such a header holds the profile's `client = "fast"`, and the floor of the class that was used."""
    header = msgspec.structs.replace(HEADER, client_overhead_ms={"HttpUser": ClientOverhead(p50_ms=1.9, p99_ms=4.0)})
    timeline = Timeline(session(header=header))
    assert "| client | `requests (HttpUser)` |" in markdown.render(timeline).decode()
    assert "requests (HttpUser)" in html.render(timeline).decode()
    assert summarise(timeline)["session"]["clients"] == ["HttpUser"]
