"""Arrivals are dispatched to users: the order, which are dropped and why, and that every iteration is accounted for."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capexplorer.load.arrivals import LATE_MOST_S, QUEUE_LEAST, TASKS, Dispatch, Entry, IdleUser, Iteration, Ledger
from capexplorer.model.load import Drops, OfferedTick


class Rig:
    """A pool of users that run their arrivals, in virtual time."""

    def __init__(self, users: int = 0, max_users: int = 100, rate: float = 10.0, lost: str = "") -> None:
        """`lost`: the kind of report whose first one does not arrive."""
        self.ledger = Ledger()
        self.ledger.per_s = rate
        self.lost = lost
        self.dispatch = Dispatch(self.report, lambda idle_user: self.woken.append(idle_user))
        self.dispatch.per_s, self.dispatch.max_users = rate, max_users
        self.dispatch.users = lambda: self.users
        self.users, self.now_s = Counter[str](), 0.0
        self.woken: list[IdleUser] = []
        self.running: list[Iteration] = []
        for _ in range(users):
            self.join()

    def report(self, entry: Entry) -> None:
        if entry[0] == self.lost:
            self.lost = ""
        else:
            self.ledger.record(entry)

    def join(self, kind: str = "A") -> None:
        self.users[kind] += 1
        self.park(kind)

    def park(self, kind: str = "A") -> IdleUser:
        idle_user = IdleUser(kind, None)
        got = self.dispatch.park(idle_user, self.now_s)
        if got is not None:
            self.running.append(got)
        return idle_user

    def arrive(self, count: int = 1, kind: str = "A", late_s: float = 0.0) -> None:
        for _ in range(count):
            self.dispatch.arrive(self.now_s - late_s, self.now_s, kind)
        self.running += [idle_user.iteration for idle_user in self.woken if idle_user.iteration is not None]
        self.woken.clear()

    def end(self, *, failed: bool = False, is_beyond_limits: bool = False) -> None:
        iteration = self.running.pop(0)
        iteration.failed, iteration.is_beyond_limits = failed, is_beyond_limits
        self.dispatch.ended(iteration, self.now_s)
        self.park(iteration.kind)

    def tick(self) -> OfferedTick:
        tick = self.ledger.drain()
        assert tick is not None
        return tick


def test_an_idle_user_takes_an_arrival_at_once_and_its_time_from_plan_is_its_response_time() -> None:
    rig = Rig(users=1)
    rig.now_s = 5.0
    rig.arrive(late_s=0.25)
    rig.now_s = 6.0
    rig.end()
    tick = rig.tick()
    assert (tick.planned, tick.started, tick.finished, tick.in_flight) == (1, 1, 1, 0)
    assert tick.from_plan_sum_ms == 1_250.0
    assert (tick.late_p50_ms, tick.late_p99_ms, tick.late_max_ms) == (250.0, 250.0, 250.0)


def test_an_arrival_without_a_user_waits_for_the_first_that_is_free() -> None:
    rig = Rig(users=1)
    rig.arrive(2)
    assert (rig.tick().queued, len(rig.running)) == (1, 1)
    rig.now_s = 3.0
    rig.end()
    rig.now_s = 4.0
    rig.end()
    tick = rig.tick()
    assert (tick.started, tick.finished, tick.queued, tick.from_plan_sum_ms) == (1, 2, 0, 7_000.0)


def test_a_failed_iteration_has_no_time_from_plan() -> None:
    rig = Rig(users=1)
    rig.arrive()
    rig.end(failed=True)
    tick = rig.tick()
    assert (tick.finished, tick.failed, tick.from_plan) == (0, 1, None)


def test_an_iteration_beyond_a_limit_on_a_request_has_finished() -> None:
    rig = Rig(users=1)
    rig.arrive()
    rig.end(is_beyond_limits=True)
    tick = rig.tick()
    assert (tick.finished, tick.failed, tick.beyond_limits, tick.running) == (1, 0, 1, 0)


def test_the_user_that_became_idle_last_takes_the_next_arrival() -> None:
    rig = Rig()
    rig.users["A"] = 2
    _, last = rig.park(), rig.park()
    rig.dispatch.arrive(0.0, 0.0, "A")
    assert rig.woken == [last]


def test_an_arrival_takes_only_a_user_of_its_class() -> None:
    rig = Rig(users=3)
    rig.arrive(kind="B")
    assert rig.tick().queued == 1
    rig.join("B")
    assert rig.tick().running == 1


def test_the_queue_is_full_with_the_arrivals_of_one_second() -> None:
    for rate, most in ((0.5, QUEUE_LEAST), (50.0, 50)):
        rig = Rig(rate=rate)
        rig.arrive(200)
        tick = rig.tick()
        assert (tick.queued, tick.dropped.total) == (most, 200 - most)


@pytest.mark.parametrize(
    ("users", "max_users", "task_s", "expected"),
    [
        (5, 10, 0.1, Drops(starting=1)),  # more users may be added
        (10, 10, 0.1, Drops(target=1)),  # 10/s of 0.1 s need one user: the target keeps ten busy
        (10, 10, 2.0, Drops(max_users=1)),  # 10/s of 2 s need twenty, and ten are allowed
    ],
)
def test_a_drop_is_attributed_by_the_users_that_a_rate_needs(users: int, max_users: int, task_s: float, expected: Drops) -> None:
    rig = Rig(users=users, max_users=max_users, rate=10.0)
    for _ in range(TASKS):
        rig.arrive()
        rig.now_s += task_s
        rig.end()
    rig.arrive(users + 10)
    rig.tick()
    rig.arrive()
    assert rig.tick().dropped == expected


@pytest.mark.parametrize(
    ("task_s", "max_users", "expected"),
    [
        (0.1, 10, Drops(target=1)),  # 9/s of 0.1 s need one user of the class: the target keeps eight busy
        (1.0, 10, Drops(max_users=1)),  # 9/s of 1 s need nine, and the class has eight
        (0.1, 11, Drops(starting=1)),  # one more user of the class may start
    ],
)
def test_a_drop_is_attributed_by_the_users_of_its_class(task_s: float, max_users: int, expected: Drops) -> None:
    rig = Rig(users=8, max_users=max_users, rate=10.0)
    rig.dispatch.shares = {"A": 0.9, "B": 0.1}
    for _ in range(2):
        rig.join("B")
    for _ in range(TASKS):
        rig.arrive()
        rig.now_s += task_s
        rig.end()
    rig.arrive(8 + 10)
    rig.tick()
    rig.arrive()
    assert rig.tick().dropped == expected


def test_a_user_of_another_class_that_starts_does_not_explain_a_drop() -> None:
    rig = Rig(users=2, max_users=3)
    rig.users["B"] += 1  # it has not parked yet
    rig.arrive(2 + QUEUE_LEAST)
    rig.arrive(kind="A")
    rig.arrive(kind="B")
    assert rig.tick().dropped == Drops(target=1, starting=1)


def test_before_any_task_has_ended_a_full_pool_is_attributed_to_the_target() -> None:
    rig = Rig(users=2, max_users=2)
    rig.arrive(2 + QUEUE_LEAST + 1)
    assert rig.tick().dropped == Drops(target=1)


def test_an_arrival_that_was_handled_too_late_is_dropped_as_late() -> None:
    rig = Rig(users=1)
    rig.arrive(3, late_s=LATE_MOST_S)
    tick = rig.tick()
    assert (tick.started, tick.dropped) == (1, Drops(late=2))


def test_the_end_of_a_rate_drops_queued_iterations() -> None:
    rig = Rig(users=1)
    rig.arrive(3)
    assert rig.dispatch.clear() == []
    rig.ledger.per_s = None
    tick = rig.tick()
    assert (tick.dropped, tick.running, tick.offered_per_s) == (Drops(stopped=2), 1, 0.0)
    rig.dispatch.ended(rig.running.pop(), 1.0)
    assert rig.tick().finished == 1
    assert rig.ledger.drain() is None


def test_a_user_that_ends_before_it_starts_its_arrival_drops_it() -> None:
    rig = Rig()
    idle_user, idle = rig.park(), rig.park()
    rig.users["A"] = 2
    rig.dispatch.left(idle)
    rig.dispatch.arrive(0.0, 0.0, "A")
    rig.dispatch.left(idle_user)
    assert rig.tick().dropped == Drops(stopped=1)
    assert not rig.dispatch.idle["A"]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_each_iteration_is_accounted_for(seed: int) -> None:
    random = Random(seed)
    rig = Rig(users=random.randrange(4), max_users=8, rate=random.choice((1.0, 5.0, 100.0)))
    planned = ended = dropped = in_flight = 0
    for _ in range(300):
        rig.now_s += random.expovariate(20.0)
        match random.randrange(8):
            case 0 | 1 | 2:
                rig.arrive(random.randrange(6), random.choice("AAB"), late_s=random.choice((0.0, 0.0, 2.0)))
            case 3 | 4 if rig.running:
                rig.end(failed=random.random() < 0.3)
            case 5 if rig.running:
                ended_user = rig.running.pop()
                rig.dispatch.abandoned(ended_user)
                rig.users[ended_user.kind] -= 1
            case 6 if rig.users.total() < 8:
                rig.join(random.choice("AB"))
            case 7 if random.random() < 0.1:
                rig.dispatch.clear()
        if random.random() < 0.2:
            tick = rig.tick()
            assert tick.in_flight_before == in_flight
            planned, in_flight = planned + tick.planned, tick.in_flight
            ended, dropped = ended + tick.finished + tick.failed, dropped + tick.dropped.total
            assert planned == ended + dropped + in_flight
            assert (tick.queued, tick.running) == (rig.dispatch.queued, len(rig.running))
            assert not tick.is_miscounted


@pytest.mark.parametrize("lost", ["started", "queued", "finished"])
def test_a_lost_report_is_found_by_comparison_with_the_count_of_the_load_thread(lost: str) -> None:
    rig = Rig(users=1, lost=lost)
    rig.arrive(3)
    rig.end()
    assert not rig.lost
    assert rig.tick().is_miscounted
