"""Checks of a session for CI systems: their states, the JUnit file, the page of a job or a comment, annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import junitparser
import pytest
from kit.scenario import Scenario

from capexplorer import paths
from capexplorer.model.events import Answered, Ended, Verdict
from capexplorer.model.load import Users
from capexplorer.model.requirements import (
    Answer,
    CapacityAnswer,
    CapacityRequired,
    FailuresAnswer,
    FailuresRequired,
    PercentileAnswer,
    PercentileRequired,
)
from capexplorer.model.timeline import Timeline
from capexplorer.report.annotations import annotated
from capexplorer.report.checks import Baseline, of_session, outcome, unfit
from capexplorer.report.compare import Session, compare
from capexplorer.report.compare.fail_if import parse
from capexplorer.report.formats import ci_summary, junit
from capexplorer.session.reader import open_session

from .compared import LevelSpec, session
from .compared import timeline as timeline_of
from .exported_sessions import HOSTILE

MET = CapacityAnswer(required=CapacityRequired(100.0), state="met", per_s=151.0, low_per_s=148.0, high_per_s=154.0)
NOT_MET = PercentileAnswer(
    required=PercentileRequired(95.0, 300.0, Users(50)), state="not_met", ms=412.0, low_ms=390.0, high_ms=431.0, replies=1204,
    seconds=24.0,
)  # fmt: skip
UNDECIDED = FailuresAnswer(required=FailuresRequired(0.001, Users(50)))


PLAN_DONE = Ended(t_s=30.0, reason="plan done")


def timeline(*answers: Answer, ended: Ended | None = PLAN_DONE) -> Timeline:
    """Of two settled levels, with these answers."""
    scenario = Scenario().ready().level(users=4, rps=90).level(users=8, rps=120).add(Answered(t_s=29.0, answers=answers))
    return (scenario.add(ended) if ended is not None else scenario).timeline


def against(*conditions: str) -> Baseline:
    """A baseline of 100/s at 50 users, and a session of 80/s there."""
    sessions = [session([LevelSpec(10), LevelSpec(50)]), session([LevelSpec(10), LevelSpec(50, 80.0)])]
    return Baseline(conditions=tuple(map(parse, conditions)), comparison=compare(sessions))


# -- states


@pytest.mark.parametrize(
    ("ended", "answers", "state"),
    [
        (Ended(t_s=30.0, reason="plan done"), (), "passed"),
        (Ended(t_s=30.0, reason="decided", exit_code=3), (NOT_MET,), "passed"),
        (Ended(t_s=30.0, reason="decided", exit_code=5), (MET, UNDECIDED), "passed"),
        (Ended(t_s=30.0, reason="p95 is above 300 ms", exit_code=3), (MET,), "failed"),
        (Ended(t_s=30.0, reason="the target died", exit_code=4), (NOT_MET,), "failed"),
        (Ended(t_s=30.0, reason="ended by SIGTERM", exit_code=143, signal="SIGTERM"), (), "undecided"),
        (None, (), "undecided"),
    ],
)
def test_a_run_passes_that_came_to_its_end_without_a_stop_rule(
    ended: Ended | None, answers: tuple[Answer, ...], state: str
) -> None:
    run = of_session(timeline(*answers, ended=ended))[0]
    assert (run.group, run.state, run.seconds) == ("run", state, 30.0 if ended else 29.0)


def test_requirements_and_conditions_have_a_check_each_in_their_order() -> None:
    checks = of_session(timeline(MET, NOT_MET, UNDECIDED), against("goodput<-5%", "goodput@10<-5%", "p95@70>1%"))
    assert [(each.group, each.state) for each in checks[1:]] == [
        ("requirement", "passed"), ("requirement", "failed"), ("requirement", "undecided"),
        ("comparison", "failed"), ("comparison", "passed"), ("comparison", "undecided"),
    ]  # fmt: skip
    assert [each.result for each in checks[1:4]] == ["met", "not met", "undecided"]
    assert "412 ms" in checks[2].sentence


def test_a_condition_that_does_not_hold_names_the_change_that_is_nearest_to_its_limit() -> None:
    (check,) = against("goodput<-30%").checks
    assert check.state == "passed"
    assert "at 50 users" in check.words


def test_a_condition_that_noise_excuses_passes_and_says_so() -> None:
    sessions = [Session(timeline_of([LevelSpec(10, goodput_rps, 10.0)])) for goodput_rps in (100.0, 90.0)]
    (check,) = Baseline(conditions=(parse("goodput<-5%"),), comparison=compare(sessions)).checks
    assert (check.state, "within noise" in check.words) == ("passed", True)


def test_without_a_baseline_conditions_are_skipped_and_nothing_is_amiss() -> None:
    checks = Baseline(conditions=(parse("knee<-5%"),), why_none="none yet").checks
    assert [(each.group, each.state, each.words) for each in checks] == [("comparison", "skipped", "none yet")]
    assert outcome(checks) == "skipped"


@pytest.mark.parametrize(
    ("answers", "worst"),
    [((MET,), "passed"), ((UNDECIDED, MET), "undecided"), ((NOT_MET, UNDECIDED, MET), "failed"), ((), "skipped")],
)
def test_what_is_not_met_outweighs_what_is_undecided(answers: tuple[Answer, ...], worst: str) -> None:
    assert outcome(of_session(timeline(*answers))[1:]) == worst


@pytest.mark.parametrize(
    ("verdict", "is_fit"),
    [(Verdict(t_s=28.0), True), (Verdict(t_s=28.0, disturbed_levels=(1,)), False)],
)
def test_a_session_that_others_disturbed_is_no_baseline(verdict: Verdict, is_fit: bool) -> None:
    shown = Scenario().ready().level(users=4, rps=90).level(users=8, rps=120).add(verdict, PLAN_DONE).timeline
    assert (unfit(shown) == "") == is_fit


def test_a_session_whose_generator_was_at_its_limit_is_no_baseline() -> None:
    with open_session(paths.sample_sessions()["sample-ports"]) as log:
        assert unfit(Timeline(log))


# -- JUnit

ELEMENTS: Mapping[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests"}, {"failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name", "classname", "time"}, {"assertions", "status"}, {"skipped", "error", "failure", "system-out", "system-err"}
    ),
    "skipped": (set(), {"message", "type"}, set()),
    "error": (set(), {"message", "type"}, set()),
    "failure": (set(), {"message", "type"}, set()),
    "system-out": (set(), set(), set()),
}  # fmt: skip
"""By element: attributes that it needs, that it may have, and its children, as the schemas of Jenkins and Ant have in common."""


def assert_valid(element: ElementTree.Element) -> None:
    """Fails for an element that those schemas do not accept."""
    needed, allowed, children = ELEMENTS[element.tag]
    assert needed <= set(element.keys()), element.tag
    assert set(element.keys()) <= needed | allowed, element.tag
    for name in set(element.keys()) & {"tests", "failures", "errors"}:
        assert int(element.attrib[name]) >= 0
    if "time" in element.attrib:
        assert float(element.attrib["time"]) >= 0
    assert {child.tag for child in element} <= children, element.tag
    for child in element:
        assert_valid(child)


def parsed(content: bytes) -> junitparser.JUnitXml:
    """What a reader finds in a valid file."""
    assert_valid(ElementTree.fromstring(content))
    found = junitparser.JUnitXml.fromstring(content)
    counts = [(suite.tests, suite.failures, suite.errors, suite.skipped) for suite in found]
    found.update_statistics()
    assert [(suite.tests, suite.failures, suite.errors, suite.skipped) for suite in found] == counts
    return found


def test_the_junit_file_is_valid_and_counts_each_state() -> None:
    baseline = against("goodput<-5%", "goodput@10<-5%")
    found = parsed(junit.of_timeline(timeline(MET, NOT_MET, UNDECIDED), baseline))
    assert (found.tests, found.failures, found.errors, found.skipped) == (6, 2, 1, 0)
    cases = [case for suite in found for case in suite]
    assert [(case.is_passed, case.is_failure, case.is_error) for case in cases[1:4]] == [
        (True, False, False), (False, True, False), (False, False, True),
    ]  # fmt: skip
    (failure,) = cases[2].result
    assert all(word in failure.message for word in ("300ms", "412 ms", "390", "431"))
    assert (cases[2].time, cases[1].system_out is not None) == (24.0, True)


def test_a_missing_baseline_is_skipped_in_the_junit_file() -> None:
    found = parsed(junit.of_timeline(timeline(), Baseline(conditions=(parse("knee<-5%"),), why_none="none yet")))
    assert (found.tests, found.failures, found.errors, found.skipped) == (2, 0, 0, 1)


def test_hostile_text_stays_inert_in_the_junit_file_and_in_annotations() -> None:
    broken = timeline(ended=Ended(t_s=30.0, reason=HOSTILE, exit_code=4))
    found = parsed(junit.of_timeline(broken))
    assert found.failures == 1
    (line,) = annotated(broken, of_session(broken))
    assert "\n" not in line
    assert "\r" not in line


# -- page


def page(**further: Any) -> str:
    return ci_summary.render(**further).decode()


def test_the_page_begins_with_the_result_and_has_a_row_for_each_requirement() -> None:
    lines = page(timeline=timeline(MET, NOT_MET, UNDECIDED)).splitlines()
    assert lines[0].startswith("## Not met: ")
    assert [line.split("|")[1].split()[0] for line in lines if line.startswith(("| ✓", "| ✗", "| ?"))] == ["✓", "✗", "?"]


def test_the_page_of_a_run_that_failed_says_so_first() -> None:
    shown = page(timeline=timeline(MET, ended=Ended(t_s=30.0, reason="the target died", exit_code=4)))
    assert shown.startswith("## Run failed")
    assert "the target died" in shown


def test_the_page_compares_with_the_baseline_and_draws_both() -> None:
    shown = page(timeline=timeline(), baseline=against("goodput<-5%"))
    assert "## Not met" in shown
    chart = [
        "```mermaid",
        "xychart-beta",
        '    x-axis "users" ["10", "50"]',
        '    y-axis "goodput (1/s)" 0 --> 110',
        "    bar [100, 100]",
        "    line [100, 80]",
        "```",
    ]
    assert "\n".join(chart) in shown
    assert "| 50 | goodput/s | 100.0 | 80.0 | -20.0% | worse |" in shown


def test_the_page_lists_no_difference_where_the_comparison_claims_none() -> None:
    users = (10, 20, 30, 40, 50, 60)
    before, after = ([LevelSpec(each, 80.0 if each == alone else 100.0) for each in users] for alone in (0, 30))
    comparison = compare([session(before), session(after)])
    assert (comparison.pairs[0].directions, comparison.pairs[0].levels[2]["goodput"].counts) == (frozenset(), True)
    assert "| worse |" not in page(timeline=timeline(), baseline=Baseline(comparison=comparison))


def test_a_picture_that_is_published_replaces_the_chart() -> None:
    files = ci_summary.files(timeline(), "page.md", "https://example.org/a b.svg?x=(1)")
    assert files.keys() == {"page.md", "page-capacity.svg"}
    assert b"(https://example.org/a%20b.svg?x=%281%29)" in files["page.md"]
    assert b"mermaid" not in files["page.md"]
    assert ci_summary.files(timeline(), "page.md", None) == {"page.md": ci_summary.render(timeline())}
    assert b"mermaid" in ci_summary.render(timeline())


def test_a_chart_has_at_most_as_many_points_as_its_axis_has_room_for() -> None:
    scenario = Scenario()
    for users in range(1, 41):
        scenario.level(users=users, rps=10 * users)
    shown = ci_summary.render(scenario.timeline).decode()
    (axis,) = (line for line in shown.splitlines() if "x-axis" in line)
    assert (axis.count(",") + 1, '"1",' in axis, '"40"]' in axis) == (24, True, True)


# -- annotations


def test_annotations_name_what_is_not_met_what_is_undecided_and_knees() -> None:
    shown = timeline(MET, NOT_MET, UNDECIDED)
    lines = list(annotated(shown, of_session(shown, against("goodput<-5%"))))
    assert [line.split()[0] for line in lines] == ["::error", "::warning", "::error"]
    assert lines[0].startswith("::error title=capexplorer%3A not met::p95 <= 300ms @ 50 users: ")
    assert "goodput<-5%25" in lines[2]
