"""What is reported of a service's own log and metrics where its curve bends."""

from __future__ import annotations

import pytest
from kit.scenario import Scenario
from kit.telemetry import CONNECTIONS, changes_of, judged, telling_session

from capexplorer.analysis.telemetry.detector import ServiceTelemetry
from capexplorer.model.events import Ended, Log, Target, Telemetry
from capexplorer.model.telemetry import TelemetryChanges
from capexplorer.session.codec import decode, encode

NAMES = {"pool_waiting", "wait_seconds", "pool.waiting", "pool.timeouts"}


@pytest.fixture(scope="module")
def changes() -> TelemetryChanges:
    return changes_of(judged(telling_session().events))


def test_the_series_that_wait_are_named_and_those_that_follow_load_or_goodput_are_not(changes: TelemetryChanges) -> None:
    assert changes.bend == pytest.approx(CONNECTIONS, rel=0.1)
    assert {(each.part, each.name, each.kind) for each in changes.series} == {
        ("app", "pool_waiting", "gauge"),
        ("app", "wait_seconds", "mean"),
        ("", "pool.waiting", "gauge"),
        ("", "pool.timeouts", "rate"),
    }
    assert [each.kind for each in changes.series[:1]] == ["gauge"]
    assert (changes.tested, changes.recorded) == (8, 10), "constants are read, and not compared"


def test_a_series_has_its_values_and_loads_on_both_sides_and_the_time(changes: TelemetryChanges) -> None:
    waiting = next(each for each in changes.series if each.name == "pool_waiting")
    assert (waiting.before, waiting.load_before, waiting.after, waiting.load_after) == (0.0, 6.0, 16.0, 24.0)
    assert waiting.since_s == 37.0, "the start of the first level beyond the bend"


def test_lines_that_began_beyond_the_bend_are_grouped_and_an_exception_is_named_by_its_reason(
    changes: TelemetryChanges,
) -> None:
    assert [(each.text, each.is_exception, each.count, each.count_below) for each in changes.lines] == [
        ("TimeoutError: no connection of 8 within 0.5 s", True, 28, 0),
        ("slot # was late", False, 28, 0),
    ]
    assert {(each.first_s, each.load) for each in changes.lines} == {(38.0, 12.0)}
    assert changes.groups == 3, "the lines of a traceback are no groups of their own"


def test_a_level_of_less_load_after_the_bend_tells_load_from_time(changes: TelemetryChanges) -> None:
    assert not changes.is_after_only
    assert changes_of(judged(telling_session((1, 2, 4, 6, 12, 16, 24)).events)).is_after_only


def test_what_is_told_is_the_same_in_a_live_run_and_in_its_log_again() -> None:
    events = judged(telling_session().events)
    again = [decode(encode(each)) for each in telling_session().events]
    assert changes_of(judged(again)) == changes_of(events)


@pytest.mark.parametrize(("users", "unknown_why"), [((6, 12, 16, 24, 32), "few_levels"), ((1, 2, 4, 6, 12), "few_levels")])
def test_with_few_levels_nothing_is_known(users: tuple[int, ...], unknown_why: str) -> None:
    changes = changes_of(judged(telling_session(users).events))
    assert (changes.unknown_why, changes.series, changes.lines) == (unknown_why, (), ())


def test_without_log_lines_and_metrics_or_without_a_bend_there_is_no_event() -> None:
    silent = Scenario().ready()
    for count in (1, 2, 4, 8, 16, 32):
        silent.level(count, rps=10 * min(count, CONNECTIONS), latency_ms=1000 * count / (10 * min(count, CONNECTIONS)))
    assert judged(silent.events).telemetry == {}
    assert judged(telling_session((1, 2, 3, 4, 5, 6)).events).telemetry == {}


def test_an_event_follows_only_what_changed() -> None:
    timeline, detector = judged(telling_session().events), ServiceTelemetry()
    for event in telling_session().events:
        detector.process(event, timeline)
    (first,) = detector.process(Ended(t_s=1.0, reason="quit"), timeline)
    assert isinstance(first, Telemetry)
    assert detector.process(Ended(t_s=2.0, reason="quit"), timeline) == ()


def test_a_counter_that_a_restart_sets_back_is_still_compared_by_its_growth() -> None:
    events = telling_session().events
    middle = len(events) // 2
    at_s = events[middle].t_s
    restarted = [*events[:middle], Target(t_s=at_s, state="ready", pid=8), *events[middle:]]
    assert {each.name for each in changes_of(judged(restarted)).series} == NAMES


def test_lines_before_the_first_level_and_of_others_than_the_target_are_not_grouped() -> None:
    events = telling_session().events
    others = [Log(t_s=0.5, source="target", text="started"), Log(t_s=0.5, source="locust", text="x")]
    assert changes_of(judged([events[0], *others, *events[1:]])).groups == 3
