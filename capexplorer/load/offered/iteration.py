"""One iteration of an offered rate, and a user that waits for one."""

from __future__ import annotations

from typing import Any

from gevent import getcurrent


class Iteration:
    """A task that is due. Kept on the greenlet of the user that runs it."""

    __slots__ = ("failed", "kind", "planned_s", "started_s")

    def __init__(self, planned_s: float, kind: str) -> None:
        self.planned_s = planned_s
        self.kind = kind
        """Name of the user class."""
        self.started_s = 0.0
        self.failed = False
        """Whether one of its requests has failed."""


def current_iteration() -> Iteration | None:
    """The iteration of the user whose greenlet runs now; None if there is none."""
    iteration: Iteration | None = getattr(getcurrent(), "iteration", None)
    return iteration


class IdleUser:
    """An idle user. `waiter` is switched to with its iteration; with None where no rate is offered any more."""

    __slots__ = ("iteration", "kind", "waiter")

    def __init__(self, kind: str, waiter: Any) -> None:
        self.kind = kind
        self.waiter = waiter
        self.iteration: Iteration | None = None
        """The iteration that it was assigned, which it may not have begun yet."""
