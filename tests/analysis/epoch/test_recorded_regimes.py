"""Recorded sessions of services that changed: the verdict names the fault or the change with its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer import wording
from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import read

RECORDED = Path(__file__).parents[2] / "data" / "sessions"


def analysed_again(name: str) -> Timeline:
    """A recording with the marks that the current detectors find."""
    events = list(read(RECORDED / name))
    return reanalysed(Timeline(events), reanalyse_events(events), "now")


def test_an_upstream_that_dies_at_constant_load_is_a_fault_with_its_time_and_no_knee() -> None:
    timeline = analysed_again("upstream-dies-at-24-users.jsonl")
    assert {mark.kind for mark in timeline.marks.values()} == {"cause", "bottleneck"}
    verdict = timeline.verdicts[0]
    assert verdict.capacity.knee is not None
    assert (verdict.capacity.knee.kind, verdict.capacity.knee.users) == ("no_knee", 24)
    healthy, failed = verdict.regimes
    assert healthy.most_users == 24
    assert healthy.most_rps == pytest.approx(112, rel=0.01)
    assert failed.began == "failures"
    assert failed.inside
    assert failed.began_s == pytest.approx(35.5, abs=0.1)
    assert failed.after_step_s == pytest.approx(11, abs=0.1)
    line = wording.verdict(timeline)
    assert line.startswith("Bad gateway (HTTP 502)")
    assert "a fault at that time, not a load limit" in line
    assert "knee" not in line


def test_a_capacity_that_doubles_gives_both_capacities_and_the_time_of_the_change() -> None:
    timeline = analysed_again("capacity-doubles-at-60-s.jsonl")
    knee = timeline.verdicts[0].capacity.knee
    assert knee is not None
    assert knee.kind == "knee"
    assert knee.users == pytest.approx(24, rel=0.05)
    assert knee.until_s == pytest.approx(61.2, abs=0.1)
    line = wording.verdict(timeline)
    assert line.startswith("Knee at 24 users [21–27] and 95.4/s until 01:01")
    assert "at 01:01 and 48 users goodput rose from 95.4 to 191/s" in line
    assert "since then 48 users reached 191/s" in line


def test_after_a_change_of_the_service_the_advice_is_to_measure_levels_of_the_changed_service() -> None:
    timeline = analysed_again("capacity-doubles-at-60-s.jsonl")
    capacity = timeline.verdicts[0].capacity
    assert capacity.knee is not None
    assert capacity.knee.provisional
    assert [wording.missing(each) for each in capacity.missing] == [
        "2 more levels at other user counts would give a first result"
    ]
    assert "would verify it" not in wording.verdict(timeline)
