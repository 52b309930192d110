"""The common part of engines whose users run in this process: counts users, replaces dead ones, and drains their requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gevent

from .engine import Drained, EngineContext
from .replacement import Replacement


class InProcessEngine:
    """A `LoadEngine` without `step`, `offer` and `create_runner`; the last must call `replace_dead_users`."""

    runner: Any = None

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._replacement: Replacement | None = None

    def replace_dead_users(self, wanted: Callable[[], Mapping[str, int]]) -> None:
        """Replace dead users from now on. `wanted`: returns the users by class as of the last step."""
        self._replacement = Replacement(self.runner, wanted, self._context.errors, self._context.recorder.activity)
        gevent.spawn(self._replacement.run)

    def begin_level(self, index: int) -> None:
        """Attribute requests from now on to this level."""
        self._context.recorder.begin_level(index)

    @property
    def users(self) -> int:
        """Users of the runner, and those that are about to be replaced."""
        if self.runner is None:
            return 0
        running = int(self.runner.user_count)
        return max(running, min(int(self.runner.target_user_count), running + self._context.recorder.activity.successors))

    @property
    def replaced(self) -> int:
        """Dead users replaced so far."""
        return self._replacement.replaced if self._replacement is not None else 0

    def is_due(self, boundary_s: float) -> bool:
        """Always True: requests of this process can be drained at any time."""
        return True

    def drain(self, boundary_s: float) -> Drained:
        """All requests recorded since the last call."""
        return Drained(self._context.recorder.drain(), self.users)

    def drain_all(self) -> None:
        """Let the next drain include all waiting failures."""
        self._context.recorder.drain_all()
