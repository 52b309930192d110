"""Marks about capacity in imported sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.analysis.detectors import detect
from capexplorer.analysis.epoch.epoch import epochs_of
from capexplorer.analysis.epoch.levels import settling_s
from capexplorer.model.events import Mark
from capexplorer.model.timeline import Timeline
from capexplorer.session.importers import imported

DATA = Path(__file__).parents[1] / "data"


def found_in(*names: str) -> tuple[Timeline, dict[str, Mark]]:
    timeline = Timeline(imported([DATA / name for name in names], None, settling_s))
    return timeline, {each.key: each for each in detect(timeline) if isinstance(each, Mark)}


def test_the_knee_of_a_table_is_marked_at_the_level_that_showed_it() -> None:
    timeline, marks = found_in("tables/soy-a.csv")
    knee = marks["knee:epoch0"]
    assert knee.users == pytest.approx(28, abs=1)
    assert knee.finding.figures()["capacity_rps"] == pytest.approx(213, rel=0.02)
    ends = {level.ended_s: level.users for level in timeline.levels}
    assert ends[knee.t_s] == 43
    assert "provisional" in knee.finding.figures()


def test_ten_histories_say_what_their_table_says() -> None:
    _, marks = found_in(
        *(f"histories/soy-a-{users}-users_stats_history.csv" for users in (1, 8, 15, 22, 29, 36, 43, 50, 57, 64)[1:])
    )
    assert marks["knee:epoch0"].users == pytest.approx(28, abs=1.5)


def test_a_history_without_a_knee_has_none_but_its_latency_s() -> None:
    timeline, marks = found_in("histories/latency-first_stats_history.csv")
    assert set(marks) == {"latency_knee:epoch0"}
    (epoch,) = epochs_of(timeline)
    verdict = epoch.verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    assert verdict.capacity.knee.kind == "no_knee"
