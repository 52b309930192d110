"""From request events to a tick: which requests count, which are warm-up, and which are finished work."""

from __future__ import annotations

import pytest

from capexplorer.load.bounded_keys import TEXTS

from .patched import Played, play


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.recording")


def test_on_start_and_the_first_cycle_are_warm_up_until_the_user_waits(seen: Played) -> None:
    assert seen["warm_up"] == {
        "requests": 2, "warmup_requests": 2, "latency_sum_ms": 30.0, "bytes": 20, "max_ms": pytest.approx(20.0, rel=0.001),
        "waits": 3, "wait_sum_s": 1.5, "all_requests": 4, "all_latency_sum_ms": 330.0,
    }  # fmt: skip


def test_requests_of_greenlets_that_a_user_spawned_are_not_warm_up(seen: Played) -> None:
    assert seen["requests_of_greenlets_that_a_user_spawned"] == [1, 0]


def test_a_drain_takes_everything_once_and_its_totals_agree(seen: Played) -> None:
    assert seen["totals"] == {
        "names": ["/0", "/1", "/2"], "requests": 1010, "failures": [["/0", 10, 104]], "failure_latency_sum_ms": 500.0,
        "latency_sum_ms": 500500.0, "count": 1000, "of_merged": True, "max_ms": 1000.0, "empty": [0, 0, None, None],
    }  # fmt: skip


def test_beyond_the_limit_kinds_of_failure_are_merged_and_all_are_counted(seen: Played) -> None:
    found = seen["many_kinds_of_failure"]
    assert found["failed"] == found["counted"] == 200
    assert 0 < found["reported_at_once"] < 20
    assert found["kinds"] == TEXTS + 1


def test_custom_events_with_unexpected_values_are_recorded_as_text(seen: Played) -> None:
    assert seen["odd_values"] == [["", "x", 1, 1], ["GET", "/a", 1, 1], ["WS", "17", 1, 1]]


def test_a_thousand_endpoint_names_are_grouped_and_no_request_is_lost(seen: Played) -> None:
    assert seen["a_thousand_names"] == [True, 1000, ["/item/{id}"]]


def test_lag_is_none_until_the_timer_has_run(seen: Played) -> None:
    assert seen["lag_of_a_free_hub"] == [None, True, True]


def test_a_blocked_hub_counts_as_lag_while_it_is_blocked_and_after(seen: Played) -> None:
    while_stuck_ms, after_ms = seen["lag_of_a_blocked_hub"]
    assert while_stuck_ms > 100
    assert after_ms > 100


def test_whatever_user_code_reports_of_a_request_can_be_written_and_sent_or_is_named_as_invalid() -> None:
    assert play("load.scenes.hostile_events")["any_request_event"] == [[], True, True]
