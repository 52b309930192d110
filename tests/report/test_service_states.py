"""Levels of another state of the service, and levels during which it changed, have a sign in every format and are on no curve."""

from __future__ import annotations

import csv
import io

import pytest
from analysis.epoch import regime_sessions
from analysis.recorded import analysed_again

from capexplorer.model.timeline import Timeline
from capexplorer.report.capacity import drawing
from capexplorer.report.compare import Session, compare, sentences
from capexplorer.report.formats import csv as csv_report
from capexplorer.report.formats import html, markdown
from capexplorer.report.rows import user_rows
from capexplorer.report.summary import summarise

DIES, DOUBLES = "upstream-dies-at-24-users", "capacity-doubles-at-60-s"
SAYS = {
    DIES: ["Rows with ≠: the service was in another state", "Rows with Δ: the service changed during the level"],
    DOUBLES: ["Rows with ≠: the service was in another state"],
}


@pytest.fixture(scope="module")
def timelines() -> dict[str, Timeline]:
    return {name: analysed_again(name) for name in (DIES, DOUBLES)}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        (DIES, [(8, "step"), (16, "step"), (24, "changed"), (32, "other_service")]),
        (DOUBLES, [(6, "step"), (12, "step"), (24, "step"), (48, "step"), (48, "other_service")]),
    ],
)
def test_each_level_has_the_kind_of_its_state(timelines: dict[str, Timeline], name: str, kinds: list[tuple[int, str]]) -> None:
    assert [(row.users, row.kind) for row in user_rows(timelines[name])] == kinds


def test_levels_beyond_a_step_that_may_have_caused_the_fall_are_compared() -> None:
    climb = regime_sessions.session(*regime_sessions.CLIMB, (32, regime_sessions.FALLEN["slow"]))
    verdict = regime_sessions.verdict_of(climb)
    assert verdict.regimes[-1].return_users == 24
    climb.apply(verdict)
    assert [row.kind for row in user_rows(climb)] == ["step"] * 4


@pytest.mark.parametrize("name", [DIES, DOUBLES])
def test_tables_mark_such_levels_and_explain_the_sign(timelines: dict[str, Timeline], name: str) -> None:
    text = markdown.render(timelines[name]).decode()
    assert [words for words in SAYS[name] if words not in text] == []
    page = html.render(timelines[name]).decode()
    assert [words for words in SAYS[name] if words.removeprefix("Rows with ") not in page] == []


def test_the_row_of_a_level_that_changed_has_its_sign(timelines: dict[str, Timeline]) -> None:
    text = markdown.render(timelines[DIES]).decode()
    assert "| Δ 24 |" in text
    assert "| ≠ 32 |" in text


def test_the_picture_draws_such_levels_as_triangles_and_explains_them(timelines: dict[str, Timeline]) -> None:
    picture = drawing(timelines[DIES])
    assert picture is not None
    assert picture.count("<polygon") == 2
    assert "triangles: another state of the service or a change during the level" in picture


def test_the_line_of_the_curve_leaves_such_levels_out(timelines: dict[str, Timeline]) -> None:
    picture = drawing(timelines[DOUBLES])
    assert picture is not None
    (line,) = [part for part in picture.splitlines() if '<polyline class="e0"' in part][:1]
    assert len(line.split('points="')[1].split()) == 4


def test_the_summary_and_the_table_of_levels_have_the_state(timelines: dict[str, Timeline]) -> None:
    summary = summarise(timelines[DIES])
    assert [level["service_state"] for level in summary["levels"]] == [None, None, "changed", "other"]
    assert [regime["levels"] for regime in summary["regimes"]] == [[0, 1, 2], [2, 3]]
    rows = csv.DictReader(io.StringIO(csv_report.levels(timelines[DIES]).decode()))
    assert [row["service_state"] for row in rows] == ["", "", "changed", "other"]


def test_a_comparison_pools_only_levels_of_the_state_that_the_verdict_is_about(timelines: dict[str, Timeline]) -> None:
    curve, same = compare([Session(timelines[DOUBLES])] * 2).curves
    goodput = {point.users: point.figures["goodput"].value for point in curve.points}
    assert goodput[48] == pytest.approx(95.4, abs=0.1)
    assert [point.levels for point in curve.points] == [1, 1, 1, 1]
    assert same.points == curve.points


def test_a_comparison_says_when_the_service_of_a_session_changed(timelines: dict[str, Timeline]) -> None:
    warnings = sentences.warnings(compare([Session(timelines[DOUBLES])] * 2))
    assert [warning for warning in warnings if warning.startswith("A: at 01:01 and 48 users goodput rose from 95.4 to 191/s")]


def test_a_level_that_changed_is_not_listed_as_unsettled(timelines: dict[str, Timeline]) -> None:
    curve, _ = compare([Session(timelines[DIES])] * 2).curves
    assert [point.users for point in curve.points] == [8, 16]
    assert curve.unsettled == ()
