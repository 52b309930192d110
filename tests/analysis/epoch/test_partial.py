"""Levels whose figures cover only a part of their requests are left out of the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.scenario import HEADER, Scenario

from capexplorer.analysis.epoch.epoch import epoch_of, is_partial
from capexplorer.analysis.reanalysis import reanalyse_events
from capexplorer.model.events import EndpointTick, LevelOpened
from capexplorer.model.level_use import counted_ratio
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import open_session

RECORDED = Path(__file__).resolve().parents[2] / "data" / "sessions" / "long-tasks-before-warm-users.jsonl"
SECONDS = 12


def session(*levels: tuple[int, float], warm_users: int | None = None) -> Timeline:
    """Levels of (users, share of their 100 requests/s that were counted); the others are of users in their first task."""
    scenario = Scenario()
    for users, counted in levels:
        rps = round(100 * counted)
        tick = EndpointTick(name="/a", requests=rps, latency_sum_ms=10.0 * rps, warmup_requests=100 - rps)
        scenario.level(users, rps=rps, endpoints=(tick,), warm_users=warm_users)
    return scenario.timeline


@pytest.mark.parametrize(("counted", "partial"), [(0.0, True), (0.6, True), (0.89, True), (0.9, False), (1.0, False)])
def test_figures_that_leave_out_more_than_a_tenth_of_the_requests_are_partial(counted: float, partial: bool) -> None:
    timeline = session((10, counted))
    assert counted_ratio(timeline, timeline.levels[0]) == pytest.approx(counted)
    assert is_partial(timeline, timeline.levels[0]) is partial


def test_a_level_that_recorded_how_many_users_were_warm_settled_with_nearly_all_of_them() -> None:
    timeline = session((10, 0.5), warm_users=10)
    assert not is_partial(timeline, timeline.levels[0])


def test_a_level_without_requests_is_not_partial() -> None:
    timeline = Timeline([HEADER, LevelOpened(t_s=0.0, index=0, users=5, spawn_rate=1.0, by="user")])
    assert counted_ratio(timeline, timeline.levels[0]) is None
    assert not is_partial(timeline, timeline.levels[0])


def test_partial_levels_are_in_no_curve_and_the_verdict_lists_them() -> None:
    epoch = epoch_of(session((5, 1.0), (10, 0.4), (20, 1.0)), 0)
    assert [level.users for level in epoch.ladder] == [5, 20]
    assert epoch.verdict is not None
    assert epoch.verdict.partial_levels == (1,)


def test_where_all_levels_are_partial_the_verdict_has_no_curve() -> None:
    epoch = epoch_of(session((5, 0.3), (10, 0.4)), 0)
    assert epoch.verdict is not None
    assert epoch.verdict.partial_levels == (0, 1)
    assert epoch.verdict.capacity.knee is None
    assert epoch.verdict.capacity.curve is None


def test_a_recording_of_users_in_their_first_task_has_no_knee_and_says_why() -> None:
    """Recorded as `Knee at 16 [14-18] and 17.8/s: the hypervisor takes CPU time (steal)`; 9 users and 30/s are true."""
    with open_session(RECORDED) as log:
        events = list(log)
    found = reanalyse_events(events)
    assert [mark.id for mark in found.found if mark.kind != "cause"] == []
    assert sorted(change.key for change in found.changes if change.kind == "gone") == [
        "bottleneck:cpu_steal:epoch0", "bottleneck:not_saturated:epoch0", "knee:epoch0", "latency_knee:epoch0",
    ]  # fmt: skip
