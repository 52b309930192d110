"""The pump's output: each event goes to its own timeline, then to the log, then to a queue for the screen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Literal

from ..errors import LogWriteError
from ..load.bounded_keys import ENDPOINT_NAMES_MOST
from ..model import outside
from ..model.events import Command, Ended, Event, LevelOpened, Log
from ..model.timeline import Timeline
from ..session.canonical import canonical
from ..session.writer import SessionWriter
from ..target.supervisor import Output

# -- event sink ----------------------------------------------------------------------------------------------------------------
# The pump's output: each event goes to its own timeline, then to the log, then to a queue for the screen.


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


# -- run log -------------------------------------------------------------------------------------------------------------------
# Lines of the session's log pane: what target, workers, user code and capexplorer print, as `Log` events once a tick.


LINES_A_TICK = 200
_LEVELS: dict[str, Literal["debug", "info", "warning", "error", "critical"]] = {
    "debug": "debug", "info": "info", "warning": "warning", "error": "error", "critical": "critical",
}  # fmt: skip
_SOURCES: dict[str, Literal["stdout", "stderr", "locust", "target", "capexplorer"]] = {
    "stdout": "stdout", "stderr": "stderr", "locust": "locust", "target": "target", "capexplorer": "capexplorer",
}  # fmt: skip


class RunLog:
    """Takes lines with `add`; `drain` returns those of a tick. Equal lines become one with a count, and at most LINES_A_TICK are
    kept, since users may print without limit.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str, str], int] = {}
        self._left_out = 0
        self._grouping_logged = False

    def add(self, source: str, level: str, text: str) -> None:
        """One line."""
        key = (source, level, outside.text(text))
        if key in self._lines or len(self._lines) < LINES_A_TICK:
            self._lines[key] = self._lines.get(key, 0) + 1
        else:
            self._left_out += 1

    def add_output(self, report: Output) -> None:
        """Lines that the target has printed."""
        for line in report.lines:
            self.add("target", "info", line)
        if report.dropped:
            self.add("capexplorer", "warning", f"{report.dropped} lines of the target's output were left out")

    def add_grouping(self) -> None:
        """Endpoint names are grouped from now on; logged once a session."""
        if not self._grouping_logged:
            self._grouping_logged = True
            text = f"more than {ENDPOINT_NAMES_MOST} endpoint names: from here on, "
            text += "parts that look like ids are counted together as {id}"
            self.add("capexplorer", "warning", text)

    def drain(self, t_s: float) -> list[Log]:
        """The tick's lines in order of first occurrence."""
        logs = [
            Log(t_s=t_s, source=_SOURCES[source], level=_LEVELS.get(level, "info"), text=text, repeated=count)
            for (source, level, text), count in self._lines.items()
        ]
        if self._left_out:
            text = f"{self._left_out} more lines in this second were left out"
            logs.append(Log(t_s=t_s, source="capexplorer", level="warning", text=text))
        self._lines.clear()
        self._left_out = 0
        return logs
