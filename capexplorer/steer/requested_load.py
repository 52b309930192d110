"""The requested number of users or offered rate, who sets it, and the only way to change it.

Called in the threads of the screen, the control server and the pump. Exactly one driver sets the load at a time: a person, a
plan, the locustfile's shape or the autopilot. Every change of driver begins a new generation. A driver keeps the generation that
it began with and passes it with each of its steps and reports, so that those of a former driver are recognised and dropped.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import msgspec
from msgspec.structs import replace

from ..model.controls import SPAWN_RATE_LEAST, SPAWN_RATE_MOST
from ..model.events import By
from ..model.experiments import Experiment
from ..model.load import Arrivals, Load, OfferedRate, Rate, Users

POOL_SPAWN_RATE = 1_000.0
"""Users per second by which the pool of a rate level grows at most: about as many as the load thread can start while it also
sends requests."""

AUTOMATIC_SPAWN_RATE_MOST = 100.0
"""Maximum spawn rate in users per second if none was set; Locust warns about higher rates."""


class Manual(msgspec.Struct, frozen=True):
    """No program sets the users: they stay until a person changes them."""

    by: By = "user"
    """Who ended the previous driver: a person (through a screen), or the run itself (in the pump's thread)."""


class Plan(msgspec.Struct, frozen=True):
    """A plan sets the users."""

    by_autopilot: bool = False
    """Whether the autopilot acts for the plan, until it has ended."""


class Shape(msgspec.Struct, frozen=True):
    """The load shape of a locustfile sets the users, in the load thread."""


class Autopilot(msgspec.Struct, frozen=True):
    """The autopilot sets the users."""


Driver = Manual | Plan | Shape | Autopilot


class Driving(msgspec.Struct, frozen=True):
    """A driver with its generation."""

    kind: Driver
    generation: int = 0

    @property
    def is_planned(self) -> bool:
        """Whether a plan or a shape steps the load."""
        return isinstance(self.kind, Plan | Shape)

    @property
    def autopilot_steps(self) -> bool:
        """Whether the autopilot sets the users, for a plan or by itself."""
        return self.kind in (Autopilot(), Plan(by_autopilot=True))


class UsersThread(Protocol):
    """The part of `load.load_thread.LoadThread` that is used here."""

    @property
    def users(self) -> int:
        """Users running now."""

    def set_users(self, users: int, spawn_rate: float) -> None:
        """Step to `users`; returns at once."""

    def set_rate(self, offered: OfferedRate) -> None:
        """Offer iterations at this rate; returns at once."""

    def start_shape(self, generation: int) -> None:
        """Let the locustfile's shape set the users; returns at once."""

    def begin_level(self, index: int, experiment: Experiment | None) -> None:
        """Requests that are kept from now on are of this level, and users do what its experiment changes; returns at once."""


class RequestedLoad:
    """The requested load and the gate to the load thread.

    While the gate is shut (the service is not ready, or the log cannot be written), `load` changes without effect; it takes
    effect when the gate opens. A step by hand takes effect at once, in the caller's thread, and begins a new generation: steps
    of the previous driver are refused from then on, also those that were decided already.
    """

    def __init__(
        self,
        thread: UsersThread,
        load: Load,
        spawn_rate: float | None = None,
        driver: Driver = Manual(),  # noqa: B008 - frozen
        *,
        lock: AbstractContextManager[object],
        arrivals: Arrivals = "poisson",
        max_users: int = 0,
    ) -> None:
        """`lock`: one that native threads may wait for, whatever gevent has patched. `arrivals`, `max_users`: of rate levels."""
        self.thread = thread
        self.load = load
        self.arrivals: Arrivals = arrivals
        self._max_users = max_users
        self.spawn_rate = spawn_rate
        """Users a second for all steps; None: see `rate`."""
        self.is_open = False
        self.driver = Driving(driver)
        """The driver now."""
        self._lock = lock
        """Locked while a thread changes the driver or the load. Not reentrant."""

    def set_spawn_rate(self, rate: float | None) -> None:
        """Users a second for all steps from the next one on (clamped to SPAWN_RATE_LEAST..SPAWN_RATE_MOST)."""
        self.spawn_rate = None if rate is None else max(SPAWN_RATE_LEAST, min(rate, SPAWN_RATE_MOST))

    # -- drivers

    def is_current(self, generation: int) -> bool:
        """Whether no other driver has begun since this generation."""
        return generation == self.driver.generation

    def hand_to(self, driver: Driver) -> int:
        """Make `driver` the only one that may change the load. Returns its generation. The load does not change."""
        with self._lock:
            if isinstance(self.driver.kind, Shape):
                self._go(self.load)  # the load follows a shape until it gets a step
            return self._change(driver)

    def hand_on(self, driver: Driver, generation: int) -> int | None:
        """As `hand_to`, after the driver of this generation. None, and nothing happens, if another driver has begun."""
        with self._lock:
            return self._change(driver) if self.is_current(generation) else None

    def release(self, generation: int, by: By) -> None:
        """The driver of this generation was ended by `by`. Has no effect if another driver has begun."""
        with self._lock:
            if self.is_current(generation):
                self._change(Manual(by))

    def let_autopilot(self, generation: int) -> None:
        """Let the autopilot act for the plan of this generation. Has no effect if another driver has begun."""
        with self._lock:
            if self.is_current(generation):
                self.driver = replace(self.driver, kind=Plan(by_autopilot=True))

    def end_autopilot(self, generation: int) -> None:
        """The autopilot has finished; a plan for which it acted continues. Has no effect if another driver has begun."""
        with self._lock:
            if self.is_current(generation) and isinstance(self.driver.kind, Plan):
                self.driver = replace(self.driver, kind=Plan())
            elif self.is_current(generation):
                self._change(Manual("autopilot"))

    def _change(self, driver: Driver) -> int:
        self.driver = Driving(driver, self.driver.generation + 1)
        return self.driver.generation

    # -- changes of the load

    def step(self, load: Load, by: By = "user") -> float:
        """A person or a guard sets `load` and ends the driver. Returns the spawn rate in users per second."""
        with self._lock:
            self._change(Manual(by))
            return self._go(load)

    def move(self, load: Load, generation: int, *, at_once: bool = False) -> float | None:
        """Go to `load`, by the driver of this generation. Returns the spawn rate.

        None, and nothing happens, if another driver has begun. `at_once`: with an unlimited spawn rate, or without waiting for
        the users that a rate needs.
        """
        with self._lock:
            return self._go(load, at_once=at_once) if self.is_current(generation) else None

    def shape_moved(self, users: int, generation: int) -> bool:
        """The shape has changed the load to `users`. False, without any effect, if another driver has begun."""
        with self._lock:
            if not self.is_current(generation):
                return False
            self.load = Users(users)
            return True

    def _go(self, load: Load, *, at_once: bool = False) -> float:
        before, self.load = self.load.users, load
        return self._send(before, at_once=at_once)

    def _send(self, before: int, *, at_once: bool = False) -> float:
        """Pass the load on if the gate is open. Returns the spawn rate, of a step from `before` users or of a rate's pool."""
        match self.load:
            case Users(users):
                spawn_rate = self._difference(before, users) if at_once else self.rate(before, users)
                if self.is_open:
                    self.thread.set_users(users, spawn_rate)
                return spawn_rate
            case Rate(per_s):
                if self.is_open:
                    self.thread.set_rate(
                        OfferedRate(per_s=per_s, arrivals=self.arrivals, max_users=self._max_users, at_once=at_once)
                    )
                return POOL_SPAWN_RATE

    # -- the gate

    def open(self) -> None:
        """Open the gate: from now on each step reaches the load at once."""
        self.is_open = True

    def start(self) -> float:
        """Start the load that was requested while the gate was shut. Returns the spawn rate."""
        return self._send(0)

    def start_shape(self) -> int:
        """Let the locustfile's shape set the users. Returns the shape's generation."""
        generation = self.hand_to(Shape())
        self.thread.start_shape(generation)
        return generation

    def shut(self) -> None:
        """Close the gate: stop all users at once; `load` does not change."""
        self.is_open = False
        self.thread.set_users(0, max(1.0, float(self.thread.users)))

    def rate(self, before: int, users: int) -> float:
        """The spawn rate of a step in users a second: the given one, else the difference in one second, at most 100 a second.

        A step to zero is always at once.
        """
        difference = self._difference(before, users)
        if users == 0:
            return difference
        return self.spawn_rate if self.spawn_rate is not None else min(AUTOMATIC_SPAWN_RATE_MOST, difference)

    def _difference(self, before: int, users: int) -> float:
        """The greater of that to the users wanted before and that to the users running, but at least 1: a step may be under way,
        or the users are those of an offered rate.
        """
        return float(max(1, abs(users - before), abs(users - self.thread.users)))
