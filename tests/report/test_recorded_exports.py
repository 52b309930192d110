"""The exports, comparisons and replays of every recorded session have not changed: their digests are those in the repository."""

from __future__ import annotations

import json

import pytest

from capexplorer.commands.compare import FORMATS as COMPARISONS
from capexplorer.model.timeline import Timeline
from capexplorer.replay import Replay
from capexplorer.report.formats import FORMATS
from capexplorer.report.formats import json as json_report
from capexplorer.report.summary import summarise
from capexplorer.session.reader import open_session

from .made_comparisons import COMPARED
from .made_sessions import MADE
from .recorded_exports import DIGESTS, MADE_DIGESTS, SESSIONS, digests, made_digests

RECORDED: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text("utf-8"))
MADE_RECORDED: dict[str, dict[str, str]] = json.loads(MADE_DIGESTS.read_text("utf-8"))
HOW_TO_RENEW = (
    "if the change is intended, run `python -m tests.report.recorded_exports`, and say in the commit what differs and why"
)


def test_each_recorded_session_has_digests_of_each_format_and_each_comparison() -> None:
    assert set(RECORDED) == set(SESSIONS), HOW_TO_RENEW
    for name, found in RECORDED.items():
        assert {export.split()[0] for export in found} == {*FORMATS, "compare"}, name
        assert {export.split()[1] for export in found if export.startswith("compare ")} == set(COMPARISONS), name


@pytest.mark.parametrize("name", SESSIONS)
def test_the_exports_of_a_recorded_session_have_not_changed(name: str) -> None:
    found = digests(name)
    changed = sorted(export for export in {*found, *RECORDED[name]} if found.get(export) != RECORDED[name].get(export))
    assert changed == [], f"{name}: {HOW_TO_RENEW}"


@pytest.mark.parametrize("name", [*MADE, *COMPARED])
def test_the_exports_of_a_made_session_have_not_changed(name: str) -> None:
    assert set(MADE_RECORDED) == {*MADE, *COMPARED}, HOW_TO_RENEW
    found, recorded = made_digests(name), MADE_RECORDED[name]
    assert sorted(export for export in {*found, *recorded} if found.get(export) != recorded.get(export)) == [], HOW_TO_RENEW


@pytest.mark.parametrize("name", SESSIONS)
def test_the_replay_of_a_recorded_session_ends_with_the_summary_of_its_log(name: str) -> None:
    with open_session(SESSIONS[name]) as log:
        expected = json_report.render(summarise(Timeline(log)))
    replay = Replay(SESSIONS[name])
    try:
        replay.read_on()
        assert json_report.render(summarise(replay.at(replay.duration_s))) == expected
    finally:
        replay.close()
