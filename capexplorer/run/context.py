"""What the parts of a run share: its options, the pump, the sink of all events, the lines of its log, how it ends.

Each event goes to the sink's own timeline, then to the log, then to a queue for the screen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, ParamSpec, Protocol

import msgspec

from .. import wording
from ..analysis.causes.cause_detector import CauseDetector
from ..analysis.telemetry.detector import ServiceTelemetry
from ..errors import LogWriteError
from ..load.bounded_keys import ENDPOINT_NAMES_MOST
from ..model import outside
from ..model.controls import Param
from ..model.events import By, Command, CommandName, Ended, Event, FailureSignature, FailureTick, LevelOpened, Log
from ..model.timeline import Timeline
from ..session.canonical import canonical
from ..session.writer import SessionWriter
from ..target.supervisor import Output
from .options import RunOptions
from .pump import Pump
from .run_outcome import RunOutcome

P = ParamSpec("P")


class LogTrouble(Protocol):
    """What follows when the log cannot be written. Called in the pump's thread."""

    def on_log_failure(self, error: LogWriteError) -> None:
        """Writing fails from now on. Called in the midst of an emit."""

    def on_log_recovery(self) -> None:
        """All events kept in memory have been written."""

    def on_log_made_again(self) -> None:
        """The log was removed, and has been written again."""


class EventSink:
    """Call `emit` in the pump's thread only, `take` in the thread that draws."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        """All events so far, as a reader of the log will see them."""
        self._causes: CauseDetector | None = CauseDetector()
        """Makes the marks of causes that an event leads to. They are emitted right after it, or before the event that ends the
        session.
        """
        self._telemetry: ServiceTelemetry | None = ServiceTelemetry()
        """Makes the event of what the service's own log and metrics did, after each verdict."""
        self._writer: SessionWriter | None = None
        self._trouble: LogTrouble | None = None
        self._wake: Callable[[], None] | None = None
        self._taken: deque[Event] = deque()
        self._made_again = 0

    # -- the reader

    def wake_by(self, wake: Callable[[], None]) -> None:
        """Call `wake` from now on whenever the reader should look."""
        self._wake = wake

    def wake(self) -> None:
        """Let the reader look: there are events to take, or the run has ended."""
        if self._wake is not None:
            self._wake()

    def take(self) -> list[Event]:
        """Everything emitted since the last call."""
        return [self._taken.popleft() for _ in range(len(self._taken))]

    # -- the log

    def open(self, writer: SessionWriter, trouble: LogTrouble) -> None:
        """Write all events from now on."""
        self._writer, self._trouble = writer, trouble

    @property
    def is_failing(self) -> bool:
        """Whether the log cannot be written now."""
        return self._writer is not None and self._writer.failure is not None

    def flush(self) -> None:
        """Write the tick's events to disk. A log that failed is retried."""
        writer, trouble = self._writer, self._trouble
        if writer is None or trouble is None:
            return
        if writer.failure is not None and writer.retry():
            trouble.on_log_recovery()
        self._guarded(writer.flush)
        if writer.made_again > self._made_again:
            self._made_again = writer.made_again
            trouble.on_log_made_again()

    def close(self) -> None:
        """Write what is left and close the log."""
        if self._writer is not None:
            self._guarded(self._writer.close)

    # -- events

    def emit(self, event: Event) -> None:
        """Emit one event. Log and screen get the same rounded, redacted value, so that a replay shows what was seen live."""
        event = canonical(event)
        marks = self._causes.process(event) if self._causes is not None else ()
        if isinstance(event, Ended):
            self._emit_all(marks)
            self._emit_telemetry(event)
            self._emit_one(event)
        else:
            self._emit_one(event)
            self._emit_all(marks)
            self._emit_telemetry(event)

    def judge_no_more(self) -> None:
        """Make no marks of causes, and tell nothing of telemetry, from now on: what does so may have the defect that ends the
        run."""
        self._causes = self._telemetry = None

    def _emit_telemetry(self, event: Event) -> None:
        if self._telemetry is not None:
            self._emit_all(self._telemetry.process(event, self.timeline))

    def _emit_all(self, events: Iterable[Event]) -> None:
        for event in events:
            self.emit(event)

    def _emit_one(self, event: Event) -> None:
        self.timeline.apply(event)
        if self._writer is not None:
            self._guarded(self._writer.write_canonical, event)
            if isinstance(event, Command | LevelOpened):  # attached screens read the log, and show at once what another one did
                self._guarded(self._writer.flush)
        self._taken.append(event)
        self.wake()

    def _guarded(self, write: Callable[P, None], *args: P.args, **named: P.kwargs) -> None:
        try:
            write(*args, **named)
        except LogWriteError as error:
            if self._trouble is not None:
                self._trouble.on_log_failure(error)


# -- run log -------------------------------------------------------------------------------------------------------------------
# Lines of the session's log pane: what target, workers, user code and capexplorer print, as `Log` events once a tick.


LINES_A_TICK = 200
FIRST_FAILURES_MOST = 60
"""Lines in a session about failures: later kinds are in the list of raw errors."""

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
        self._failed: set[FailureSignature] = set()
        """Signatures of which a failure was logged."""

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

    def add_failures(self, failures: Sequence[FailureTick]) -> None:
        """The first failure of each signature: `first failure: GET /items: 503: upstream pool exhausted`."""
        for failure in failures:
            if failure.signature not in self._failed and len(self._failed) < FIRST_FAILURES_MOST:
                self._failed.add(failure.signature)
                why = failure.example or wording.failure(failure.signature)
                self.add("capexplorer", "warning", f"first failure: {failure.method} {failure.name}: {why}")

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


class RunContext(msgspec.Struct, frozen=True):
    """The options of a run, and what all of its parts share. Made before any of them, and passed to each."""

    options: RunOptions
    pump: Pump
    sink: EventSink
    log: RunLog
    outcome: RunOutcome

    @classmethod
    def of(cls, options: RunOptions) -> RunContext:
        """That of a run which begins now."""
        sink = EventSink()
        return cls(options, Pump(), sink, RunLog(), RunOutcome(sink.wake))

    @property
    def timeline(self) -> Timeline:
        """All events so far."""
        return self.sink.timeline

    @property
    def epoch(self) -> int:
        """The target's epoch now: it begins with the first event of a restart with other parameters."""
        target = self.timeline.target
        return target.epoch if target is not None else 0

    def now_s(self) -> float:
        """Seconds of the session."""
        return self.pump.now_s()

    def emit(self, event: Event) -> None:
        """In the pump's thread: one event to the timeline, the log and the screen."""
        self.sink.emit(event)

    def command(self, name: CommandName, by: By, args: Mapping[str, Param | None]) -> None:
        """In the pump's thread: emit what was done, and by whom."""
        self.emit(Command(t_s=self.now_s(), name=name, by=by, args=dict(args)))

    def log_line(self, source: str, level: str, text: str) -> None:
        """From any thread: a line that was logged or printed."""
        self.pump.post(self.log.add, source, level, text)
