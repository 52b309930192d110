"""Rate levels in reports and comparisons of two simulated services: in tables of their own, apart from levels of users."""

from __future__ import annotations

import copy

from msgspec.structs import replace

from capexplorer.model.events import Event, LevelOpened
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import sentences
from capexplorer.report.compare.comparison import Session
from capexplorer.report.compare.curves import rate_points
from capexplorer.report.compare.estimates import SecondLatencies
from capexplorer.report.compare.pairing import compare

from .compared import header_with, overheads
from .simulated_rates import session, timeline


def test_sessions_of_rates_are_compared_without_a_word_about_user_counts() -> None:
    for others in (100, 130, 1000):
        verdict = sentences.verdict(compare([Session(timeline(100)), Session(timeline(others))]))
        assert "user count" not in verdict
    unlike = compare([Session(timeline(100)), Session(Timeline(unsettled()))])
    assert "have no settled load in common, so no figure can be compared" in sentences.verdict(unlike)


def unsettled() -> list[Event]:
    """A session of a rate that did not settle."""
    opened = LevelOpened(t_s=0.0, index=0, users=0, spawn_rate=1.0, by="user", offered_per_s=40.0)
    return [header_with(), opened]


def test_a_difference_of_clients_is_not_given_to_the_service_at_a_rate() -> None:
    def with_client(name: str, capacity: float) -> Session:
        recorded, latencies = session(capacity)
        recorded = copy.copy(recorded)
        recorded.header = header_with(client_overhead_ms=overheads(**{name: 1.0}))
        return Session(recorded, latencies=latencies)

    (pair,) = compare([with_client("HttpUser", 200), with_client("FastHttpUser", 100)]).pairs
    assert {each["p95"].overhead_change_ms for each in pair.rates} == {0.0}


def test_percentiles_from_plan_have_errors_except_where_the_queue_grew() -> None:
    recorded, latencies = session(100)
    *errors, error_of_growing_queue = (point.figures["p95"].se for point in rate_points(recorded, 0, latencies))
    assert len(errors) == 3
    assert all(error is not None and 0 < error < 100 for error in errors), f"in ms: {errors}"
    assert error_of_growing_queue is None
    without_seconds = rate_points(recorded, 0, SecondLatencies())
    assert [point.figures["p95"].se for point in without_seconds] == [None] * 4


def test_a_rate_level_during_which_the_service_changed_is_not_compared() -> None:
    changed = copy.copy(timeline(100))
    verdict = changed.verdicts[0]
    assert verdict.rates is not None
    *before, last = verdict.rates.levels
    rates = replace(verdict.rates, levels=(*before, replace(last, is_part=True)))
    changed.verdicts = {0: replace(verdict, rates=rates)}
    assert [point.load.per_s for point in rate_points(changed, 0, SecondLatencies())] == [40, 60, 80]
