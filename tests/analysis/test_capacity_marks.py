"""Marks about capacity in imported sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.scenario import Scenario

from capexplorer.analysis.epoch.epoch import epochs_of
from capexplorer.analysis.epoch.level_clock import settling_s
from capexplorer.analysis.reanalysis import detect, stalls
from capexplorer.model.events import Mark
from capexplorer.model.findings import Stalled
from capexplorer.model.timeline import Timeline
from capexplorer.report.statements import marked_s
from capexplorer.session.importers import imported

DATA = Path(__file__).parents[1] / "data"


def imported_marks(*names: str) -> tuple[Timeline, dict[str, Mark]]:
    timeline = Timeline(imported([DATA / name for name in names], None, settling_s))
    return timeline, {each.key: each for each in detect(timeline) if isinstance(each, Mark)}


def test_the_knee_of_a_table_is_marked_at_the_first_level_that_shows_it() -> None:
    timeline, marks = imported_marks("tables/soy-a.csv")
    knee = marks["knee:epoch0"]
    assert knee.users == pytest.approx(28, abs=1)
    assert knee.finding.figures()["capacity_rps"] == pytest.approx(213, rel=0.02)
    ends = {level.ended_s: level.users for level in timeline.levels}
    assert ends[knee.t_s] == 36
    assert "provisional" in knee.finding.figures()


def test_nine_histories_of_one_level_each_have_the_knee_of_the_table_of_these_levels() -> None:
    _, marks = imported_marks(
        *(f"histories/soy-a-{users}-users_stats_history.csv" for users in (8, 15, 22, 29, 36, 43, 50, 57, 64))
    )
    assert marks["knee:epoch0"].users == pytest.approx(28, abs=1.5)


def test_a_history_whose_latency_rises_without_a_knee_of_throughput_has_only_the_mark_of_a_latency_knee() -> None:
    timeline, marks = imported_marks("histories/latency-first_stats_history.csv")
    assert set(marks) == {"latency_knee:epoch0"}
    (epoch,) = epochs_of(timeline)
    verdict = epoch.verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    assert verdict.capacity.knee.kind == "no_knee"


def test_a_short_stall_inside_a_level_is_a_mark_at_its_time() -> None:
    replies: list[dict[str, Any]] = [{"rps": 50, "max_ms": 90.0} for _ in range(20)]
    replies[10] = replies[11] = {"rps": 0, "endpoints": ()}
    replies[12] = {"rps": 50, "max_ms": 2400.0}
    events = Scenario(None, at_s=0.0).level(20, replies, latency_ms=60.0).events
    [mark] = stalls(Timeline(events))
    assert mark.finding == Stalled(at_s=10.0, seconds=2)
    assert (mark.t_s, mark.users, mark.severity) == (13.0, 20, "warning")
    assert marked_s(Timeline([*events, mark]))[mark.key] == 10.0
