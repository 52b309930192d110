"""Levels of another state of the service, and levels during which it changed, have a sign in every format and are on no curve."""

from __future__ import annotations

import pytest
from analysis.epoch import regime_sessions
from analysis.recorded import analysed_again

from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import Session, compare
from capexplorer.report.rows import user_rows

DIES, DOUBLES = "upstream-dies-at-24-users", "capacity-doubles-at-60-s"


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


def test_a_comparison_pools_only_levels_of_the_state_that_the_verdict_is_about(timelines: dict[str, Timeline]) -> None:
    curve, same = compare([Session(timelines[DOUBLES])] * 2).curves
    goodput = {point.load.users: point.figures["goodput"].value for point in curve.points}
    assert goodput[48] == pytest.approx(95.4, abs=0.1)
    assert [point.levels for point in curve.points] == [1, 1, 1, 1]
    assert same.points == curve.points


def test_a_level_that_changed_is_not_listed_as_unsettled(timelines: dict[str, Timeline]) -> None:
    curve, _ = compare([Session(timelines[DIES])] * 2).curves
    assert [point.load.users for point in curve.points] == [8, 16]
    assert curve.unsettled == ()
