"""Bounds how long steps and stops wait for user code, so that an `on_stop` or `__init__` that never returns cannot block the
run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gevent

from .user_code import UserCodeFault, UserErrors

STALLED_S = 20.0
"""Seconds after which a step continues without users whose `on_stop` has not returned (for `__init__`: three times as long)."""
LAST_STOPS_S = 7.0
"""Seconds for which all users together may delay the end of the run."""


class Stalled(UserCodeFault):
    """User code has not returned within the bound."""


class BoundedWaits:
    """Bounded waits for user code, in greenlets of the load thread."""

    def __init__(self, runner: Any, errors: UserErrors) -> None:
        self._runner, self._errors = runner, errors

    def step(self, spawning: Any, spawn_rate: float) -> bool:
        """Wait until a step, the greenlet `spawning`, is done or replaced by another.

        False: it was given up, since users neither started nor ended for too long. Only seconds in which the hub runs count.
        """
        users, quiet_s = self._runner.user_count, 0
        while quiet_s < self._step_s(spawn_rate):
            spawning.join(timeout=1.0)
            if spawning.ready() or self._runner.spawning_greenlet is not spawning:
                return True
            quiet_s = quiet_s + 1 if self._runner.user_count == users else 0
            users = self._runner.user_count
        spawning.kill(block=False)
        self._give_up(quiet_s)
        return False

    def _step_s(self, spawn_rate: float) -> float:
        if self._runner.user_greenlets.dying:
            return STALLED_S
        return 3 * STALLED_S + 2.0 / spawn_rate + float(self._runner.environment.stop_timeout or 0)

    def stop(self, stop: Callable[[], None], within_s: float) -> None:
        """Call `stop`, which ends all users, and wait for it at most `within_s`."""
        stopping = gevent.spawn(stop)
        stopping.join(timeout=within_s)
        if not stopping.ready():
            self._give_up(within_s)
            stopping.join(timeout=1.0)
            stopping.kill(block=False)

    def _give_up(self, waited_s: float) -> None:
        """Report users that do not end, and kill them once more, which interrupts an `on_stop` that sleeps."""
        stopping = list(self._runner.user_greenlets.dying)
        what = f"{len(stopping)} users did not end: on_stop" if stopping else "no user started: __init__"
        self._errors.add(Stalled(f"{what} did not return within {waited_s:g} s"))
        for greenlet in stopping:
            greenlet.kill(block=False)
