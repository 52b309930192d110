"""Offers iterations at a rate to the users of this process, in the load thread. Users call `take` before each task.

A user of a rate level does not wait between tasks: it is idle until it gets an arrival. When the rate ends, queued iterations are
dropped, running tasks continue, and idle users wait for one `wait_time` before they continue as users of a closed-loop level. A
pool keeps so many users idle that arrivals seldom wait, up to guards.max_users.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import time
from collections.abc import Callable, Mapping
from itertools import accumulate
from random import Random
from typing import Any

import gevent
from gevent import getcurrent
from gevent.event import Event
from gevent.hub import Waiter, get_hub
from locust.exception import StopUser
from locust.runners import STATE_RUNNING
from locust.user.task import LOCUST_STATE_RUNNING, LOCUST_STATE_STOPPING, LOCUST_STATE_WAITING

from ..model.load import OfferedRate
from .arrivals import ArrivalSchedule, Dispatch, IdleUser, Iteration, Ledger, current_iteration
from .user_code import UserErrors

BEGIN_PER_S = 100.0
"""Spawn rate of the first users, per second: Locust warns about higher ones."""


class WorkerUsers:
    """The users of a pool in a WorkerRunner, whose master begins the test with the first users. In the load thread."""

    _counts = "target_user_classes_count"
    """The attribute that has the users by class, as of the last dispatch and with those that were added since: by it
    `Replacement` finds dead users."""

    def __init__(self, runner: Any) -> None:
        self._runner = self._counted_by = runner

    def shares(self) -> Mapping[str, float]:
        """The share of each user class among arrivals, by its weight, or by its `fixed_count` without a weight. The sum is 1."""
        weights = {kind.__name__: float(kind.weight or kind.fixed_count) for kind in self._runner.user_classes}
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items() if weight}

    def wanted(self) -> Mapping[str, int]:
        """Users that run or are starting, by user class."""
        counts: Mapping[str, int] = getattr(self._counted_by, self._counts)
        return counts

    def begin(self, users: int) -> None:
        """Begin a Locust test with at least this many users, in place of a step that is under way; here the master does."""

    def can_grow(self) -> bool:
        """Whether the first users have been started."""
        return bool(self._runner.worker_state == STATE_RUNNING)

    def add(self, kind: str, count: int) -> None:
        """Start more users of a class, without Locust's dispatcher."""
        counts = self.wanted()
        setattr(self._counted_by, self._counts, {**counts, kind: counts.get(kind, 0) + count})
        self._runner.target_user_count += count
        self._runner.spawn_users({kind: count})


class LocalUsers(WorkerUsers):
    """Those of a LocalRunner."""

    _counts = "user_classes_count"

    def __init__(self, runner: Any, step: Callable[[int, float], None]) -> None:
        """`step`: Locust's dispatch, to a number of users at a spawn rate."""
        super().__init__(runner)
        self._counted_by, self._step = runner._local_worker_node, step

    def begin(self, users: int) -> None:
        """As Locust does, with its events."""
        self._step(max(users, self._runner.user_count), BEGIN_PER_S)

    def can_grow(self) -> bool:
        """False while Locust's own dispatch starts users."""
        runner = self._runner
        return runner.state == STATE_RUNNING and (runner.spawning_greenlet is None or runner.spawning_greenlet.ready())


# -- pool


SPARE_S = 0.25
"""Idle users are kept for the arrivals of this many seconds, so that none is missing while a service stalls for 200 ms."""

CHUNK = 5
"""Users started before other greenlets run again: this takes about 1 ms, by which an arrival is delayed at most."""

LOOK_EVERY_S = 0.02

FIRST_MOST = 100
"""Most users that Locust's own dispatch starts, since it starts them without a break; the others follow in chunks."""


class Pool:
    """The users of a rate. Call `aim` with it and `begin`, then `look` regularly, which starts users that are missing; `end` with
    the rate.
    """

    def __init__(self, dispatch: Dispatch, users: WorkerUsers, errors: UserErrors) -> None:
        self._dispatch, self._users, self._errors = dispatch, users, errors
        self._spare: dict[str, int] = {}

    def aim(self, per_s: float) -> None:
        """Keep as many idle users as this rate needs."""
        per_class = {kind: share * per_s for kind, share in self._users.shares().items()}
        self._spare = {kind: math.ceil(rate * SPARE_S) for kind, rate in per_class.items()}

    def end(self) -> None:
        """Start no more users, also in a `look` that is under way: they would change the number that a step requests now."""
        self._spare = {}

    def begin(self) -> None:
        """Start the first users."""
        spare = min(sum(self._spare.values()), self._dispatch.max_users)
        self._users.begin(min(max(len(self._spare), spare), FIRST_MOST))

    def missing(self, kind: str) -> int:
        """Number of users of a class that must be started."""
        dispatch = self._dispatch
        idle, running = len(dispatch.idle.get(kind, ())), dispatch.running.get(kind, 0)
        starting = max(0, self._users.wanted().get(kind, 0) - idle - running)
        return max(0, self._spare.get(kind, 0) + dispatch.queued_of(kind) - idle - starting)

    @property
    def is_ready(self) -> bool:
        """Whether all users that the pool needs, and may start, are idle or run an iteration."""
        if not self._users.can_grow():
            return False
        wanted, dispatch = self._users.wanted(), self._dispatch
        there = sum(map(len, dispatch.idle.values())) + sum(dispatch.running.values())
        is_full = sum(wanted.values()) >= dispatch.max_users
        return there >= sum(wanted.values()) and (is_full or not any(map(self.missing, self._spare)))

    def look(self) -> None:
        """Start users that are missing."""
        for kind in tuple(self._spare):
            allowed = self._dispatch.max_users - sum(self._users.wanted().values())
            count = min(self.missing(kind), allowed)
            while count > 0 and kind in self._spare and self._users.can_grow():
                with self._errors.counted():
                    self._users.add(kind, min(CHUNK, count))
                count -= CHUNK
                gevent.sleep(0)


# -- alarm: timers of gevent's loop are only exact to milliseconds, to which epoll's timeout is rounded up. On Linux a timerfd
# wakes the loop; elsewhere, or where no descriptor is left, a timer of gevent does.


_libc = ctypes.CDLL(None)
_CLOCK_MONOTONIC, _ABSOLUTE = 1, 1
_READABLE = 1
"""The event mask of gevent's loop for a readable descriptor."""


class _Setting(ctypes.Structure):
    """`struct itimerspec`: interval and first expiry, each in seconds and nanoseconds."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every_s", "every_ns", "at_s", "at_ns"))


class Alarm:
    """One greenlet calls `wait_until`; others of the same thread end its wait by `ring`."""

    def __init__(self) -> None:
        self._rung = Event()
        self._descriptor = _timer_descriptor()
        self._watcher: Any = get_hub().loop.io(self._descriptor, _READABLE) if self._descriptor >= 0 else None

    def wait_until(self, at_s: float) -> None:
        """Sleep until this moment (`time.monotonic`; infinite: forever) or until `ring`. Returns at once if `ring` was called
        before.
        """
        if self._rung.is_set() or at_s <= time.monotonic():
            pass
        elif self._watcher is None or at_s == math.inf:
            self._rung.wait(None if at_s == math.inf else at_s - time.monotonic())
        else:
            self._set(at_s)
            get_hub().wait(self._watcher)
            with contextlib.suppress(BlockingIOError):
                os.read(self._descriptor, 8)
        self._rung.clear()

    def ring(self) -> None:
        """End the wait now."""
        self._rung.set()
        if self._watcher is not None:
            self._set(time.monotonic())

    def close(self) -> None:
        """Free the timer. Call it after the last wait."""
        if self._watcher is not None:
            self._watcher.close()
            os.close(self._descriptor)
            self._watcher = None

    def _set(self, at_s: float) -> None:
        whole_s = int(at_s)
        setting = _Setting(0, 0, whole_s, int((at_s - whole_s) * 1e9))
        _libc.timerfd_settime(self._descriptor, _ABSOLUTE, ctypes.byref(setting), None)


def _timer_descriptor() -> int:
    """A timerfd; -1 if there is none on this system or no descriptor is free."""
    try:
        return int(_libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC))
    except AttributeError:  # not on Linux
        return -1


PREPARE_MOST_S = 5.0
"""Seconds that a rate waits at most for its users to start (their `on_start` may log in) before it begins without them."""

SUSPENDED_S = 5.0
"""Lateness in seconds from which the schedule skips to the present: the process was suspended, and the arrivals of that time must
not all come at once."""

RELEASE_AFTER_S, RELEASE_WITHIN_S = 0.1, 1.0
"""Least and most seconds after the end of a rate until idle users continue, so that users which the next level does not need are
stopped first."""


class Offering:
    """The engine calls `offer` and `close`; users call `take`, then `ended` or `abandoned`."""

    def __init__(self, ledger: Ledger, errors: UserErrors) -> None:
        """`errors`: takes what user code raises where users of the pool are made."""
        self.is_on = False
        """Whether users wait for arrivals."""
        self._pool: Pool | None = None
        """None: no rate is offered."""
        self._random = Random()
        self._ledger, self._errors = ledger, errors
        self.dispatch = Dispatch(self._ledger.record, _wake)
        self._schedule: ArrivalSchedule | None = None
        self._kinds: tuple[list[str], list[float]] = ([], [])
        """User classes, and the cumulative sums of their shares."""
        self._alarm: Alarm | None = None
        """Wakes the schedule."""
        self._turn = 0
        """Counts calls of `offer` and `close`, so that one which still waits notices that it was replaced."""
        self._pausing: set[Any] = set()
        """The gevent waiters of users that wait between tasks."""

    # -- by the engine

    def offer(self, offered: OfferedRate, users: WorkerUsers, *, began: Callable[[], None]) -> None:
        """Offer iterations at this rate to these users once enough have started, or `at_once`. `began` is called when the
        schedule has the rate.
        """
        self._turn += 1
        shares = users.shares()
        self.dispatch.max_users, self.dispatch.shares, self.dispatch.users = offered.max_users, shares, users.wanted
        self._kinds = list(shares), list(accumulate(shares.values()))
        pool = self._pool or Pool(self.dispatch, users, self._errors)
        pool.aim(offered.per_s)
        if self._pool is None:
            self._pool = pool
            self._open(pool)
        gevent.spawn(self._begin, self._turn, pool, offered, began)

    def _open(self, pool: Pool) -> None:
        self.is_on = True
        for waiter in tuple(self._pausing):
            get_hub().loop.run_callback(waiter.switch, None)
        gevent.spawn(self._grow, pool)
        pool.begin()

    def _begin(self, turn: int, pool: Pool, offered: OfferedRate, began: Callable[[], None]) -> None:
        until_s = time.monotonic() + (0.0 if offered.at_once else PREPARE_MOST_S)
        while time.monotonic() < until_s and not pool.is_ready and turn == self._turn:
            gevent.sleep(LOOK_EVERY_S)
        if turn != self._turn:
            return
        now_s = time.monotonic()
        self.dispatch.per_s = self._ledger.per_s = offered.per_s
        if self._schedule is None or self._schedule.arrivals != offered.arrivals:
            self._schedule = ArrivalSchedule(offered.per_s, offered.arrivals, now_s, self._random)
            self._ring()
            self._alarm = Alarm()
            gevent.spawn(self._run, self._schedule, self._alarm)
        else:
            self._plan_due(self._schedule, now_s)
            self._schedule.change(offered.per_s, now_s)
            self._ring()
        began()

    def _ring(self) -> None:
        if self._alarm is not None:
            self._alarm.ring()

    def close(self, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """End the rate. Idle users continue after RELEASE_AFTER_S, when `may_go_on` returns True or RELEASE_WITHIN_S has
        passed.
        """
        if self._pool is None:
            return
        self._turn += 1
        self._pool.end()
        self.is_on, self._pool, self._schedule = False, None, None
        self._ledger.per_s, self.dispatch.per_s = None, 0.0
        self._ring()
        idle_users = self.dispatch.clear()
        gevent.spawn(self._release, idle_users, may_go_on)

    @staticmethod
    def _release(idle_users: list[IdleUser], may_go_on: Callable[[], bool]) -> None:
        until_s = time.monotonic() + RELEASE_WITHIN_S
        gevent.sleep(RELEASE_AFTER_S)
        while not may_go_on() and time.monotonic() < until_s:
            gevent.sleep(LOOK_EVERY_S)
        for idle_user in idle_users:
            _wake(idle_user)

    # -- greenlets

    def _run(self, schedule: ArrivalSchedule, alarm: Alarm) -> None:
        while self._schedule is schedule:
            now_s = time.monotonic()
            if now_s - schedule.next_s > SUSPENDED_S:
                schedule.skip_to(now_s)
            self._plan_due(schedule, now_s)
            alarm.wait_until(schedule.next_s)
        alarm.close()

    def _plan_due(self, schedule: ArrivalSchedule, now_s: float) -> None:
        kinds, shares = self._kinds
        for planned_s in schedule.due(now_s):
            kind = kinds[0] if len(kinds) == 1 else self._random.choices(kinds, cum_weights=shares)[0]
            self.dispatch.arrive(planned_s, now_s, kind)

    def _grow(self, pool: Pool) -> None:
        while self._pool is pool:
            pool.look()
            gevent.sleep(LOOK_EVERY_S)

    # -- by users, in their own greenlets

    @property
    def takes_now(self) -> bool:
        """Whether the user whose greenlet runs now must wait for an arrival before its next task."""
        return self.is_on and current_iteration() is None

    def pause(self, seconds: float) -> None:
        """Wait between two tasks; not at a rate level, and not longer than until a rate level begins."""
        if self.takes_now:
            return
        hub = get_hub()
        waiter = Waiter(hub)
        with hub.loop.timer(seconds) as timer:
            timer.start(waiter.switch, None, update=True)
            self._pausing.add(waiter)
            try:
                waiter.get()
            finally:
                self._pausing.discard(waiter)

    def take(self, user: Any) -> Iteration | None:
        """Wait until this user gets an arrival. None: no rate is offered, or it has ended."""
        while self.is_on:
            idle_user = IdleUser(type(user).__name__, Waiter(get_hub()))
            iteration = self.dispatch.park(idle_user, time.monotonic()) or self._idle(user, idle_user)
            if iteration is not None:
                getcurrent().iteration = iteration
                return iteration
        return None

    def _idle(self, user: Any, idle_user: IdleUser) -> Iteration | None:
        user._state = LOCUST_STATE_WAITING  # Locust may stop it
        try:
            iteration: Iteration | None = idle_user.waiter.get()
        except BaseException:  # it is stopped
            self.dispatch.left(idle_user)
            raise
        if user._state == LOCUST_STATE_STOPPING:
            if iteration is not None:
                self.dispatch.abandoned(iteration)
            raise StopUser()
        user._state = LOCUST_STATE_RUNNING
        return iteration

    def ended(self, iteration: Iteration, *, failed: bool = False) -> None:
        """Note that the iteration's task has ended; `failed`: with an exception."""
        getcurrent().iteration = None
        iteration.failed = iteration.failed or failed
        self.dispatch.ended(iteration, time.monotonic())

    def abandoned(self, iteration: Iteration) -> None:
        """Note that the iteration's user was stopped during its task."""
        getcurrent().iteration = None
        self.dispatch.abandoned(iteration)


def _wake(idle_user: IdleUser) -> None:
    get_hub().loop.run_callback(idle_user.waiter.switch, idle_user.iteration)
