"""Rate levels in exports: service time and time from plan, the outcome of every iteration, and no point on a curve of users."""

from __future__ import annotations

import pytest

from capexplorer.model.events import LevelOpened
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import Why
from capexplorer.report import capacity, summary
from capexplorer.report.formats import html, markdown
from capexplorer.report.rows import SIGNS, level_rows
from capexplorer.report.summary import summarise
from capexplorer.tui.panes.latency import level_latencies

from .exported_sessions import HEADER
from .made_sessions import dropping, recovering


def test_the_json_accounts_for_every_iteration() -> None:
    (level,) = summarise(Timeline(dropping()))["levels"]
    offered = level["offered"]
    assert (level["users"], level["kind"], offered["offered_per_s"], offered["arrivals"]) == (0, "rate", 40.0, "even")
    assert (offered["planned"], offered["finished"]) == (240, 12)
    assert (offered["dropped"]["target"], offered["dropped"]["total"]) == (228, 228)
    assert offered["planned"] + offered["in_flight_before"] == (
        offered["finished"] + offered["failed"] + offered["dropped"]["total"] + offered["in_flight"]
    )
    assert (offered["finished_per_s"], offered["late_p99_ms"], offered["late_max_ms"]) == (2.0, 1.25, 3.0)
    assert (level["latency_ms"]["mean"], offered["from_plan_ms"]["mean"]) == (7.5, 300.0)


def test_the_json_of_an_unsettled_rate_level_has_its_rate_and_no_counts() -> None:
    opened = LevelOpened(t_s=0.0, index=0, users=0, spawn_rate=1.0, by="user", offered_per_s=40.0)
    (level,) = summarise(Timeline([HEADER, opened]))["levels"]
    assert level["offered"] == {"offered_per_s": 40.0, "arrivals": "poisson"}
    assert set(summary.columns(level["offered"])) == set(summary.COLUMNS)


@pytest.mark.parametrize("ramp", [False, True])
def test_a_rate_level_is_named_by_its_rate_and_is_not_a_point_of_a_user_curve(ramp: bool) -> None:
    timeline = Timeline(dropping(ramp=ramp))
    assert b"| 40/s |" in markdown.render(timeline)
    assert capacity.drawing(timeline) is None


def test_a_rate_of_recovery_is_not_part_of_a_curve() -> None:
    assert [row.off_curve for row in level_rows(Timeline(recovering()))] == [None, "recovery"]
    assert [row.kind for row in level_rows(Timeline(recovering()))] == ["rate", "rate"]


LEFT_OUT: dict[Why, dict[str, bool]] = {
    "recovery": {"recovery": True},
    "disturbed": {"left_out": True},
    "unsteady": {"left_out": True, "unsteady": True},
    "other_service": {"left_out": True, "other_service": True},
}
"""What the log says of a rate that its curve does not use, by the reason."""


@pytest.mark.parametrize("why", LEFT_OUT)
def test_a_rate_that_the_curve_leaves_out_has_a_sign_and_each_table_says_what_it_means(why: Why) -> None:
    timeline = Timeline(recovering(**LEFT_OUT[why]))
    sign, meaning = SIGNS[why]
    assert [row.off_curve for row in level_rows(timeline)] == [None, why]
    assert [point.off_curve for point in level_latencies(timeline)] == [False, True]
    for text in (markdown.render(timeline).decode(), html.render(timeline).decode()):
        assert f"{sign}: {meaning}" in text


def test_latency_by_rate_has_levels_of_recovery_off_the_curve() -> None:
    assert [point.off_curve for point in level_latencies(Timeline(recovering()))] == [False, True]
