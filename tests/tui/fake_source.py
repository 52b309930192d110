"""A fake of the source from which a screen takes the events of a live run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from capexplorer.model.events import Event


class FakeSource:
    """An EventSource that delivers the events that a test passes to it, at the start or later by `send`."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self._waiting: deque[Event] = deque(events)
        self._wake: Callable[[], None] | None = None
        self.closed = False

    def start(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        if self._waiting:
            wake()

    def send(self, *events: Event) -> None:
        self._waiting.extend(events)
        if self._wake is not None:
            self._wake()

    def take(self) -> Sequence[Event]:
        taken = tuple(self._waiting)
        self._waiting.clear()
        return taken

    def close(self) -> None:
        self.closed = True
