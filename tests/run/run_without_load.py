"""A run without load: tests give the figures of each second, which become events of the log and the screen as in a real run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from kit.scenario import HEADER

from capexplorer.load.recorder import RecordedTick
from capexplorer.model.events import By, EndpointTick, Event, Mark, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.load import Users
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, TargetReading
from capexplorer.model.timeline import Timeline
from capexplorer.profile import StopRules
from capexplorer.run.context import EventSink
from capexplorer.run.live_levels import CurrentEpoch, LevelTracker, LiveMarks
from capexplorer.run.load_control import StopWatch
from capexplorer.session.writer import SessionWriter


class RunWithoutLoad:
    """Levels and seconds that a test gives become samples, marks and verdicts; the log is at `path`."""

    def __init__(self, path: Path, header: Event = HEADER, rules: StopRules | None = None) -> None:
        self.path, self.now_s = path, 0.0
        self.sink = EventSink(self._fail)
        self.sink.writer = SessionWriter(path)
        self.tracker = LevelTracker(self.timeline)
        self.marks = LiveMarks(self.timeline, self.sink.emit, lambda: self.now_s + 0.004, self._split)
        self.rules = StopWatch(rules or StopRules(), self.timeline)
        self.shown: list[Event] = []
        """All events that the screen has taken."""
        self.screen_timeline = Timeline()
        """The timeline of these events."""
        self.sink.emit(header)

    @property
    def timeline(self) -> Timeline:
        return self.sink.timeline

    def step(self, users: int, by: By = "user") -> None:
        """Open a level, whose users all run at once."""
        self.close_level()
        self.sink.emit(self.tracker.open(self.now_s, Users(users), 10.0, by))
        self.tracker.spawned(self.now_s)

    def close_level(self) -> None:
        """Close the open level, if there is one, and judge the levels so far."""
        closed = self.tracker.close(self.now_s)
        if closed is not None:
            self.sink.emit(closed)
            self.marks.judge()

    def add_second(
        self,
        goodput: int,
        latency_ms: float = 20.0,
        failures: int = 0,
        *,
        load: float = 0.5,
        app: dict[str, float] | None = None,
        target: TargetReading | None = None,
        neighbours: NeighboursReading | None = None,
        generator_cpu: float = 0.1,
    ) -> None:
        """A second of the open level.

        `goodput`: successes, each of `latency_ms`. `failures`: each of 1 ms. `load`: the load average. `app`: the target's own
        metrics. `neighbours`: other processes; their CPU is added to that of the machine.
        """
        began_s, self.now_s = self.now_s, self.now_s + 1.0
        opened = self.tracker.opened
        assert opened is not None
        users = opened.users
        others = (neighbours.cpu_ratio or 0.0) if neighbours is not None else 0.0
        histogram = LatencyHistogram()
        histogram.record_us([latency_ms * 1000] * goodput)
        tick = EndpointTick(
            name="/a", requests=goodput + failures, failures=failures, latency_sum_ms=goodput * latency_ms,
            failure_latency_sum_ms=1.0 * failures, latency=histogram.encode() if goodput else None,
        )  # fmt: skip
        counts = RecordedTick(
            t_s=self.now_s, duration_s=1.0, users=users, endpoints=(tick,), all_latency_sum_ms=goodput * latency_ms + failures
        )
        phase, settled = self.tracker.tick(began_s, self.now_s, counts, opened.load)
        self.sink.emit(
            Sample(
                t_s=self.now_s, duration_s=1.0, level=self.tracker.index, users=users, wanted=opened.users, phase=phase,
                settled=settled, endpoints=(tick,), work=float(goodput),
                host=HostReading(load_average_1m=load, cpu_ratio=0.5 + others),
                app=app or {}, targets=() if target is None else (target,), generator=GeneratorReading(cpu_ratio=generator_cpu),
                neighbours=neighbours,
            )
        )  # fmt: skip
        self.marks.split_at_shifts()
        epoch = CurrentEpoch(self.timeline)
        self.marks.ticked(epoch)
        for exceeded in self.rules.look(epoch):
            self.sink.emit(self.rules.mark(exceeded, self.now_s, None))

    def add_seconds(self, goodputs: Iterable[int], latency_ms: float = 20.0) -> None:
        """A second for each goodput."""
        for goodput in goodputs:
            self.add_second(goodput, latency_ms)

    def take(self) -> list[Event]:
        """The events since the last call, as a screen takes them."""
        events = self.sink.take()
        for event in events:
            self.screen_timeline.apply(event)
        self.shown += events
        return events

    def end(self) -> None:
        """Close the level, judge it, and close the log."""
        self.close_level()
        self.marks.end()
        self.take()
        self.sink.close()

    def marks_of(self, *kinds: str) -> list[Mark]:
        """Marks of these kinds so far, all revisions in order."""
        self.take()
        return [event for event in self.shown if isinstance(event, Mark) and event.kind in kinds]

    def _split(self, since_s: float, shifted: Literal["goodput", "latency"]) -> bool:
        parts = self.tracker.split(self.now_s, since_s, shifted)
        for event in parts or ():
            self.sink.emit(event)
        return parts is not None

    def _fail(self, error: Exception) -> None:
        raise error
