"""Recorded sessions of real rate limiters, analysed again: the limit is named, and the knee lies at the configured rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed_events
from capexplorer.model.catalogue import NO_LIMITS
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import open_session
from capexplorer.wording.verdict import verdict

SESSIONS = Path(__file__).parents[1] / "data" / "sessions"


def analysed(name: str) -> Timeline:
    with open_session(SESSIONS / f"{name}.jsonl") as log:
        events = list(log)
    return Timeline(reanalysed_events(events, reanalyse_events(events), "test"))


def test_a_rate_limiter_that_refuses_requests_is_named_even_if_the_generators_timers_were_late() -> None:
    timeline = analysed("rate-limit-that-refuses")
    assert timeline.verdict is not None
    knee = timeline.verdict.capacity.knee
    assert knee is not None
    assert knee.kind == "knee"
    assert knee.limit == "errors"
    assert knee.users_low is not None
    assert knee.users_high is not None
    assert knee.users_low <= 21 <= knee.users_high
    error = timeline.verdict.capacity.curve.capacity_se_rps if timeline.verdict.capacity.curve else None
    assert knee.capacity_rps is not None
    assert error is not None
    assert abs(knee.capacity_rps - 100) < 1.96 * error < 0.4 * knee.capacity_rps
    assert knee.evidence.failures_replied_ratio == 1.0
    sentence = verdict(timeline)
    assert "no reading shows" not in sentence
    assert "429" in sentence


def test_a_rate_limiter_is_described_as_one_that_refuses_or_one_that_delays_requests() -> None:
    refuses, delays = (analysed(name) for name in ("rate-limit-that-refuses", "rate-limit-that-delays"))
    assert limits(refuses) == {"rate_limit": "high"}
    assert limits(delays) == {"rate_limit": "high"}
    assert "a rate limiter refuses requests (HTTP 429)" in verdict(refuses)
    assert "a rate limiter delays requests to 100/s" in verdict(delays)


def test_the_knee_of_a_rate_limiter_that_delays_requests_lies_where_its_rate_meets_the_low_load_line() -> None:
    found = analysed("rate-limit-that-delays").verdict
    assert found is not None
    assert found.capacity.knee is not None
    assert found.capacity.knee.users == pytest.approx(21, rel=0.05)
    assert found.capacity.knee.capacity_rps == pytest.approx(100, rel=0.01)


def limits(timeline: Timeline) -> dict[str, str | None]:
    marks = timeline.marks.values()
    return {mark.id: mark.confidence for mark in marks if mark.kind == "bottleneck" and mark.id not in NO_LIMITS}
