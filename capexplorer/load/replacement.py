"""Replaces users that died: Locust does not replace a user whose `on_start` raised (10 wanted, 5 running)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gevent
from locust.runners import STATE_RUNNING

from .user_activity import UserActivity
from .user_code import UserErrors
from .user_cycle import UserCycle

EVERY_S = 0.05
EVERY_AT_MOST_S = 1.0
"""A user that dies is replaced at once, then with increasing delay, so that a broken `on_start` cannot spin. A user that has
stopped itself after a flow is always replaced at once: so many flows run at a time as users are requested."""


class Replacement:
    """`run` in a greenlet of the load thread."""

    def __init__(self, runner: Any, wanted: Callable[[], Mapping[str, int]], errors: UserErrors, activity: UserActivity) -> None:
        """`wanted`: users by class, as of the last step."""
        self._runner, self._wanted, self._errors, self._activity = runner, wanted, errors, activity
        self.replaced = 0
        """Users replaced so far."""

    def run(self) -> None:
        """Never returns."""
        pause_s = EVERY_S
        while True:
            stopped = self._activity.ended.wait(pause_s)
            self._activity.ended.clear()
            gevent.sleep(0)  # in which the greenlet of a user that has just stopped ends
            missing = self._missing()
            pause_s = EVERY_S if stopped else min(EVERY_AT_MOST_S, pause_s * 2) if missing else EVERY_S
            if missing:
                self._replace(missing)
            self._activity.successors = 0  # those that remain are not needed any more

    def _replace(self, missing: dict[str, int]) -> None:
        with self._errors.counted():
            before = set(self._runner.user_greenlets)
            self._runner.spawn_users(missing)
            self.replaced += sum(missing.values())
            for greenlet in set(self._runner.user_greenlets) - before:
                if self._activity.successors:
                    self._activity.successors -= 1
                    greenlet.user_cycle = UserCycle(is_warm=True)

    def _missing(self) -> dict[str, int]:
        """Users to spawn, by class."""
        runner = self._runner
        if runner.state != STATE_RUNNING or runner.user_count >= runner.target_user_count:
            return {}
        running = runner.user_classes_count
        return {name: count - running.get(name, 0) for name, count in self._wanted().items() if count > running.get(name, 0)}
