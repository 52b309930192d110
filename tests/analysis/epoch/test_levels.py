"""When a level is spawning, settling, settled. Times in seconds; a tick is one second unless stated otherwise."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.analysis.epoch.level_clock import LevelClock, TickCounts, settling_s

NO_REQUESTS = TickCounts(requests=0, latency_sum_s=0.0, waits=0, wait_sum_s=0.0)


def requests_and_waits(latency_s: float, wait_s: float, requests: int = 10) -> TickCounts:
    return TickCounts(requests, latency_s * requests, requests, wait_s * requests)


@pytest.mark.parametrize(
    ("wait_s", "latency_s", "expected_s"),
    [
        (0.0, 0.0, 2.0),  # at least 2 s
        (0.3, 0.1, 2.0),
        (0.5, 0.5, 2.0),
        (1.0, 0.5, 3.0),  # twice the cycle
        (0.0, 6.0, 12.0),
        (10.0, 5.0, 30.0),
        (60.0, 1.0, 30.0),  # at most 30 s
    ],
)
def test_settling_takes_two_cycles_at_least_2_s_and_at_most_30_s(wait_s: float, latency_s: float, expected_s: float) -> None:
    assert settling_s(wait_s, latency_s) == expected_s


def test_a_level_spawns_until_all_users_run_then_settles_then_counts() -> None:
    clock = LevelClock(10)
    seen = [clock.tick(t, t + 1, users, requests_and_waits(0.1, 0.3)) for t, users in enumerate([4, 8, 10, 10, 10, 10])]
    assert seen == [
        ("spawning", False),
        ("spawning", False),
        ("settling", False),  # all run at 3
        ("settling", False),
        ("settling", False),  # settles at 5, within the tick's very end
        ("settled", True),
    ]


def test_the_end_of_spawning_that_the_load_thread_reports_counts_if_it_is_before_the_tick() -> None:
    clock = LevelClock(10)
    clock.spawned(0.4)
    clock.spawned(9.0)  # reported again: the first time is kept
    assert clock.settles_s == 30.4  # no response yet
    assert clock.tick(0.0, 1.0, 10, requests_and_waits(0.1, 0.3)) == ("settling", False)
    assert clock.settles_s == 2.4


@pytest.mark.parametrize(("started_s", "counts"), [(2.3, False), (2.4, True), (3.0, True)])
def test_a_tick_that_spans_the_end_of_settling_never_counts(started_s: float, counts: bool) -> None:
    clock = LevelClock(1)
    clock.spawned(0.4)
    clock.tick(0.0, 1.0, 1, requests_and_waits(0.1, 0.1))
    assert clock.tick(started_s, started_s + 1, 1, requests_and_waits(0.1, 0.1)) == ("settled" if counts else "settling", counts)


def test_a_slow_service_settles_after_two_cycles() -> None:
    clock = LevelClock(1)
    clock.spawned(0.0)
    phases = [clock.tick(t, t + 1, 1, requests_and_waits(3.0, 1.0, requests=1))[0] for t in range(9)]
    assert phases == ["settling"] * 8 + ["settled"]


def long_tasks(*, warm: int, users: int = 10, sleep_s: float = 0.0) -> TickCounts:
    """A second of users in tasks of many requests, without waits; `warm` of them have completed a cycle."""
    return TickCounts(
        requests=users,
        latency_sum_s=0.1 * users,
        waits=0,
        wait_sum_s=0.0,
        sleeps=users,
        sleep_sum_s=sleep_s * users,
        warm_users=warm,
    )


def test_a_level_settles_once_its_users_are_warm() -> None:
    clock = LevelClock(10)
    clock.spawned(0.0)
    seen = [clock.tick(t, t + 1, 10, long_tasks(warm=warm)) for t, warm in enumerate([0, 0, 0, 5, 10, 10])]
    assert [counts for _, counts in seen] == [False, False, False, False, False, True]
    assert seen[4][0] == "settling", "in that second some of them were not warm yet: not all of their requests count"


def test_one_user_of_twenty_may_be_new_in_a_settled_second() -> None:
    clock = LevelClock(20)
    clock.spawned(0.0)
    assert [clock.tick(t, t + 1, 20, long_tasks(warm=warm, users=20))[1] for t, warm in ((3, 19), (4, 19), (5, 18))] == [
        True, True, False,
    ]  # fmt: skip


def test_sleeps_inside_tasks_are_part_of_the_cycle() -> None:
    clock = LevelClock(10)
    clock.spawned(0.0)
    clock.tick(0.0, 1.0, 10, long_tasks(warm=10, sleep_s=4.9))
    assert clock.settles_s == pytest.approx(10.0)


def test_the_pause_of_a_cycle_is_the_longer_of_waits_and_sleeps() -> None:
    clock = LevelClock(1)
    clock.spawned(0.0)
    both = TickCounts(requests=6, latency_sum_s=0.6, waits=1, wait_sum_s=3.0, sleeps=5, sleep_sum_s=2.5, warm_users=1)
    clock.tick(0.0, 1.0, 1, both)
    assert clock.settles_s == pytest.approx(6.2)


def test_without_responses_a_level_settles_after_30_s() -> None:
    clock = LevelClock(5)
    clock.spawned(0.0)
    assert clock.tick(28.0, 29.0, 5, NO_REQUESTS) == ("settling", False)
    assert clock.tick(29.0, 30.0, 5, NO_REQUESTS) == ("settling", False)
    assert clock.tick(30.0, 31.0, 5, NO_REQUESTS) == ("settled", True)


def test_a_level_without_users_settles_after_2_s() -> None:
    clock = LevelClock(0)
    phases = [clock.tick(t, t + 1, 0, NO_REQUESTS) for t in range(4)]
    assert phases == [("settling", False), ("settling", False), ("settling", False), ("settled", True)]


def test_a_level_with_fewer_users_is_spawning_until_the_last_surplus_user_has_ended() -> None:
    clock = LevelClock(5)
    assert clock.tick(0, 1, 9, requests_and_waits(0.1, 0.1)) == ("spawning", False)
    assert clock.tick(1, 2, 5, requests_and_waits(0.1, 0.1)) == ("settling", False)


@given(wanted=st.integers(1, 5_000), missing=st.integers(0, 400))
def test_a_level_that_misses_more_than_5_percent_of_its_users_is_not_settled(wanted: int, missing: int) -> None:
    missing = min(missing, wanted)
    clock = LevelClock(wanted)
    clock.spawned(0.0)
    clock.tick(0.0, 1.0, wanted, requests_and_waits(0.1, 0.1))
    phase, counts = clock.tick(10.0, 11.0, wanted - missing, requests_and_waits(0.1, 0.1))
    assert counts == (Fraction(missing, wanted) <= Fraction(5, 100))
    assert phase == ("settled" if counts else "settling")


def test_a_level_is_settled_again_when_missing_users_return() -> None:
    clock = LevelClock(10)
    clock.spawned(0.0)
    seen = [clock.tick(t, t + 1, users, requests_and_waits(0.1, 0.1))[1] for t, users in ((5, 10), (6, 7), (7, 10))]
    assert seen == [True, False, True]


def ended_iterations(ended: int, latency_s: float = 0.1) -> TickCounts:
    return TickCounts(requests=ended, latency_sum_s=ended * latency_s, waits=0, wait_sum_s=0.0, ended=ended)


def test_a_rate_level_settles_without_a_number_of_users() -> None:
    clock = LevelClock(None)
    assert clock.tick(0.0, 1.0, 7, ended_iterations(0)) == ("spawning", False)
    clock.spawned(1.0)
    assert [clock.tick(at, at + 1.0, users, ended_iterations(20))[0] for at, users in ((1.0, 9), (2.0, 30), (3.0, 12))] == [
        "settling", "settling", "settled",
    ]  # fmt: skip


def test_a_rate_level_settles_once_what_an_earlier_rate_planned_has_ended() -> None:
    clock = LevelClock(None, inherited=100)
    clock.spawned(0.0)
    assert [clock.tick(float(at), at + 1.0, 5, ended_iterations(30))[1] for at in range(5)] == [False, False, False, True, True]


def test_a_rate_level_settles_after_30_s_with_any_number_of_iterations_in_flight() -> None:
    clock = LevelClock(None, inherited=10**6)
    clock.spawned(0.0)
    assert [clock.tick(float(at), at + 1.0, 5, ended_iterations(1))[1] for at in (1, 29, 30)] == [False, False, True]


def when_counted(clock: LevelClock, latency_s: float) -> int:
    """The first second that counts, of a service whose replies all take this long, at 20/s."""
    clock.spawned(0.0)
    return next(at for at in range(40) if clock.tick(at, at + 1.0, 9, ended_iterations(20 * (at >= latency_s), latency_s))[1])


def test_a_rate_level_of_long_replies_waits_for_two_of_them() -> None:
    """Until then fewer end than begin, whatever the service can do."""
    assert when_counted(LevelClock(None), 8.0) == 16
    assert when_counted(LevelClock(None, response_s=8.0), 8.0) == 16
    assert when_counted(LevelClock(None, response_s=20.0), 20.0) == 30


def test_the_seconds_of_a_rate_level_that_count_have_no_gap() -> None:
    """The shortest replies come first; later ones show that it should have settled later."""
    clock = LevelClock(None)
    clock.spawned(0.0)
    latencies_s = [0.5, 0.5, 0.5, 0.5, 0.5, 4.0, 9.0, 20.0, 20.0, 20.0]
    counted = [clock.tick(float(at), at + 1.0, 9, ended_iterations(3, each))[1] for at, each in enumerate(latencies_s)]
    assert counted == [False, False, *[True] * 8]


def test_few_replies_do_not_say_how_long_a_first_rate_settles() -> None:
    clock = LevelClock(None)
    clock.spawned(0.0)
    replies = [1, 1, 1, 0, 0, 0, 1, 0, 1, 1]
    counted = [clock.tick(float(at), at + 1.0, 9, ended_iterations(each, 2.0))[1] for at, each in enumerate(replies)]
    assert counted == [*[False] * 8, True, True]


def test_a_rate_level_of_short_replies_waits_for_no_longer_time_in_a_queue() -> None:
    assert when_counted(LevelClock(None, response_s=0.1), 8.0) == 5


def draining(in_flight: int) -> TickCounts:
    return TickCounts(requests=70, latency_sum_s=7.0, waits=0, wait_sum_s=0.0, ended=70, in_flight=in_flight)


def settled_seconds(in_flight: list[int], *, backlog_above: float | None = 15.0) -> list[int]:
    """The seconds that count, of a rate that begins with a backlog. `in_flight`: at the end of each second."""
    clock = LevelClock(None, backlog_above=backlog_above)
    clock.spawned(0.0)
    return [at for at, flying in enumerate(in_flight) if clock.tick(float(at), at + 1.0, 9, draining(flying))[1]]


def test_a_rate_level_settles_once_its_own_backlog_has_gone() -> None:
    assert settled_seconds([300, 250, 200, 150, 100, 50, 10, 8, 9]) == [7, 8]


def test_a_rate_level_that_has_settled_stays_so_when_more_are_in_flight_later() -> None:
    assert settled_seconds([100, 60, 20, 10, 9, 200, 9]) == [4, 5, 6]


def test_a_rate_whose_backlog_does_not_shrink_settles_as_one_without_a_backlog() -> None:
    assert settled_seconds([300, 310, 300, 305, 300, 310, 320, 310]) == [6, 7]
    assert settled_seconds([300, 310, 300, 305], backlog_above=None) == [2, 3]


def test_a_rate_whose_backlog_shrinks_slowly_settles_after_30_s() -> None:
    assert settled_seconds([1000 - second for second in range(33)]) == [30, 31, 32]
