"""Where events leave the pump: folded once, for those who judge here; then the log; then those who watch. A failing disk ends the
load, never the record."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from ..errors import LogWriteError
from ..model.events import Ended, Event
from ..model.timeline import Timeline
from ..session.canonical import canonical
from ..session.writer import SessionWriter


class EventSink:
    """`emit` from the pump's thread only; `take` from whoever draws."""

    def __init__(self, on_failure: Callable[[LogWriteError], None], on_recovery: Callable[[], None] = lambda: None) -> None:
        self.writer: SessionWriter | None = None
        self.wake: Callable[[], None] = lambda: None
        self.watch: Callable[[Event], Iterable[Event]] = lambda event: ()
        """What follows from an event by itself: told right behind it; before the end, which stays last."""
        self.timeline = Timeline()
        """All that was emitted so far: what the log's readers will see."""
        self._taken: deque[Event] = deque()
        self._on_failure, self._on_recovery = on_failure, on_recovery

    def emit(self, event: Event) -> None:
        """To the log and to those who watch: the same value, so that what is seen live is what will be replayed."""
        event = canonical(event)
        following = self.watch(event)
        if isinstance(event, Ended):
            self._emit_all(following)
            self._tell(event)
        else:
            self._tell(event)
            self._emit_all(following)

    def _emit_all(self, events: Iterable[Event]) -> None:
        for event in events:
            self.emit(event)

    def _tell(self, event: Event) -> None:
        self.timeline.apply(event)
        self._guarded(lambda writer: writer.write(event))
        self.show(event)

    def show(self, event: Event) -> None:
        """To those who watch only: what can no longer be written."""
        self._taken.append(event)
        self.wake()

    def flush(self) -> None:
        """The tick's end. A log that failed is tried again: space may have come back."""
        if self.writer is not None and self.writer.failure is not None and self.writer.retry():
            self._on_recovery()
        self._guarded(lambda writer: writer.flush())

    def close(self) -> None:
        """Write what is left and close the log."""
        self._guarded(lambda writer: writer.close())

    def take(self) -> list[Event]:
        """Everything shown since the last call."""
        return [self._taken.popleft() for _ in range(len(self._taken))]

    def _guarded(self, act: Callable[[SessionWriter], None]) -> None:
        if self.writer is None:
            return
        try:
            act(self.writer)
        except LogWriteError as error:
            self._on_failure(error)
