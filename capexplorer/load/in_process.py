"""What engines have in common whose users run in this process: counting them, replacing dead ones, draining what they did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gevent

from .engine import Drained, EngineContext
from .replacement import Replacement


class InProcessEngine:
    """A `LoadEngine` but for `create_runner`, which calls `replace_dead_users`, and `step`."""

    runner: Any = None

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._replacement: Replacement | None = None

    def replace_dead_users(self, wanted: Callable[[], Mapping[str, int]]) -> None:
        """From now on. `wanted`: users by class, as of the last step."""
        self._replacement = Replacement(self.runner, wanted, self._context.errors)
        gevent.spawn(self._replacement.run)

    def begin_level(self, index: int) -> None:
        """Of the requests of this process."""
        self._context.recorder.begin_level(index)

    @property
    def users(self) -> int:
        """Greenlets of the runner."""
        return self.runner.user_count if self.runner is not None else 0

    @property
    def replaced(self) -> int:
        """Since the beginning."""
        return self._replacement.replaced if self._replacement is not None else 0

    def is_due(self, boundary_s: float) -> bool:
        """At once."""
        return True

    def drain(self, boundary_s: float) -> Drained:
        """All that was recorded until now."""
        return Drained(self._context.recorder.drain(), self.users)

    def drain_all(self) -> None:
        """Also emit the failures that wait."""
        self._context.recorder.drain_all()
