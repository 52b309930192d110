"""The pool of users of a rate level: keeps so many idle that arrivals seldom wait, up to guards.max_users."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

import gevent

from ..user_code import UserErrors
from .dispatch import Dispatch

SPARE_S = 0.25
"""Idle users are kept for the arrivals of this many seconds, so that none is missing while a service stalls for 200 ms."""

CHUNK = 5
"""Users started before other greenlets run again: this takes about 1 ms, by which an arrival is delayed at most."""

LOOK_EVERY_S = 0.02

FIRST_MOST = 100
"""Most users that Locust's own dispatch starts, since it starts them without a break; the others follow in chunks."""


class PoolUsers(Protocol):
    """The users of an engine. Called in the load thread."""

    def shares(self) -> Mapping[str, float]:
        """The share of each user class among arrivals, by its weight; the sum is 1."""

    def wanted(self) -> Mapping[str, int]:
        """Users that run or are starting, by user class."""

    def begin(self, users: int) -> None:
        """Begin a Locust test with at least this many users, in place of a step that is under way."""

    def can_grow(self) -> bool:
        """Whether the first users have been started."""

    def add(self, kind: str, count: int) -> None:
        """Start more users of a class."""


class Pool:
    """Call `aim` with a rate and `begin`, then `look` regularly, which starts users that are missing; `end` with the rate."""

    def __init__(self, dispatch: Dispatch, users: PoolUsers, errors: UserErrors) -> None:
        self._dispatch, self._users, self._errors = dispatch, users, errors
        self._spare: dict[str, int] = {}
        dispatch.users = users.wanted

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
