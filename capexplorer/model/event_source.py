"""A source of events, passed in so that what draws them need not import what makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .events import Event


class EventSource(Protocol):
    """A source of events: a live run, or a log. Events are not pushed: the consumer takes them when it is ready."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin. `wake` is called from any thread, often, whenever `take` has something new; it must not block."""

    def take(self) -> Sequence[Event]:
        """All events since the last call, in order; empty when there are none. Never blocks."""

    def close(self) -> None:
        """End the run or close the log. Returns when everything is saved; may be called twice."""
