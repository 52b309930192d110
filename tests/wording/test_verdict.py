"""The verdict line: one sentence about a session, from its levels, its marks and the verdict about its knee."""

from __future__ import annotations

import pytest

from capexplorer import wording
from capexplorer.model.events import Event, Note
from capexplorer.model.timeline import Timeline

from .judged_sessions import STARTED_AT, UP_TO_82, knee_verdict, levels, mark, verdict_sentence
from .verdict_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_each_case_has_its_verdict_line(name: str) -> None:
    events, expected = CASES[name]
    assert verdict_sentence(*events) == expected


@pytest.mark.parametrize("started_at", [STARTED_AT, "2026-01-01T03:59:00.000+00:00", ""])
def test_the_verdict_line_has_times_since_the_start_of_the_session(started_at: str) -> None:
    sentence = verdict_sentence(*UP_TO_82, mark("dns_failure", 82, 185.0), started_at=started_at)
    assert sentence.startswith("Limited by a name that does not resolve from 03:05 at 82 users")
    after_two_hours = verdict_sentence(*levels(10, since_s=7_200.0), mark("dns_failure", 10, 7_384.9), started_at=started_at)
    assert after_two_hours.startswith("Limited by a name that does not resolve from 2:03:04 at 10 users")


def test_the_verdict_line_of_an_earlier_epoch_names_the_epoch() -> None:
    timeline = Timeline([*UP_TO_82, knee_verdict("knee", 47), mark("server_error", 74, epoch=1)])
    assert wording.verdict(timeline, 0).startswith("Epoch 0: Knee at 47 users")


@pytest.mark.parametrize(
    ("findings", "severity", "rests_on_marks"),
    [
        ([knee_verdict("no_knee", 82), Note(t_s=1.0, text="x")], "info", False),
        ([mark("dns_failure")], "critical", True),
        ([mark("load_shedding")], "warning", True),
        ([knee_verdict("knee", 47)], "info", False),
        ([mark("think_time_limited")], "info", True),
        ([mark("think_time_limited"), mark("fd_leak")], "warning", True),
    ],
    ids=["no knee", "fault of the generator", "refused requests", "knee", "think time", "think time and a leak"],
)
def test_a_verdict_has_the_highest_severity_of_its_findings(findings: list[Event], severity: str, rests_on_marks: bool) -> None:
    judgement = wording.judgement(Timeline([*UP_TO_82, *findings]))
    assert judgement.severity == severity
    assert judgement.marked is rests_on_marks
