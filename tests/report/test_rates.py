"""Rate levels in exports and comparisons: iterations are accounted for, no point is on a curve of users."""

from __future__ import annotations

import copy

import pytest
from msgspec.structs import replace

from capexplorer.model.events import Event, LevelOpened, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import RateVerdict, Why
from capexplorer.report import capacity, summary, tables
from capexplorer.report.compare import SecondLatencies, Session, compare, sentences
from capexplorer.report.compare.curves import rate_points
from capexplorer.report.formats import html, markdown
from capexplorer.report.rows import SIGNS, level_rows
from capexplorer.tui.panes import curve
from capexplorer.tui.panes.latency import level_latencies
from capexplorer.tui.render.raster import Shape

from .compared import header_with, overheads
from .made_sessions import MADE, dropping, recovering
from .simulated_rates import session, timeline


def test_the_json_accounts_for_every_iteration() -> None:
    (level,) = summary.level_entries(Timeline(dropping()))
    offered = level["offered"]
    assert (level["users"], level["kind"], offered["planned"], offered["finished"]) == (0, "rate", 240, 12)
    outcomes = offered["finished"] + offered["failed"] + offered["dropped"]["total"] + offered["in_flight"]
    assert offered["planned"] + offered["in_flight_before"] == outcomes
    assert (level["latency_ms"]["mean"], offered["from_plan_ms"]["mean"]) == (7.5, 300.0)


def test_the_json_of_an_unsettled_rate_level_has_its_rate_and_no_counts() -> None:
    (level,) = summary.level_entries(Timeline(MADE["an unsettled rate"]()))
    assert level["offered"] == {"offered_per_s": 40.0, "arrivals": "poisson"}
    assert set(summary.columns(level["offered"])) == set(summary.COLUMNS)


@pytest.mark.parametrize("ramp", [False, True])
def test_a_rate_level_is_named_by_its_rate_and_is_not_a_point_of_a_user_curve(ramp: bool) -> None:
    shown = Timeline(dropping(ramp=ramp))
    assert b"| 40/s |" in markdown.render(shown)
    assert capacity.drawing(shown) is None


@pytest.mark.parametrize("why", ["recovery", "disturbed", "unsteady", "other_service"])
def test_a_rate_that_the_curve_leaves_out_has_a_sign_and_each_table_says_what_it_means(why: Why) -> None:
    shown = Timeline(recovering(why))
    sign, meaning = SIGNS[why]
    assert [(row.kind, row.off_curve) for row in level_rows(shown)] == [("rate", None), ("rate", why)]
    assert [point.off_curve for point in level_latencies(shown)] == [False, True]
    for text in (markdown.render(shown).decode(), html.render(shown).decode()):
        assert f"{sign}: {meaning}" in text


def sampled() -> Timeline:
    """Two rate levels; stacks were sampled in the second one, of which the verdict knows nothing."""
    events: list[Event] = []
    for event in recovering("recovery"):
        match event:
            case LevelOpened(index=1):
                event = replace(event, stacks=True)
            case Verdict(rates=RateVerdict() as rates):
                event = replace(event, rates=replace(rates, levels=()))
        events.append(event)
    return Timeline(events)


def test_a_rate_level_in_which_stacks_were_sampled_is_named_so_and_on_no_curve() -> None:
    shown = sampled()
    assert [level["kind"] for level in summary.level_entries(shown)] == ["rate", "stacks"]
    assert [row[-1] for row in tables.rates(shown).rows][-1] == "stacks sampled"
    shapes = [point.shape for point in curve.rate_points(shown.levels, shown.verdicts[0].rates)]
    assert shapes[1] == Shape.SALTIRE != shapes[0]
    assert len(rate_points(shown, 0, SecondLatencies())) == 1


# -- comparisons


def test_sessions_of_rates_are_compared_without_a_word_about_user_counts() -> None:
    for others in (100, 130, 1000):
        assert "user count" not in sentences.verdict(compare([Session(timeline(100)), Session(timeline(others))]))
    unlike = compare([Session(timeline(100)), Session(Timeline(MADE["an unsettled rate"]()))])
    assert "have no settled load in common, so no figure can be compared" in sentences.verdict(unlike)


def test_a_difference_of_clients_is_not_given_to_the_service_at_a_rate() -> None:
    def with_client(name: str, per_s: float) -> Session:
        recorded, latencies = session(per_s)
        recorded = copy.copy(recorded)
        recorded.header = header_with(client_overhead_ms=overheads(**{name: 1.0}))
        return Session(recorded, latencies=latencies)

    (pair,) = compare([with_client("HttpUser", 200), with_client("FastHttpUser", 100)]).pairs
    assert {each["p95"].overhead_change_ms for each in pair.rates} == {0.0}


def test_percentiles_from_plan_have_errors_except_where_the_queue_grew() -> None:
    recorded, latencies = session(100)
    *errors, of_growing_queue = (point.figures["p95"].se for point in rate_points(recorded, 0, latencies))
    assert len(errors) == 3
    assert all(error is not None and 0 < error < 100 for error in errors), f"in ms: {errors}"
    assert of_growing_queue is None
    assert [point.figures["p95"].se for point in rate_points(recorded, 0, SecondLatencies())] == [None] * 4


def test_a_rate_level_during_which_the_service_changed_is_not_compared() -> None:
    changed = copy.copy(timeline(100))
    verdict = changed.verdicts[0]
    assert verdict.rates is not None
    *before, last = verdict.rates.levels
    changed.verdicts = {0: replace(verdict, rates=replace(verdict.rates, levels=(*before, replace(last, is_part=True))))}
    assert [point.load.per_s for point in rate_points(changed, 0, SecondLatencies())] == [40, 60, 80]
