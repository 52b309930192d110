"""A run without load: tests give the figures of each second, which become events of the log and the screen as in a real run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kit.scenario import HEADER

from capexplorer.load.recorder import RecordedTick
from capexplorer.model.events import By, EndpointTick, Event, Mark, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.load import Users
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, TargetReading
from capexplorer.model.timeline import Timeline
from capexplorer.profile import Guards, StopRules
from capexplorer.run.live_levels import CurrentEpoch, LiveLevels
from capexplorer.run.load_control import StopWatch
from capexplorer.session.writer import SessionWriter

from .bare_context import Unfailing, VirtualPump, bare_context, requested_load


class RunWithoutLoad:
    """Levels and seconds that a test gives become samples, marks and verdicts; the log is at `path`."""

    def __init__(self, path: Path, header: Event = HEADER, rules: StopRules | None = None, *, max_users: int = 1_000) -> None:
        self.path, self.pump = path, VirtualPump()
        self.context = bare_context(self.pump, stop=rules or StopRules(), guards=Guards(max_users=max_users))
        self.sink, self.timeline = self.context.sink, self.context.timeline
        self.sink.open(SessionWriter(path), Unfailing())
        self.requested_load = requested_load(spawn_rate=100.0, is_open=True)
        self.levels = LiveLevels(self.context, self.requested_load)
        self.marks = self.levels.marks
        self.rules = StopWatch(rules or StopRules(), self.timeline)
        self.shown: list[Event] = []
        """All events that the screen has taken."""
        self.screen_timeline = Timeline()
        """The timeline of these events."""
        self.sink.emit(header)

    @property
    def now_s(self) -> float:
        return self.pump.seconds

    def step(self, users: int, by: By = "user") -> None:
        """Open a level, whose users all run at once."""
        self.requested_load.step(Users(users), by)
        self.levels.step(Users(users), by, 10.0)

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
        began_s = self.now_s
        self.pump.seconds += 1.0
        opened = self.levels.opened
        assert opened is not None
        self.levels.spawned(opened.t_s)
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
        phase, settled = self.levels.tick(began_s, self.now_s, counts)
        self.sink.emit(
            Sample(
                t_s=self.now_s, duration_s=1.0, level=self.levels.index, users=users, wanted=opened.users, phase=phase,
                settled=settled, endpoints=(tick,), work=float(goodput),
                host=HostReading(load_average_1m=load, cpu_ratio=0.5 + others),
                app=app or {}, targets=() if target is None else (target,), generator=GeneratorReading(cpu_ratio=generator_cpu),
                neighbours=neighbours,
            )
        )  # fmt: skip
        self.levels.split_at_shifts()
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
        self.levels.close()
        self.marks.end()
        self.take()
        self.sink.close()

    def marks_of(self, *kinds: str) -> list[Mark]:
        """Marks of these kinds so far, all revisions in order."""
        self.take()
        return [event for event in self.shown if isinstance(event, Mark) and event.kind in kinds]
