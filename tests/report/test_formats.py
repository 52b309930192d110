"""Every format of export: the same bytes each time, its contents, hostile text is inert, and unmeasured values stay empty."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from capexplorer.errors import InputError
from capexplorer.model.columns import WRITTEN
from capexplorer.model.events import ClientOverhead, Event, LevelOpened, Target, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import EndpointDegradation
from capexplorer.report.formats import FORMATS, html, markdown
from capexplorer.report.formats import csv as csv_report
from capexplorer.report.summary import summarise

from .exported_sessions import HEADER, export_files, ramp, session, to_disk, unfinished_session

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "events", [session(), ramp(), session((5, 20, 5, 20)), unfinished_session()], ids=["steps", "ramp", "epochs", "open"]
)
def test_the_same_log_gives_the_same_bytes(form: str, events: list[Event], tmp_path: Path) -> None:
    first, second = export_files(form, events, tmp_path / "a"), export_files(form, iter(events), tmp_path / "b")
    assert first == second
    assert first, "no file was written"


@pytest.mark.parametrize("form", [name for name in FORMATS if name != "hgrm"])
def test_a_session_without_a_level_can_be_exported(form: str, tmp_path: Path) -> None:
    assert export_files(form, [HEADER], tmp_path / "a")


def test_hgrm_of_a_session_without_latencies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no distribution"):
        to_disk("hgrm", [HEADER], tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("form", ["hgrm", "locust-csv"])
def test_formats_of_several_files_are_refused_on_stdout(form: str) -> None:
    with pytest.raises(InputError, match="name a folder with -o"):
        FORMATS[form].to_text(session())


def test_csv_into_a_path_with_a_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="-o names a folder"):
        to_disk("csv", session(), tmp_path / "levels.csv")


def test_formats_that_need_the_log_are_refused_from_a_timeline(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="export the saved session"):
        FORMATS["locust-csv"].of_timeline(Timeline(session()), "x")


def test_reports_of_a_running_session_are_called_snapshots() -> None:
    timeline = Timeline(unfinished_session())
    assert b"snapshot of a running session" in markdown.render(timeline)
    assert b"snapshot of a running session" in html.render(timeline)
    assert summarise(timeline)["session"]["complete"] is False


def test_pages_and_markdown_have_each_endpoint_at_each_level_and_the_one_that_degrades_first() -> None:
    timeline = Timeline(session())
    name, most = timeline.levels[0].endpoints[0].name, float(max(level.users for level in timeline.levels))
    first = EndpointDegradation(method="GET", name=name, users=most, column="latency", before=1.0, after=9.0)
    timeline.apply(Verdict(t_s=timeline.last_s, first_endpoint=first))
    levels = [level for level in summarise(timeline)["levels"] if level["settled"]]
    lines = sum(len(level["endpoints"]) for level in levels)
    marked = sum(each["leaves_first"] for level in levels for each in level["endpoints"])
    assert 0 < marked < lines
    page = html.render(timeline).decode().split('id="endpoint-levels"')[1].split("</table>")[0]
    assert page.count("<bdi>GET ") == lines
    assert page.count('leaves"') == page.count(">yes<") == marked
    table = markdown.render(timeline).decode().split("## Endpoints by level")[1].split("\n\n")[1]
    assert table.count("`GET ") == lines
    assert table.count("**`GET ") == marked


def test_an_endpoint_that_degrades_with_the_others_is_not_marked() -> None:
    timeline = Timeline(session())
    assert "degrades first" not in html.render(timeline).decode()
    assert "No endpoint was found to degrade" in markdown.render(timeline).decode()


def test_the_tilde_before_the_users_of_a_ramp_is_explained_in_html_and_markdown() -> None:
    explained = "the seconds of a ramp with about this number of users"
    assert f"~: {explained}" in html.render(Timeline(ramp())).decode()
    assert f"Rows with a tilde: {explained}." in markdown.render(Timeline(ramp())).decode()


def test_reports_without_a_ramp_do_not_explain_tildes() -> None:
    assert "seconds of a ramp" not in html.render(Timeline(session())).decode()
    assert "seconds of a ramp" not in markdown.render(Timeline(session())).decode()


def test_every_csv_column_and_every_format_is_documented() -> None:
    documented = (ROOT / "docs" / "exports.md").read_text()
    for column in (*csv_report.LEVEL_COLUMNS, *csv_report.ENDPOINT_COLUMNS, *WRITTEN):
        assert f"`{column}`" in documented, column
    for form in FORMATS:
        assert f"`{form}`" in documented, form


# -- sessions that are not complete


def test_a_level_without_a_second_is_exported_as_not_settled() -> None:
    events = [HEADER, LevelOpened(t_s=1.0, index=0, users=5, spawn_rate=5, by="user")]
    assert b"| 5 | not settled |" in markdown.render(Timeline(events))
    assert html.render(Timeline(events))


@pytest.mark.parametrize(("wait", "sentence"), [(0.25, "constant 0.25"), ({"between": [0.1, 0.5], "poisson": None}, "between")])
def test_the_wait_of_a_profile_may_be_a_number_or_a_table(wait: object, sentence: str, tmp_path: Path) -> None:
    profile = {**HEADER.profile, "users": {"wait_s": wait}}
    to_disk("md", session(header=msgspec.structs.replace(HEADER, profile=profile)), tmp_path / "x.md")
    [line] = [line for line in (tmp_path / "x.md").read_text().split("\n") if "wait, s" in line]
    assert sentence in line.replace("=", " ")


# -- the client class


def test_the_client_of_a_locustfile_in_an_older_log_is_not_taken_from_the_profile() -> None:
    """The header of such a log has the profile's `client = "fast"`, and the overhead of the class that made the requests."""
    header = msgspec.structs.replace(HEADER, client_overhead_ms={"HttpUser": ClientOverhead(p50_ms=1.9, p99_ms=4.0)})
    timeline = Timeline(session(header=header))
    assert "| client | `requests (HttpUser)` |" in markdown.render(timeline).decode()
    assert "requests (HttpUser)" in html.render(timeline).decode()
    assert summarise(timeline)["session"]["clients"] == ["HttpUser"]


@pytest.mark.parametrize(
    ("version", "answered", "shown"), [("2.0", "1.4", ", version `2.0`"), (None, "1.4", ", version `1.4`"), (None, None, "")]
)
def test_the_first_lines_name_the_version_of_the_profile_or_source_else_that_of_the_answer(
    version: str | None, answered: str | None, shown: str
) -> None:
    header = msgspec.structs.replace(HEADER, target=msgspec.structs.replace(HEADER.target, version=version))
    timeline = Timeline([header, Target(t_s=0.5, state="ready", version=answered), *session()[1:]])
    assert markdown.render(timeline).decode().splitlines()[0] == f"# Capacity of `{HEADER.target.name}`{shown}"
    assert ("· version" in html.render(timeline).decode()) == bool(shown)
