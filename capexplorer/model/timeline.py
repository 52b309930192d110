"""The one fold: events to the state of a session. Live, replay and export all read this, and only this.

Per-second figures are columns (arrays of doubles; NaN: not measured) so that a day of them stays small and a chart is a slice.
A *cursor* is an index into the columns; panes draw from (timeline, cursor) and never ask where the events come from.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

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
    Reanalysed,
    Sample,
    Target,
    Unknown,
    Verdict,
)
from .levels import LevelFold, RampFold, second_values, total, unsettled_failures
from .readings import GeneratorReading, HostReading, PortsReading, TargetReading

COLUMNS = (
    "t_s", "duration_s", "level", "users", "wanted", "settled",
    "throughput_rps", "goodput_rps", "failures_rps",
    "p50_ms", "p95_ms", "p99_ms", "max_ms",
    "target_cpu_ratio", "target_rss_bytes", "target_fds", "target_fds_fullest", "target_fds_limit",
    "host_cpu_ratio", "host_memory_bytes", "load_average_1m", "received_bytes_per_s", "sent_bytes_per_s",
    "generator_cpu_ratio", "screen_cpu_ratio", "recorder_cpu_ratio", "loop_lag_p99_ms",
    "generator_rss_bytes", "generator_fds",
    "ports_used", "ports_capacity", "ports_time_wait", "ports_burn_rate_per_s", "ports_exhausted_in_s",
)  # fmt: skip

FOLD_COLUMNS = (
    "work", "waits", "wait_sum_s", "requests", "failures", "latency_sum_ms", "failure_latency_sum_ms",
    "generator_run_delay_ratio", "open_sockets", "disk_busy_ratio", "unsettled_failures",
    "app_backlog",
)  # fmt: skip
"""What a level's figures need beside those (`levels.SECOND_COLUMNS`): settled traffic, as counts and sums; and what only
detectors look at."""

TAIL_S = 320
"""Ticks of the open level that are kept whole: a shift is found at most so much later than it happened."""

LOG_LINES = 2_000
"""Lines kept for the log pane; the log on disk has all."""


Folded = tuple[LevelFold, RampFold | None]
"""A level's seconds so far, and those of a ramp."""


class Level:
    """A level as known so far."""

    def __init__(self, opened: LevelOpened, first_index: int, opened_index: int | None = None) -> None:
        self.opened = opened
        self.first_index = first_index
        """Column index of its first tick."""
        self.opened_index = first_index if opened_index is None else opened_index
        """Of the first tick after it opened: later than the first where a shift was found later than it happened."""
        self.closed: LevelClosed | None = None
        self._folded: Folded | None = (LevelFold(), RampFold() if opened.ramp else None)
        self._fold_again: Callable[[], Folded] | None = None
        self._figures: LevelFigures | None = None
        self._endpoints: tuple[LevelEndpoint, ...] | None = None

    def fold_when_asked(self, fold: Callable[[], Folded]) -> None:
        """Its seconds so far are what `fold` gives; called when a figure is asked for, if ever."""
        self._folded, self._fold_again, self._figures, self._endpoints = None, fold, None, None

    @property
    def fold(self) -> LevelFold | None:
        """Its seconds so far; None once it closed."""
        folded = self._seconds()
        return folded[0] if folded is not None else None

    def _seconds(self) -> Folded | None:
        if self._folded is None and self._fold_again is not None:
            self._folded, self._fold_again = self._fold_again(), None
        return self._folded

    @property
    def users(self) -> int:
        """The count that was wanted: the level's name."""
        return self.opened.users

    @property
    def started_s(self) -> float:
        """When its seconds began: where it opened, or the shift by which it did."""
        return self.opened.t_s if self.opened.since_s is None else self.opened.since_s

    @property
    def settled_s(self) -> float | None:
        """When it settled, seconds of the session."""
        if self.closed is not None:
            return self.closed.settled_s
        return self.fold.settled_s if self.fold else None

    @property
    def ended_s(self) -> float | None:
        """When it ended; None while it is open."""
        if self.closed is None:
            return None
        return self.closed.t_s if self.closed.ended_s is None else self.closed.ended_s

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
        if self._endpoints is None:
            assert self.fold is not None
            self._endpoints = self.fold.endpoint_figures()
        return self._endpoints

    @property
    def bins(self) -> tuple[LevelBin, ...]:
        """Of a ramp: its seconds by user count."""
        if self.closed is not None:
            return self.closed.bins
        folded = self._seconds()
        return folded[1].bins() if folded is not None and folded[1] is not None else ()

    def ending(self, t_s: float, ended_s: float | None = None, later: Sequence[Sample] = ()) -> LevelClosed:
        """The event of its end. `ended_s` and `later`: by a shift, and the ticks since then, which are another level's."""
        folded = self._seconds()
        assert folded is not None  # a level that is open has its fold
        fold, ramp = (folded[0].without(later) if later else folded[0]), folded[1]
        return LevelClosed(
            t_s=t_s,
            index=self.opened.index,
            users=self.opened.users,
            started_s=self.started_s,
            ended_s=ended_s,
            settled_s=fold.settled_s,
            figures=fold.figures(),
            endpoints=fold.endpoint_figures(with_histogram=True),
            bins=ramp.bins(with_histogram=True) if ramp is not None else (),
        )

    def add(self, sample: Sample) -> None:
        """Fold one tick; late ticks of a closed level are already in its figures."""
        folded = self._seconds()
        if folded is not None:
            self._figures = self._endpoints = None
            for fold in folded:
                if fold is not None:
                    fold.add(sample)

    def close(self, closed: LevelClosed) -> None:
        """Take the recorded figures; seconds need not be kept."""
        self.closed = closed
        self._folded = self._fold_again = self._figures = self._endpoints = None


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
        self.ticks = 0
        self.columns: dict[str, array[float]] = {name: array("d") for name in (*COLUMNS, *FOLD_COLUMNS)}
        """By name, `ticks` long; those of an earlier moment of a recording are shared, and go on: read up to the cursor."""
        self.levels: list[Level] = []
        self.marks: dict[str, Mark] = {}
        """Current revision of each mark by key, retracted ones included."""
        self.verdicts: dict[int, Verdict] = {}
        """What is known of capacity now, by epoch; empty where no detector has looked."""
        self.journal: list[Mark | Note | Target | Command] = []
        self.failures: dict[tuple[str, str, FailureSignature], FailureCount] = {}
        self.examples: dict[FailureSignature, str] = {}
        """One failure in full by signature, of whatever endpoint, where that says more than the signature."""
        self._lines: deque[Log] = deque(maxlen=LOG_LINES)
        self.log: Sequence[Log] = self._lines
        self.broken: Log | None = None
        """What went wrong with the recording itself, last."""
        self.target: Target | None = None
        self.step = 1
        self.last: Sample | None = None
        self.ended: Ended | None = None
        self.reanalysed: Reanalysed | None = None
        """Set when the marks are not those recorded, but found again later."""
        self.last_s = 0.0
        """Time of the latest event."""
        self._tail: deque[Sample] = deque(maxlen=TAIL_S)
        for event in events:
            self.apply(event)

    def __len__(self) -> int:
        return self.ticks

    @property
    def level(self) -> Level | None:
        """The latest level."""
        return self.levels[-1] if self.levels else None

    @property
    def verdict(self) -> Verdict | None:
        """Of the latest epoch that has one."""
        return self.verdicts[max(self.verdicts)] if self.verdicts else None

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
        if last is None or (last.level != self.levels[-1].opened.index and self.levels[-1].opened.since_s is None):
            return "spawning"
        return last.phase

    def index_at(self, t_s: float) -> int:
        """Column index of the last tick at or before `t_s`; -1 when there is none."""
        return bisect_right(self.columns["t_s"], t_s, 0, self.ticks) - 1

    def apply(self, event: Event) -> None:
        """Fold one event."""
        self.last_s = max(self.last_s, event.t_s)
        match event:
            case Sample():
                self._sample(event)
            case Header():
                self.header = event
            case LevelOpened():
                self._open(event)
            case LevelClosed():
                level = self._level(event.index)
                if level is not None:
                    level.close(event)
            case Mark():
                if event.key not in self.marks or self.marks[event.key].revision <= event.revision:
                    self.marks[event.key] = event
                self.journal.append(event)
            case Verdict():
                self.verdicts[event.epoch] = event
            case Note() | Command():
                self.journal.append(event)
                if isinstance(event, Command) and event.name == "step":
                    self.step = int(event.args.get("step") or 1)
            case Target():
                self.target = event
                self.journal.append(event)
            case Log():
                self._lines.append(event)
                if (event.source, event.level) == ("capexplorer", "critical"):
                    self.broken = event
            case Ended():
                self.ended = event
            case Reanalysed():
                self.reanalysed = event
            case Unknown():
                pass

    def _level(self, index: int) -> Level | None:
        """Levels are numbered from 0 in order, but a log may have lost lines: search from the end."""
        return next((level for level in reversed(self.levels) if level.opened.index == index), None)

    def _open(self, opened: LevelOpened) -> None:
        if opened.since_s is None:
            self._tail.clear()
            self.levels.append(Level(opened, len(self)))
            return
        level = Level(opened, self.index_at(opened.since_s) + 1, len(self))
        for sample in self.since(opened.since_s):
            level.add(sample)
        self.levels.append(level)

    def since(self, t_s: float) -> list[Sample]:
        """Ticks of the open level that ended after `t_s`, as far back as they are kept (TAIL_S); none in a replay."""
        return [sample for sample in self._tail if sample.t_s > t_s]

    def seconds_of(self, level: Level, *, settled: bool = True) -> list[int]:
        """Column indices of a level's ticks: those that make its figures, or all."""
        index, named, counts = level.opened.index, self.columns["level"], self.columns["settled"]
        ticks = []
        for tick in range(level.first_index, self._end_of(level)):
            own = tick < level.opened_index or named[tick] == index
            if own and (counts[tick] or not settled):
                ticks.append(tick)
        return ticks

    def _end_of(self, level: Level) -> int:
        """Column index at which the next level's ticks begin."""
        later = (other.first_index for other in self.levels if other.opened.index > level.opened.index)
        return min((first for first in later if first >= level.first_index), default=self.ticks)

    def _sample(self, sample: Sample) -> None:
        self.last = sample
        self._tail.append(sample)
        level = self._level(sample.level)
        if level is not None:
            level.add(sample)
        for column, value in zip(self.columns.values(), row(sample), strict=True):
            column.append(math.nan if value is None else value)
        self.ticks += 1
        for failure in sample.failures:
            key = (failure.name, failure.method, failure.signature)
            count = self.failures.get(key)
            if count is None:
                count = self.failures[key] = FailureCount(*key, first_s=sample.t_s)
            count.count += failure.count
            count.last_s = sample.t_s
        for failure in (*sample.failures, *sample.retried):
            if failure.example:
                self.examples.setdefault(failure.signature, failure.example)


def row(sample: Sample) -> tuple[float | None, ...]:
    """One tick by COLUMNS, then FOLD_COLUMNS. Rates count all requests, warm-up included: what the wire saw."""
    ticks, targets = sample.endpoints, sample.targets
    duration_s = sample.duration_s if sample.duration_s > 0 else math.nan  # a log may be corrupted
    generator, host, ports = sample.generator or _NO_GENERATOR, sample.host or _NO_HOST, sample.ports or _NO_PORTS
    _, _, work, waits, wait_sum_s, requests, failures, latency_sum_ms, failure_latency_sum_ms, *readings = second_values(sample)
    target_cpu, target_rss, host_cpu, load, generator_cpu, run_delay, lag, received, sent, sockets, disk_busy, used, capacity = (
        readings
    )
    return (
        sample.t_s,
        sample.duration_s,
        sample.level,
        sample.users,
        sample.wanted,
        float(sample.settled),
        sum([tick.requests + tick.warmup_requests for tick in ticks]) / duration_s,
        None if work is None else (work + sample.warmup_work) / duration_s,
        sum([tick.failures + tick.warmup_failures for tick in ticks]) / duration_s,
        sample.p50_ms,
        sample.p95_ms,
        sample.p99_ms,
        sample.max_ms,
        target_cpu,
        target_rss,
        total([target.fds for target in targets]),
        *_fullest(targets),
        host_cpu,
        host.memory_used_bytes,
        load,
        received,
        sent,
        generator_cpu,
        generator.screen_cpu_ratio,
        generator.recorder_cpu_ratio,
        lag,
        generator.rss_bytes,
        generator.fds,
        used,
        capacity,
        ports.time_wait,
        ports.burn_rate_per_s,
        ports.exhausted_in_s,
        work,
        waits,
        wait_sum_s,
        requests,
        failures,
        latency_sum_ms,
        failure_latency_sum_ms,
        run_delay,
        sockets,
        disk_busy,
        unsettled_failures(sample),
        backlog(sample.app),
    )


def backlog(app: Mapping[str, float]) -> float | None:
    """Work that the target took and has not finished, by its own metrics: what it queues and runs, or accepted less finished."""
    if "queued" in app:
        return app["queued"] + app.get("running", 0.0)
    if "accepted" in app and "finished" in app:
        return app["accepted"] - app["finished"] - app.get("failed", 0.0)
    return None


def _fullest(targets: Sequence[TargetReading]) -> tuple[float | None, float | None]:
    """Open files and their limit of the process that is nearest to it."""
    known = [(each.fds_fullest, each.fds_limit) for each in targets]
    if len(known) == 1:
        return known[0]
    both = [(fds, limit) for fds, limit in known if fds is not None and limit]
    return max(both, key=lambda each: each[0] / each[1], default=(None, None))


def column_values(sample: Sample) -> dict[str, float | None]:
    """One tick by COLUMNS, by name."""
    return dict(zip(COLUMNS, row(sample), strict=False))


_NO_GENERATOR, _NO_HOST, _NO_PORTS = GeneratorReading(), HostReading(), PortsReading()
