"""The one fold: events to the state of a session. Live, replay and export all read this, and only this.

Per-second figures are columns (arrays of doubles; NaN: not measured) so that a day of them stays small and a chart is a slice.
A *cursor* is an index into the columns; panes draw from (timeline, cursor) and never ask where the events come from.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable

from .events import (
    Command,
    Ended,
    Event,
    FailureSignature,
    Header,
    LevelBin,
    LevelClosed,
    LevelEndpoint,
    LevelFigures,
    LevelOpened,
    Log,
    Mark,
    Note,
    Phase,
    Sample,
    Target,
    Unknown,
)
from .levels import LevelFold, RampFold, total
from .readings import GeneratorReading, HostReading, PortsReading

COLUMNS = (
    "t_s", "duration_s", "level", "users", "wanted", "settled",
    "throughput_rps", "goodput_rps", "failures_rps",
    "p50_ms", "p95_ms", "p99_ms", "max_ms",
    "target_cpu_ratio", "target_rss_bytes", "target_fds",
    "host_cpu_ratio", "host_memory_bytes", "load_average_1m", "received_bytes_per_s", "sent_bytes_per_s",
    "generator_cpu_ratio", "screen_cpu_ratio", "recorder_cpu_ratio", "loop_lag_p99_ms",
    "ports_used", "ports_capacity", "ports_time_wait", "ports_burn_rate_per_s", "ports_exhausted_in_s",
)  # fmt: skip

LOG_LINES = 2_000
"""Lines kept for the log pane; the log on disk has all."""


class Level:
    """A level as known so far."""

    def __init__(self, opened: LevelOpened, first_index: int) -> None:
        self.opened = opened
        self.first_index = first_index
        """Column index of its first tick."""
        self.fold: LevelFold | None = LevelFold()
        self._ramp: RampFold | None = RampFold() if opened.ramp else None
        self.closed: LevelClosed | None = None
        self._figures: LevelFigures | None = None

    @property
    def users(self) -> int:
        """The count that was wanted: the level's name."""
        return self.opened.users

    @property
    def settled_s(self) -> float | None:
        """When it settled, seconds of the session."""
        if self.closed is not None:
            return self.closed.settled_s
        return self.fold.settled_s if self.fold else None

    @property
    def ended_s(self) -> float | None:
        """When it ended; None while it is open."""
        return self.closed.t_s if self.closed is not None else None

    @property
    def figures(self) -> LevelFigures:
        """Its figures: those recorded when it closed, else those so far."""
        if self.closed is not None:
            return self.closed.figures
        if self._figures is None:
            assert self.fold is not None  # a level that is open has its fold
            self._figures = self.fold.figures()
        return self._figures

    @property
    def endpoints(self) -> tuple[LevelEndpoint, ...]:
        """Per endpoint over its settled seconds."""
        if self.closed is not None:
            return self.closed.endpoints
        return self.fold.endpoint_figures() if self.fold else ()

    @property
    def bins(self) -> tuple[LevelBin, ...]:
        """Of a ramp: its seconds by user count."""
        if self.closed is not None:
            return self.closed.bins
        return self._ramp.bins() if self._ramp is not None else ()

    def add(self, sample: Sample) -> None:
        """Fold one tick; late ticks of a closed level are already in its figures."""
        if self.fold is not None:
            self.fold.add(sample)
            self._figures = None
            if self._ramp is not None:
                self._ramp.add(sample)

    def close(self, closed: LevelClosed) -> None:
        """Take the recorded figures; seconds need not be kept."""
        self.closed, self.fold, self._figures, self._ramp = closed, None, None, None


class FailureCount:
    """Failures of one endpoint with one signature over the session."""

    def __init__(self, name: str, method: str, signature: FailureSignature, first_s: float) -> None:
        self.name, self.method, self.signature = name, method, signature
        self.count = 0
        self.first_s = self.last_s = first_s


class Timeline:
    """Everything a screen or a report shows. `apply` each event in order; read the rest."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.header: Header | None = None
        self.columns: dict[str, array[float]] = {name: array("d") for name in COLUMNS}
        self.levels: list[Level] = []
        self.marks: dict[str, Mark] = {}
        """Current revision of each mark by key, retracted ones included."""
        self.journal: list[Mark | Note | Target | Command] = []
        self.failures: dict[tuple[str, str, FailureSignature], FailureCount] = {}
        self.log: deque[Log] = deque(maxlen=LOG_LINES)
        self.target: Target | None = None
        self.step = 1
        self.last: Sample | None = None
        self.ended: Ended | None = None
        self.last_s = 0.0
        """Time of the latest event."""
        for event in events:
            self.apply(event)

    def __len__(self) -> int:
        return len(self.columns["t_s"])

    @property
    def level(self) -> Level | None:
        """The latest level."""
        return self.levels[-1] if self.levels else None

    @property
    def wanted(self) -> int:
        """Users wanted now."""
        return self.levels[-1].users if self.levels else 0

    @property
    def phase(self) -> Phase | None:
        """Of the latest level; None before the first."""
        if not self.levels:
            return None
        last = self.last
        if last is None or last.level != self.levels[-1].opened.index:
            return "spawning"
        return last.phase

    def index_at(self, t_s: float) -> int:
        """Column index of the last tick at or before `t_s`; -1 when there is none."""
        return bisect_right(self.columns["t_s"], t_s) - 1

    def apply(self, event: Event) -> None:
        """Fold one event."""
        self.last_s = max(self.last_s, event.t_s)
        match event:
            case Sample():
                self._sample(event)
            case Header():
                self.header = event
            case LevelOpened():
                self.levels.append(Level(event, len(self)))
            case LevelClosed():
                level = self._level(event.index)
                if level is not None:
                    level.close(event)
            case Mark():
                if event.key not in self.marks or self.marks[event.key].revision <= event.revision:
                    self.marks[event.key] = event
                self.journal.append(event)
            case Note() | Command():
                self.journal.append(event)
                if isinstance(event, Command) and event.name == "step":
                    self.step = int(event.args.get("step") or 1)
            case Target():
                self.target = event
                self.journal.append(event)
            case Log():
                self.log.append(event)
            case Ended():
                self.ended = event
            case Unknown():
                pass

    def _level(self, index: int) -> Level | None:
        """Levels are numbered from 0 in order, but a log may have lost lines: search from the end."""
        return next((level for level in reversed(self.levels) if level.opened.index == index), None)

    def _sample(self, sample: Sample) -> None:
        self.last = sample
        level = self._level(sample.level)
        if level is not None:
            level.add(sample)
        for name, value in column_values(sample).items():
            self.columns[name].append(math.nan if value is None else value)
        for failure in sample.failures:
            key = (failure.name, failure.method, failure.signature)
            count = self.failures.get(key)
            if count is None:
                count = self.failures[key] = FailureCount(*key, first_s=sample.t_s)
            count.count += failure.count
            count.last_s = sample.t_s


def column_values(sample: Sample) -> dict[str, float | None]:
    """One tick as column values, in the order of COLUMNS. Rates count all requests, warm-up included: what the wire saw."""
    duration_s = sample.duration_s
    requests = sum(tick.requests + tick.warmup_requests for tick in sample.endpoints)
    failures = sum(tick.failures + tick.warmup_failures for tick in sample.endpoints)
    generator, host = sample.generator or GeneratorReading(), sample.host or HostReading()
    ports = sample.ports or PortsReading()
    return {
        "t_s": sample.t_s,
        "duration_s": duration_s,
        "level": sample.level,
        "users": sample.users,
        "wanted": sample.wanted,
        "settled": float(sample.settled),
        "throughput_rps": requests / duration_s,
        "goodput_rps": None if sample.work is None else (sample.work + sample.warmup_work) / duration_s,
        "failures_rps": failures / duration_s,
        "p50_ms": sample.p50_ms,
        "p95_ms": sample.p95_ms,
        "p99_ms": sample.p99_ms,
        "max_ms": sample.max_ms,
        "target_cpu_ratio": total(target.cpu_ratio for target in sample.targets),
        "target_rss_bytes": total(target.rss_bytes for target in sample.targets),
        "target_fds": total(target.fds for target in sample.targets),
        "host_cpu_ratio": host.cpu_ratio,
        "host_memory_bytes": host.memory_used_bytes,
        "load_average_1m": host.load_average_1m,
        "received_bytes_per_s": host.received_bytes_per_s,
        "sent_bytes_per_s": host.sent_bytes_per_s,
        "generator_cpu_ratio": generator.cpu_ratio,
        "screen_cpu_ratio": generator.screen_cpu_ratio,
        "recorder_cpu_ratio": generator.recorder_cpu_ratio,
        "loop_lag_p99_ms": generator.loop_lag_p99_ms,
        "ports_used": ports.used,
        "ports_capacity": ports.capacity,
        "ports_time_wait": ports.time_wait,
        "ports_burn_rate_per_s": ports.burn_rate_per_s,
        "ports_exhausted_in_s": ports.exhausted_in_s,
    }
