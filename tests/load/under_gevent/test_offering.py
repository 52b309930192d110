"""Offered rates in the load thread: any user class, steps between rates and users, drops; every iteration is accounted for."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from locust import TaskSet, User, constant, task
from locust.exception import StopUser

from capexplorer.load.engine import EngineContext, Spawned
from capexplorer.load.offering import CHUNK, Offering
from capexplorer.load.recorder import Recorder
from capexplorer.load.user_code import UserErrors
from capexplorer.load.workers.messages import WorkerRate, packed
from capexplorer.load.workers.worker_engine import WorkerEngine
from capexplorer.model.load import Drops, OfferedRate, OfferedTick, Rate

from .rig import Rig


def _work(user: Any) -> None:
    gevent.sleep(user.task_s)


def _kind(name: str, task: Any = _work, **attributes: Any) -> type[User]:
    """Users who wait for an hour between tasks of 5 ms: at a rate level this wait is not applied."""
    return type(name, (User,), {"tasks": [task], "task_s": 0.005, "wait_time": constant(3_600), **attributes})


class _Rig(Rig):
    """Adds up the ticks, each of which must account for all iterations."""

    def __init__(self, *classes: type[User]) -> None:
        super().__init__(*classes)
        self.totals: Counter[str] = Counter()
        self.dropped = Drops()
        self.in_flight = 0

    def tick(self) -> OfferedTick | None:
        tick = self.host.drain(time.monotonic()).tick.offered
        if tick is not None:
            assert tick.in_flight_before == self.in_flight
            self.totals.update({name: getattr(tick, name) for name in ("planned", "started", "finished", "failed")})
            self.dropped, self.in_flight = self.dropped + tick.dropped, tick.in_flight
        return tick

    def until(self, done: Callable[[], bool]) -> bool:
        def ticked() -> bool:
            self.tick()
            return done()

        return super().until(ticked)

    def offer(self, per_s: float, max_users: int = 100) -> None:
        self.host.set_rate(OfferedRate(per_s=per_s, arrivals="even", max_users=max_users))
        self.until(lambda: any(isinstance(each, Spawned) and each.load == Rate(per_s) for each in self.reports))

    def end(self) -> None:
        """What holds at the end of every test."""
        assert self.host.stop()
        self.tick()
        assert self.in_flight == 0


pytestmark = pytest.mark.slow


def test_users_run_tasks_at_the_offered_rate_and_ignore_their_wait_time() -> None:
    rig = _Rig(_kind("U"))
    rig.offer(100.0)
    rig.until(lambda: rig.totals["finished"] >= 100)
    assert (rig.totals["failed"], rig.dropped.total) == (0, 0)
    rig.end()


def test_the_schedule_is_as_late_as_the_loop_and_no_later() -> None:
    """Arrivals by (planned, handled) moment, and the moments at which a timer of 1 ms fired in the same loop.

    The timer is set again each time it fires, so it fires at most once in an iteration of the loop. An arrival that was due when
    it fired is handled in the next iteration at the latest, in which it may fire once more: so before it has fired twice more,
    however late the loop itself is.
    """
    rig = _Rig(_kind("U"))
    arrivals: list[tuple[float, float]] = []
    fired_s: list[float] = []
    arrive = rig.host.offering.dispatch.arrive

    def noting(planned_s: float, now_s: float, kind: str) -> None:
        arrivals.append((planned_s, now_s))
        arrive(planned_s, now_s, kind)

    def beat() -> None:
        while True:
            gevent.sleep(0.001)
            fired_s.append(time.monotonic())

    rig.host.call(lambda: gevent.spawn(beat))
    rig.host.offering.dispatch.arrive = noting  # type: ignore[method-assign]
    rig.offer(200.0)
    rig.until(lambda: len(arrivals) >= 400)
    last_s = time.monotonic()
    rig.until(lambda: len(fired_s) >= 3 and fired_s[-3] > last_s)
    compared = [each for each in arrivals if fired_s[0] <= each[0] <= last_s]
    assert len(compared) >= 300
    assert [each for each in compared if each[1] > fired_s[bisect_left(fired_s, each[0]) + 2]] == []
    rig.end()


def test_a_rate_uses_the_waiting_users_of_a_level_and_a_step_back_lets_them_wait_again() -> None:
    """Users of the level before the rate wait for an hour, and are in the pool at once; after it they wait again."""
    rig = _Rig(_kind("U"))
    rig.host.set_users(3, 100.0)
    rig.until(lambda: rig.host.users == 3)
    for per_s, finished in ((20.0, 5), (200.0, 100)):
        rig.offer(per_s)
        rig.until(lambda finished=finished: rig.totals["finished"] >= finished)  # type: ignore[misc]
    assert rig.host.users >= 50
    rig.host.set_users(2, 100.0)
    rig.until(lambda: rig.host.users == 2 and rig.tick() is None)
    rig.end()


def test_a_full_pool_queues_for_a_second_and_then_drops() -> None:
    """20 a second of a task that lasts for an hour, for 4 users: 10 and 10 more queue, all others are dropped."""
    rig = _Rig(_kind("U", task_s=3_600.0))
    rig.offer(20.0, max_users=4)
    rig.until(lambda: rig.dropped.total >= 5)
    assert (rig.host.users, rig.in_flight) == (4, 24)
    assert rig.dropped == Drops(target=rig.dropped.total)
    rig.host.set_users(0, 100.0)
    rig.until(lambda: rig.in_flight == 0)
    assert (rig.dropped.stopped, rig.totals["finished"]) == (24, 0)
    rig.end()


def test_a_task_that_raises_has_failed_and_one_that_stops_its_user_has_not() -> None:
    """Of three tasks the first raises, the second stops its user, which is replaced, and the third returns."""
    turns = Counter[str]()

    def work(user: Any) -> None:
        turns["all"] += 1
        if turns["all"] % 3 == 1:
            raise RuntimeError("no luck")
        if turns["all"] % 3 == 2:
            raise StopUser()

    rig = _Rig(_kind("U", work))
    rig.offer(60.0)
    rig.until(lambda: rig.totals["finished"] >= 20)
    assert 0.3 < rig.totals["failed"] / (rig.totals["failed"] + rig.totals["finished"]) < 0.4
    rig.end()


def test_a_failure_that_a_loop_of_the_user_receives_is_one_of_its_iteration() -> None:
    def work(user: Any) -> None:
        gevent.spawn(_fails, user).join()

    rig = _Rig(_kind("U", work))
    rig.offer(60.0)
    rig.until(lambda: rig.totals["failed"] >= 20)
    assert rig.totals["finished"] == 0
    rig.end()


def _fails(user: Any) -> None:
    user.environment.events.request.fire(
        request_type="WebSocket", name="reply", response_time=1.0, response_length=0, exception=ConnectionError("no"), context={}
    )


def test_each_task_of_a_nested_task_set_is_an_iteration() -> None:
    class Inner(TaskSet):
        @task
        def one(self) -> None:
            self.wait()  # type: ignore[no-untyped-call]  # a wait inside a task is not one between two tasks
            self.interrupt()  # type: ignore[no-untyped-call]

    rig = _Rig(_kind("U", Inner, wait_time=constant(0.01)))
    rig.offer(50.0)
    rig.until(lambda: rig.totals["finished"] >= 30)
    assert rig.totals["failed"] == 0
    rig.end()


def test_arrivals_are_shared_among_classes_by_weight() -> None:
    """The class that is slower gets as many arrivals as its weight says, not fewer."""
    ran = Counter[str]()

    def noting(name: str, seconds: float) -> Callable[[Any], None]:
        def work(user: Any) -> None:
            ran[name] += 1
            gevent.sleep(seconds)

        return work

    rig = _Rig(_kind("Often", noting("often", 0.1), weight=3), _kind("Seldom", noting("seldom", 0.0), weight=1))
    rig.offer(200.0)
    rig.until(lambda: rig.totals["finished"] >= 300)
    assert 0.65 < ran["often"] / ran.total() < 0.85
    rig.end()


def test_no_user_is_added_to_a_pool_whose_rate_has_ended() -> None:
    """The step to users that ends it comes between two chunks of users. A chunk after it would raise the number of users that the
    step has requested, and no report would say that it is done."""
    recorder = Recorder()
    offering, chunks = Offering(recorder.iterations, UserErrors()), []

    def add(kind: str, count: int) -> None:
        chunks.append(count)
        gevent.spawn(offering.close)

    users: Any = SimpleNamespace(
        shares=lambda: {"U": 1.0}, wanted=lambda: {"U": sum(chunks)}, begin=lambda users: None, can_grow=lambda: True, add=add
    )
    offering.offer(OfferedRate(per_s=400.0, arrivals="even", max_users=1_000), users, began=lambda: None)
    gevent.sleep(0.1)
    assert chunks == [CHUNK]


def test_a_worker_accepts_a_rate_that_arrives_while_it_joins() -> None:
    """The run sends it as soon as it knows the worker, which may be in the middle of joining."""
    recorder = Recorder()
    offering = Offering(recorder.iterations, UserErrors())
    context = EngineContext(recorder, UserErrors(), lambda: None, offering, lambda report: None)
    engine = WorkerEngine(context, ("127.0.0.1", 0), b"", lambda boundary_s: None)
    runner = SimpleNamespace(user_classes=[_kind("U")], target_user_classes_count={}, worker_state="ready")
    engine.offer_share(runner, packed(WorkerRate(turn=1, offered=OfferedRate(per_s=5.0, arrivals="even", max_users=2))))
    assert offering.is_on
    engine.end_rate(runner)
    assert not offering.is_on
