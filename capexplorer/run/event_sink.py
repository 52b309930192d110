"""The pump's output: each event goes to its own timeline, then to the log, then to a queue for the screen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from ..errors import LogWriteError
from ..model.events import Command, Ended, Event, LevelOpened
from ..model.timeline import Timeline
from ..session.canonical import canonical
from ..session.writer import SessionWriter


class EventSink:
    """Call `emit` in the pump's thread only, `take` in the thread that draws."""

    def __init__(
        self,
        on_failure: Callable[[LogWriteError], None],
        on_recovery: Callable[[], None] = lambda: None,
        on_made_again: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_made_again`: the log was removed, and has been written again."""
        self.writer: SessionWriter | None = None
        self.wake: Callable[[], None] = lambda: None
        self.marks_of_causes: Callable[[Event], Iterable[Event]] = lambda event: ()
        """The marks of causes that an event leads to (`CauseDetector`). They are emitted right after it, or before the event that
        ends the session.
        """
        self.timeline = Timeline()
        """All events so far, as a reader of the log will see them."""
        self._taken: deque[Event] = deque()
        self._on_failure, self._on_recovery, self._on_made_again = on_failure, on_recovery, on_made_again
        self._made_again = 0

    def emit(self, event: Event) -> None:
        """Emit one event. Log and screen get the same rounded, redacted value, so that a replay shows what was seen live."""
        event = canonical(event)
        marks = self.marks_of_causes(event)
        if isinstance(event, Ended):
            self._emit_all(marks)
            self._emit_one(event)
        else:
            self._emit_one(event)
            self._emit_all(marks)

    def _emit_all(self, events: Iterable[Event]) -> None:
        for event in events:
            self.emit(event)

    def _emit_one(self, event: Event) -> None:
        self.timeline.apply(event)
        self._guarded(lambda writer: writer.write_canonical(event))
        if isinstance(event, Command | LevelOpened):  # attached screens read the log, and show at once what another one did
            self._guarded(lambda writer: writer.flush())
        self._taken.append(event)
        self.wake()

    def flush(self) -> None:
        """Write the tick's events to disk. A log that failed is retried."""
        if self.writer is not None and self.writer.failure is not None and self.writer.retry():
            self._on_recovery()
        self._guarded(lambda writer: writer.flush())
        if self.writer is not None and self.writer.made_again > self._made_again:
            self._made_again = self.writer.made_again
            self._on_made_again()

    def close(self) -> None:
        """Write what is left and close the log."""
        self._guarded(lambda writer: writer.close())

    def take(self) -> list[Event]:
        """Everything emitted since the last call."""
        return [self._taken.popleft() for _ in range(len(self._taken))]

    def _guarded(self, act: Callable[[SessionWriter], None]) -> None:
        if self.writer is None:
            return
        try:
            act(self.writer)
        except LogWriteError as error:
            self._on_failure(error)
