"""Offers iterations at a rate to the users of this process, in the load thread. Users call `take` before each task.

A user of a rate level does not wait between tasks: it is idle until an arrival takes it. When the rate ends, what queues is
dropped, tasks that run go on, and idle users wait once as their `wait_time` says before they go on as users of a closed level.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import accumulate
from random import Random
from typing import Any

import gevent
from gevent import getcurrent
from gevent.hub import Waiter, get_hub
from locust.exception import StopUser
from locust.user.task import LOCUST_STATE_RUNNING, LOCUST_STATE_STOPPING, LOCUST_STATE_WAITING

from ...model.offered import Arrivals
from .alarm import Alarm
from .dispatch import Dispatch
from .iteration import Iteration, Seat, current_iteration
from .ledger import Ledger
from .pool import LOOK_EVERY_S, Pool
from .schedule import ArrivalSchedule

PREPARE_MOST_S = 5.0
"""How long a rate may wait for its users to start (their `on_start` may log in) before it begins without them."""

STOOD_STILL_S = 5.0
"""A schedule that is so late goes on from now: the process was suspended, and arrivals of hours must not come at once."""

RELEASE_AFTER_S, RELEASE_WITHIN_S = 0.1, 1.0
"""Idle users go on only once those too many for the next level have been stopped."""


class Offering:
    """`offer` and `close` by the engine; `take`, then `ended` or `abandoned` by users."""

    def __init__(self, ledger: Ledger, random: Random | None = None) -> None:
        self.is_on = False
        """Users wait for arrivals."""
        self.pool: Pool | None = None
        self._random = random or Random()
        self._ledger = ledger
        self.dispatch = Dispatch(self._ledger.record, _wake)
        self._schedule: ArrivalSchedule | None = None
        self._kinds: tuple[list[str], list[float]] = ([], [])
        """User classes, and their shares summed up."""
        self._alarm: Alarm | None = None
        """Wakes the schedule."""
        self._turn = 0
        """Grows with each call of `offer` and `close`, which replaces what an earlier one began."""
        self._pausing: set[Any] = set()
        """Waiters of users that wait between tasks."""

    # -- by the engine

    def offer(
        self,
        offered_per_s: float,
        arrivals: Arrivals,
        max_users: int,
        *,
        at_once: bool,
        shares: Mapping[str, float],
        began: Callable[[], None],
    ) -> None:
        """Offer iterations at this rate once its users are there, or `at_once`. `shares`: of user classes. `began`: it does."""
        assert self.pool is not None  # an engine that offers has one
        self._turn += 1
        self.dispatch.max_users = max_users
        self._kinds = list(shares), list(accumulate(shares.values()))
        self.pool.aim(offered_per_s)
        if not self.is_on:
            self._open()
            self.pool.begin()
        gevent.spawn(self._begin, self._turn, offered_per_s, arrivals, at_once, began)

    def _open(self) -> None:
        self.is_on = True
        for waiter in tuple(self._pausing):
            get_hub().loop.run_callback(waiter.switch, None)
        gevent.spawn(self._grow)

    def _begin(self, turn: int, offered_per_s: float, arrivals: Arrivals, at_once: bool, began: Callable[[], None]) -> None:
        assert self.pool is not None
        until_s = time.monotonic() + (0.0 if at_once else PREPARE_MOST_S)
        while time.monotonic() < until_s and not self.pool.is_ready and turn == self._turn:
            gevent.sleep(LOOK_EVERY_S)
        if turn != self._turn:
            return
        now_s = time.monotonic()
        self.dispatch.offered_per_s = self._ledger.record_rate_per_s = offered_per_s
        if self._schedule is None or self._schedule.arrivals != arrivals:
            self._schedule = ArrivalSchedule(offered_per_s, arrivals, now_s, self._random)
            self._ring()
            self._alarm = Alarm()
            gevent.spawn(self._run, self._schedule, self._alarm)
        else:
            self._plan_due(self._schedule, now_s)
            self._schedule.change(offered_per_s, now_s)
            self._ring()
        began()

    def _ring(self) -> None:
        if self._alarm is not None:
            self._alarm.ring()

    def close(self, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """No rate is offered any more. Idle users go on a moment later, and not before `may_go_on` (for a second)."""
        if not self.is_on:
            return
        self._turn += 1
        self.is_on, self._schedule = False, None
        self._ledger.record_rate_per_s, self.dispatch.offered_per_s = None, 0.0
        self._ring()
        seats = self.dispatch.clear()
        gevent.spawn(self._release, seats, may_go_on)

    @staticmethod
    def _release(seats: list[Seat], may_go_on: Callable[[], bool]) -> None:
        until_s = time.monotonic() + RELEASE_WITHIN_S
        gevent.sleep(RELEASE_AFTER_S)
        while not may_go_on() and time.monotonic() < until_s:
            gevent.sleep(LOOK_EVERY_S)
        for seat in seats:
            _wake(seat)

    # -- greenlets

    def _run(self, schedule: ArrivalSchedule, alarm: Alarm) -> None:
        while self._schedule is schedule:
            now_s = time.monotonic()
            if now_s - schedule.next_s > STOOD_STILL_S:
                schedule.skip_to(now_s)
            self._plan_due(schedule, now_s)
            alarm.wait_until(schedule.next_s)
        alarm.close()

    def _plan_due(self, schedule: ArrivalSchedule, now_s: float) -> None:
        kinds, shares = self._kinds
        for planned_s in schedule.due(now_s):
            kind = kinds[0] if len(kinds) == 1 else self._random.choices(kinds, cum_weights=shares)[0]
            self.dispatch.arrive(planned_s, now_s, kind)

    def _grow(self) -> None:
        while self.is_on and self.pool is not None:
            self.pool.look()
            gevent.sleep(LOOK_EVERY_S)

    # -- by users, in their own greenlets

    @property
    def takes_now(self) -> bool:
        """Whether the user that runs now is to wait for an arrival: not one in the middle of an iteration."""
        return self.is_on and current_iteration() is None

    def pause(self, seconds: float) -> None:
        """A wait between two tasks: none at a rate level, and cut short when one begins."""
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
        """Wait until an arrival takes this user. None: no rate is offered, or not any more."""
        while self.is_on:
            seat = Seat(type(user).__name__, Waiter(get_hub()))
            iteration = self.dispatch.park(seat, time.monotonic()) or self._idle(user, seat)
            if iteration is not None:
                getcurrent().iteration = iteration
                return iteration
        return None

    def _idle(self, user: Any, seat: Seat) -> Iteration | None:
        user._state = LOCUST_STATE_WAITING  # Locust may stop it
        try:
            iteration: Iteration | None = seat.waiter.get()
        except BaseException:  # it is stopped
            self.dispatch.left(seat)
            raise
        if user._state == LOCUST_STATE_STOPPING:
            if iteration is not None:
                self.dispatch.abandoned(iteration)
            raise StopUser()
        user._state = LOCUST_STATE_RUNNING
        return iteration

    def ended(self, iteration: Iteration, *, failed: bool = False) -> None:
        """Its task has come to an end; `failed`: with an exception."""
        getcurrent().iteration = None
        iteration.failed = iteration.failed or failed
        self.dispatch.ended(iteration, time.monotonic())

    def abandoned(self, iteration: Iteration) -> None:
        """Its user was stopped in the middle of the task."""
        getcurrent().iteration = None
        self.dispatch.abandoned(iteration)


def _wake(seat: Seat) -> None:
    get_hub().loop.run_callback(seat.waiter.switch, seat.iteration)
