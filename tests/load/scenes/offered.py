"""Rates offered to users that need no network: counts of iterations, added up over all ticks."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gevent
from locust import TaskSet, User, constant, task
from locust.exception import StopUser

from capexplorer.load import native
from capexplorer.load.engine import EngineContext, Report, Spawned
from capexplorer.load.load_thread import LoadThread
from capexplorer.load.offering import CHUNK, Offering, Pool
from capexplorer.load.recorder import Recorder
from capexplorer.load.user_code import UserErrors
from capexplorer.load.workers.messages import WorkerRate, to_message
from capexplorer.load.workers.worker_engine import WorkerEngine
from capexplorer.load.workload import Workload
from capexplorer.model.load import Drops, OfferedRate, OfferedTick, Rate

TIMEOUT_S = 60.0


def _work(user: Any) -> None:
    gevent.sleep(user.task_s)


def _kind(name: str, task: Any = _work, **attributes: Any) -> type[User]:
    """Users who wait for an hour between tasks of 5 ms: at a rate level this wait is not applied."""
    return type(name, (User,), {"tasks": [task], "task_s": 0.005, "wait_time": constant(3_600), **attributes})


class _Rig:
    """A host that runs these users. Adds up the ticks, each of which must account for all iterations."""

    def __init__(self, *classes: type[User]) -> None:
        self.reports: list[Report] = []
        self.totals: Counter[str] = Counter()
        self.dropped = Drops()
        self.in_flight = 0
        self.is_conserved = True
        self.host = LoadThread(self.reports.append)
        self.host.start()
        self.host.make_workload(lambda: Workload(classes), None, own_events=True)

    def tick(self) -> OfferedTick | None:
        tick = self.host.drain(time.monotonic()).tick.offered
        if tick is not None:
            self.is_conserved = self.is_conserved and tick.in_flight_before == self.in_flight
            self.totals.update({name: getattr(tick, name) for name in ("planned", "started", "finished", "failed")})
            self.dropped, self.in_flight = self.dropped + tick.dropped, tick.in_flight
        return tick

    def until(self, done: Callable[[], bool]) -> bool:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not done() and time.monotonic() < deadline_s:
            native.sleep(0.02)
            self.tick()
        return done()

    def offer(self, per_s: float, max_users: int = 100) -> bool:
        self.host.set_rate(OfferedRate(per_s=per_s, arrivals="even", max_users=max_users))
        return self.until(lambda: any(isinstance(each, Spawned) and each.load == Rate(per_s) for each in self.reports))

    def end(self) -> dict[str, Any]:
        """Stops the host; what holds at the end of every scene."""
        stopped = self.host.stop()
        self.tick()
        return {"stopped in time": stopped, "every tick is conserved": self.is_conserved, "in flight at the end": self.in_flight}


def users_run_tasks_at_the_rate_and_ignore_their_wait_time() -> dict[str, Any]:
    rig = _Rig(_kind("U"))
    found = {"offered": rig.offer(100.0), "100 finished": rig.until(lambda: rig.totals["finished"] >= 100)}
    return {**found, "failed": rig.totals["failed"], "dropped": rig.dropped.total, **rig.end()}


def arrivals_are_handled_as_soon_as_timers_of_the_loop() -> dict[str, Any]:
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
    found = {"offered": rig.offer(200.0), "400 due": rig.until(lambda: len(arrivals) >= 400)}
    last_s = time.monotonic()
    found["the timer fires"] = rig.until(lambda: len(fired_s) >= 3 and fired_s[-3] > last_s)
    compared = [each for each in arrivals if fired_s[0] <= each[0] <= last_s]
    later = [handled_s for planned_s, handled_s in compared if handled_s > fired_s[bisect_left(fired_s, planned_s) + 2]]
    return {**found, "300 compared": len(compared) >= 300, "later than the loop": len(later), **rig.end()}


def steps_of_the_rate_and_back_to_users() -> dict[str, Any]:
    """Users of the level before the rate wait for an hour, and are in the pool at once; after it they wait again."""
    rig = _Rig(_kind("U"))
    rig.host.set_users(3, 100.0)
    found = {"3 users run": rig.until(lambda: rig.host.users == 3)}
    found |= {"20/s offered": rig.offer(20.0), "5 finished": rig.until(lambda: rig.totals["finished"] >= 5)}
    found |= {"200/s offered": rig.offer(200.0), "100 finished": rig.until(lambda: rig.totals["finished"] >= 100)}
    found["50 users or more"] = rig.host.users >= 50
    rig.host.set_users(2, 100.0)
    found |= {"2 users run": rig.until(lambda: rig.host.users == 2), "no rate": rig.until(lambda: rig.tick() is None)}
    return {**found, **rig.end()}


def a_full_pool_queues_and_then_drops() -> dict[str, Any]:
    """20 a second of a task that lasts for an hour, for 4 users: 10 and 10 more queue, all others are dropped."""
    rig = _Rig(_kind("U", task_s=3_600.0))
    found: dict[str, Any] = {"offered": rig.offer(20.0, max_users=4), "5 dropped": rig.until(lambda: rig.dropped.total >= 5)}
    found |= {"users": rig.host.users, "in flight": rig.in_flight}
    found["all drops are the target's"] = rig.dropped == Drops(target=rig.dropped.total)
    rig.host.set_users(0, 100.0)
    found["none in flight after the step to 0"] = rig.until(lambda: rig.in_flight == 0)
    return {**found, "dropped by the stop": rig.dropped.stopped, "finished": rig.totals["finished"], **rig.end()}


def tasks_that_raise_fail_and_those_that_stop_their_user_do_not() -> dict[str, Any]:
    """Of three tasks the first raises, the second stops its user, which is replaced, and the third returns."""
    turns = Counter[str]()

    def work(user: Any) -> None:
        turns["all"] += 1
        if turns["all"] % 3 == 1:
            raise RuntimeError("no luck")
        if turns["all"] % 3 == 2:
            raise StopUser()

    rig = _Rig(_kind("U", work))
    found = {"offered": rig.offer(60.0), "20 finished": rig.until(lambda: rig.totals["finished"] >= 20)}
    failed_ratio = rig.totals["failed"] / (rig.totals["failed"] + rig.totals["finished"])
    return {**found, "a third failed": 0.3 < failed_ratio < 0.4, **rig.end()}


def each_task_of_a_nested_task_set_is_an_iteration() -> dict[str, Any]:
    class Inner(TaskSet):
        @task
        def one(self) -> None:
            self.wait()  # type: ignore[no-untyped-call]  # a wait inside a task is not one between two tasks
            self.interrupt()  # type: ignore[no-untyped-call]

    rig = _Rig(_kind("U", Inner, wait_time=constant(0.01)))
    found = {"offered": rig.offer(50.0), "30 finished": rig.until(lambda: rig.totals["finished"] >= 30)}
    return {**found, "failed": rig.totals["failed"], **rig.end()}


def arrivals_are_shared_by_weight() -> dict[str, Any]:
    """The class that is slower gets as many arrivals as its weight says, not fewer."""
    ran = Counter[str]()

    def noting(name: str, seconds: float) -> Callable[[Any], None]:
        def work(user: Any) -> None:
            ran[name] += 1
            gevent.sleep(seconds)

        return work

    rig = _Rig(_kind("Often", noting("often", 0.1), weight=3), _kind("Seldom", noting("seldom", 0.0), weight=1))
    found = {"offered": rig.offer(200.0), "300 finished": rig.until(lambda: rig.totals["finished"] >= 300)}
    return {**found, "three of four ran in the class of weight 3": 0.65 < ran["often"] / ran.total() < 0.85, **rig.end()}


def a_rate_ends_while_its_pool_grows() -> bool:
    """The step to users that ends it comes between two chunks of users. A chunk after it would raise the number of users that the
    step has requested, and no report would say that it is done."""
    recorder = Recorder()
    offering, chunks = Offering(recorder.iterations), []

    def add(kind: str, count: int) -> None:
        chunks.append(count)
        gevent.spawn(offering.close)

    users: Any = SimpleNamespace(
        shares=lambda: {"U": 1.0}, wanted=lambda: {"U": sum(chunks)}, begin=lambda users: None, can_grow=lambda: True, add=add
    )
    offering.pool = Pool(offering.dispatch, users, UserErrors())
    offering.offer(OfferedRate(per_s=400.0, arrivals="even", max_users=1_000), shares=users.shares(), began=lambda: None)
    gevent.sleep(0.1)
    return chunks == [CHUNK]


def a_rate_comes_before_a_worker_has_joined() -> bool:
    """The run sends it as soon as it knows the worker, which may be in the middle of joining."""
    recorder = Recorder()
    offering = Offering(recorder.iterations)
    context = EngineContext(recorder, UserErrors(), lambda: None, offering, lambda report: None)
    engine = WorkerEngine(context, ("127.0.0.1", 0), b"", lambda boundary_s: None)
    runner = SimpleNamespace(user_classes=[_kind("U")], target_user_classes_count={}, worker_state="ready")
    engine.offer_share(runner, to_message(WorkerRate(turn=1, offered=OfferedRate(per_s=5.0, arrivals="even", max_users=2))))
    is_on = offering.is_on
    engine.end_rate(runner)
    return is_on and not offering.is_on
