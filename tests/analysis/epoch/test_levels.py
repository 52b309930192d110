"""When a level is spawning, settling, settled. Times in seconds; a tick is one second unless said otherwise."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.analysis.epoch.levels import LevelClock, TickCounts, settling_s

NOTHING = TickCounts(requests=0, latency_sum_s=0.0, waits=0, wait_sum_s=0.0)


def did(latency_s: float, wait_s: float, requests: int = 10) -> TickCounts:
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


def test_a_level_spawns_until_all_users_are_there_then_settles_then_counts() -> None:
    clock = LevelClock(10)
    seen = [clock.tick(t, t + 1, users, did(0.1, 0.3)) for t, users in enumerate([4, 8, 10, 10, 10, 10])]
    assert seen == [
        ("spawning", False),
        ("spawning", False),
        ("settling", False),  # there at 3
        ("settling", False),
        ("settling", False),  # settles at 5, within the tick's very end
        ("settled", True),
    ]


def test_the_moment_reported_by_the_load_counts_when_it_is_earlier_than_the_tick() -> None:
    clock = LevelClock(10)
    clock.spawned(0.4)
    clock.spawned(9.0)  # reported again: the first stays
    assert clock.settles_s == 30.4  # nothing came back yet
    assert clock.tick(0.0, 1.0, 10, did(0.1, 0.3)) == ("settling", False)
    assert clock.settles_s == 2.4


@pytest.mark.parametrize(("started_s", "counts"), [(2.3, False), (2.4, True), (3.0, True)])
def test_a_tick_that_spans_the_end_of_settling_never_counts(started_s: float, counts: bool) -> None:
    clock = LevelClock(1)
    clock.spawned(0.4)
    clock.tick(0.0, 1.0, 1, did(0.1, 0.1))
    assert clock.tick(started_s, started_s + 1, 1, did(0.1, 0.1)) == ("settled" if counts else "settling", counts)


def test_a_slow_service_settles_after_two_cycles() -> None:
    clock = LevelClock(1)
    clock.spawned(0.0)
    phases = [clock.tick(t, t + 1, 1, did(3.0, 1.0, requests=1))[0] for t in range(9)]
    assert phases == ["settling"] * 8 + ["settled"]


def of_steps(*, warm: int, users: int = 10, sleep_s: float = 0.0) -> TickCounts:
    """A second of users in tasks of many requests: none waits, `warm` of them have lived through a cycle of their own."""
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
    seen = [clock.tick(t, t + 1, 10, of_steps(warm=warm)) for t, warm in enumerate([0, 0, 0, 5, 10, 10])]
    assert [counts for _, counts in seen] == [False, False, False, False, False, True]
    assert seen[4][0] == "settling", "in that second some of them were not warm yet: not all of their requests count"


def test_a_user_of_twenty_may_be_cold_in_a_settled_second() -> None:
    clock = LevelClock(20)
    clock.spawned(0.0)
    assert [clock.tick(t, t + 1, 20, of_steps(warm=warm, users=20))[1] for t, warm in ((3, 19), (4, 19), (5, 18))] == [
        True, True, False,
    ]  # fmt: skip


def test_sleeps_inside_tasks_are_part_of_the_cycle() -> None:
    clock = LevelClock(10)
    clock.spawned(0.0)
    clock.tick(0.0, 1.0, 10, of_steps(warm=10, sleep_s=4.9))
    assert clock.settles_s == pytest.approx(10.0)


def test_the_longer_of_waits_and_sleeps_is_the_pause_of_a_cycle() -> None:
    clock = LevelClock(1)
    clock.spawned(0.0)
    both = TickCounts(requests=6, latency_sum_s=0.6, waits=1, wait_sum_s=3.0, sleeps=5, sleep_sum_s=2.5, warm_users=1)
    clock.tick(0.0, 1.0, 1, both)
    assert clock.settles_s == pytest.approx(6.2)


def test_while_nothing_returns_settling_continues_to_30_s() -> None:
    clock = LevelClock(5)
    clock.spawned(0.0)
    assert clock.tick(28.0, 29.0, 5, NOTHING) == ("settling", False)
    assert clock.tick(29.0, 30.0, 5, NOTHING) == ("settling", False)
    assert clock.tick(30.0, 31.0, 5, NOTHING) == ("settled", True)


def test_no_users_settle_in_2_s_without_a_request() -> None:
    clock = LevelClock(0)
    phases = [clock.tick(t, t + 1, 0, NOTHING) for t in range(4)]
    assert phases == [("settling", False), ("settling", False), ("settling", False), ("settled", True)]


def test_a_level_on_the_way_down_spawns_until_the_last_surplus_user_is_gone() -> None:
    clock = LevelClock(5)
    assert clock.tick(0, 1, 9, did(0.1, 0.1)) == ("spawning", False)
    assert clock.tick(1, 2, 5, did(0.1, 0.1)) == ("settling", False)


@given(wanted=st.integers(1, 5_000), missing=st.integers(0, 400))
def test_more_than_5_percent_of_its_users_missing_is_not_settled(wanted: int, missing: int) -> None:
    missing = min(missing, wanted)
    clock = LevelClock(wanted)
    clock.spawned(0.0)
    clock.tick(0.0, 1.0, wanted, did(0.1, 0.1))
    phase, counts = clock.tick(10.0, 11.0, wanted - missing, did(0.1, 0.1))
    assert counts == (Fraction(missing, wanted) <= Fraction(5, 100))
    assert phase == ("settled" if counts else "settling")


def test_users_that_return_make_it_settled_again() -> None:
    clock = LevelClock(10)
    clock.spawned(0.0)
    seen = [clock.tick(t, t + 1, users, did(0.1, 0.1))[1] for t, users in ((5, 10), (6, 7), (7, 10))]
    assert seen == [True, False, True]


def done(ended: int, latency_s: float = 0.1) -> TickCounts:
    return TickCounts(requests=ended, latency_sum_s=ended * latency_s, waits=0, wait_sum_s=0.0, ended=ended)


def test_a_rate_level_settles_without_a_number_of_users() -> None:
    clock = LevelClock(None)
    assert clock.tick(0.0, 1.0, 7, done(0)) == ("spawning", False)
    clock.spawned(1.0)
    assert [clock.tick(at, at + 1.0, users, done(20))[0] for at, users in ((1.0, 9), (2.0, 30), (3.0, 12))] == [
        "settling", "settling", "settled",
    ]  # fmt: skip


def test_a_rate_level_settles_once_what_an_earlier_rate_planned_has_ended() -> None:
    clock = LevelClock(None, inherited=100)
    clock.spawned(0.0)
    assert [clock.tick(float(at), at + 1.0, 5, done(30))[1] for at in range(5)] == [False, False, False, True, True]


def test_a_rate_level_settles_in_half_a_minute_at_any_number_in_flight() -> None:
    clock = LevelClock(None, inherited=10**6)
    clock.spawned(0.0)
    assert [clock.tick(float(at), at + 1.0, 5, done(1))[1] for at in (1, 29, 30)] == [False, False, True]
