"""Recorded sessions of real rate limiters, analysed again: the limit is named, and the knee lies where it was built."""

from __future__ import annotations

from pathlib import Path

from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed_events
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import open_session
from capexplorer.wording.verdict import verdict

SESSIONS = Path(__file__).parents[1] / "data" / "sessions"


def analysed(name: str) -> Timeline:
    with open_session(SESSIONS / f"{name}.jsonl") as log:
        events = list(log)
    return Timeline(reanalysed_events(events, reanalyse_events(events), "test"))


def test_a_limit_that_refuses_is_named_though_the_generators_timers_were_late() -> None:
    timeline = analysed("rate-limit-that-refuses")
    assert timeline.verdict is not None
    knee = timeline.verdict.capacity.knee
    assert knee is not None and knee.kind == "knee" and knee.limit == "errors"
    assert knee.users_low is not None and knee.users_high is not None
    assert knee.users_low <= 21 <= knee.users_high
    assert knee.evidence.failures_replied_ratio == 1.0
    said = verdict(timeline)
    assert "no reading shows" not in said
    assert "429" in said
