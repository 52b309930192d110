"""Every recorded session opens, is replayed, exported in each format and compared, with the bytes of before."""

from __future__ import annotations

import json

import pytest

from capexplorer.commands.compare import FORMATS as COMPARISONS
from capexplorer.model.timeline import Timeline
from capexplorer.replay import Replay
from capexplorer.report import json as json_report
from capexplorer.report.formats import FORMATS
from capexplorer.report.summary import summarise
from capexplorer.session.reader import open_session

from .recorded_exports import DIGESTS, SESSIONS, digests

RECORDED: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text("utf-8"))
HOW = (
    "if the change is meant: `python -m tests.report.recorded_exports`, and a line in CHANGELOG.md that says what differs and why"
)


def test_each_session_has_digests_of_each_format_and_of_its_comparison() -> None:
    assert set(RECORDED) == set(SESSIONS)
    for name, found in RECORDED.items():
        assert {what.split()[0] for what in found} == {*FORMATS, "compare"}, name
        assert {what.split()[1] for what in found if what.startswith("compare ")} == set(COMPARISONS), name


@pytest.mark.parametrize("name", SESSIONS)
def test_the_exports_of_a_recorded_session_are_the_same_as_before(name: str) -> None:
    found = digests(name)
    changed = sorted(what for what in {*found, *RECORDED[name]} if found.get(what) != RECORDED[name].get(what))
    assert changed == [], HOW


@pytest.mark.parametrize("name", SESSIONS)
def test_a_replay_ends_with_what_the_log_shows(name: str) -> None:
    with open_session(SESSIONS[name]) as log:
        expected = json_report.render(summarise(Timeline(log)))
    replay = Replay(SESSIONS[name])
    try:
        replay.read_on()
        assert json_report.render(summarise(replay.at(replay.duration_s))) == expected
    finally:
        replay.close()
