"""The timeline: the state of a session after a sequence of events. Live screen, replay and export all read it.

Figures of each second are columns (arrays of doubles; NaN: not measured), so a day of them stays small and a chart is a slice.
A *cursor* is an index into the columns; panes draw from (timeline, cursor) and do not depend on where the events come from.
"""

from __future__ import annotations

from . import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import math
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from .columns import ENDPOINTS_MOST, Columns, EndpointColumns, EndpointKey, append, empty, percentile_column, row, ticks_of
from .events import (
    Answered,
    Command,
    Ended,
    EndpointTick,
    Event,
    Explained,
    FailureSignature,
    Header,
    LevelClosed,
    LevelOpened,
    Log,
    Mark,
    Note,
    PartState,
    Phase,
    Proposed,
    Reanalysed,
    Sample,
    StacksSampled,
    Sweep,
    Target,
    Telemetry,
    Verdict,
)
from .histogram import counts_between, percentiles_ms
from .level import Level
from .load import NO_LOAD, Load
from .requirements import Answer
from .stages import STAGES, LatencyKind, RequestLimits, Stage, recorded, request_limits_in, texts
from .sweep import Params

# -- The latency distribution of each second: counts by bucket on a logarithmic scale, and the p95 of each endpoint.
#
# A timeline does not keep the histograms of seconds. A live screen keeps their counts here (about 100 bytes a second), and 4
# bytes per endpoint; a replay reads a second of the log again when it is needed. Latencies are those of successful requests.

PER_DECADE = 24
LOWEST_MS = 0.01
DECADES = 8

EDGES_MS: NDArray[np.float64] = LOWEST_MS * 10.0 ** (np.arange(PER_DECADE * DECADES + 1) / PER_DECADE)
"""Edges of the buckets, shape (BUCKETS + 1,). Latencies beyond them count in the first and the last bucket."""

EDGES_US = 1000 * EDGES_MS
BUCKETS = EDGES_MS.size - 1


class LatencySeconds(Protocol):
    """The latency distribution of each second of a session."""

    def counts(self, tick: int, kind: LatencyKind = "total") -> NDArray[np.int64]:
        """Counts by bucket, shape (BUCKETS,), of the tick with this column index; zeros if it is not known."""

    def p95_ms(self, tick: int, endpoint: EndpointKey, kind: LatencyKind = "total") -> float:
        """p95 of one endpoint in that tick; NaN if it had no success, or is not known."""


class KeptLatencies:
    """The distributions of a running session, kept in memory."""

    def __init__(self) -> None:
        self._ticks = 0
        self._counts: dict[LatencyKind, list[bytes]] = {"total": []}
        self._p95_ms: dict[EndpointKey, dict[LatencyKind, array[float]]] = {}

    def add(self, sample: Sample) -> None:
        """Add the next tick."""
        for tick in sample.endpoints:
            kept = self._p95_ms.get((tick.method, tick.name))
            if kept is None and len(self._p95_ms) < ENDPOINTS_MOST:
                kept = self._p95_ms[tick.method, tick.name] = {}
            if kept is None:
                continue
            for kind in _kinds((tick,)):
                own = kept.setdefault(kind, array("f"))
                own.extend([math.nan] * (self._ticks - len(own)))
                own.append(_p95_ms(tick, kind))
        for kind in _kinds(sample.endpoints):
            counts = self._counts.setdefault(kind, [])
            counts.extend([b""] * (self._ticks - len(counts)))
            counts.append(_packed(sample, kind))
        self._ticks += 1

    def counts(self, tick: int, kind: LatencyKind = "total") -> NDArray[np.int64]:
        """As of `LatencySeconds`."""
        kept = self._counts.get(kind, ())
        return _unpacked(kept[tick] if 0 <= tick < len(kept) else b"")

    def p95_ms(self, tick: int, endpoint: EndpointKey, kind: LatencyKind = "total") -> float:
        """As of `LatencySeconds`."""
        kept = self._p95_ms.get(endpoint, {}).get(kind, ())
        return kept[tick] if 0 <= tick < len(kept) else math.nan


class ReadLatencies:
    """The distributions of a recording. `read` returns the sample of a tick; each is read and computed once."""

    def __init__(self, read: Callable[[int], Sample]) -> None:
        self._read = read
        self._known: dict[tuple[int, LatencyKind], bytes] = {}
        self._p95_ms: dict[tuple[int, EndpointKey, LatencyKind], float] = {}

    def counts(self, tick: int, kind: LatencyKind = "total") -> NDArray[np.int64]:
        """As of `LatencySeconds`."""
        found = self._known.get((tick, kind))
        if found is None:
            found = self._known[tick, kind] = _packed(self._read(tick), kind)
        return _unpacked(found)

    def p95_ms(self, tick: int, endpoint: EndpointKey, kind: LatencyKind = "total") -> float:
        """As of `LatencySeconds`."""
        found = self._p95_ms.get((tick, endpoint, kind))
        if found is None:
            of_it = (each for each in self._read(tick).endpoints if (each.method, each.name) == endpoint)
            found = self._p95_ms[tick, endpoint, kind] = next((_p95_ms(each, kind) for each in of_it), math.nan)
        return found


def _kinds(endpoints: Sequence[EndpointTick]) -> list[LatencyKind]:
    """The latencies that these have."""
    return ["total", *(stage for stage in STAGES if any(stage in each.stages for each in endpoints))]


def _p95_ms(tick: EndpointTick, kind: LatencyKind) -> float:
    text = recorded(tick, kind)
    (found,) = percentiles_ms([text] if text else [], (0.95,))
    return math.nan if found is None else found


def _packed(sample: Sample, kind: LatencyKind) -> bytes:
    """The buckets that are not empty: their numbers, one byte each, then their counts, four bytes each."""
    found = counts_between(texts(sample.endpoints, kind), EDGES_US)
    counts = found[1:-1].copy()
    counts[0] += found[0]
    counts[-1] += found[-1]
    filled = np.flatnonzero(counts)
    return filled.astype(np.uint8).tobytes() + counts[filled].astype("<u4").tobytes()


def _unpacked(packed: bytes) -> NDArray[np.int64]:
    counts = np.zeros(BUCKETS, np.int64)
    filled = len(packed) // 5
    counts[np.frombuffer(packed, np.uint8, filled)] = np.frombuffer(packed, "<u4", filled, filled)
    return counts


TAIL_S = 320
"""Latest seconds of the open level whose ticks are kept in full: the greatest delay with which a shift can be detected."""

LOG_LINES = 2_000
"""Latest lines kept for the log pane; the session log has all."""


class FailureCount:
    """Failures of one endpoint with one signature over the session."""

    def __init__(self, name: str, method: str, signature: FailureSignature, first_s: float) -> None:
        self.name, self.method, self.signature = name, method, signature
        self.count = 0
        self.first_s = self.last_s = first_s
        self.ticks, self.counts = array("Q"), array("Q")
        """Column indices of the ticks with such failures, and the count up to each. In a replay they include later times."""

    def add(self, tick: int, t_s: float, count: int) -> None:
        """Add the failures of one tick."""
        self.count += count
        self.last_s = t_s
        self.ticks.append(tick)
        self.counts.append(self.count)

    def until(self, ticks: int, times_s: Sequence[float]) -> FailureCount | None:
        """The failures of the first `ticks` ticks, which end at these times; None: there are none."""
        last = bisect_left(self.ticks, ticks) - 1
        if last < 0:
            return None
        found = FailureCount(self.name, self.method, self.signature, self.first_s)
        found.count, found.last_s = self.counts[last], times_s[self.ticks[last]]
        found.ticks, found.counts = self.ticks, self.counts
        return found

    def at(self, tick: int) -> int:
        """Failures in this tick."""
        place = bisect_left(self.ticks, tick)
        if place == len(self.ticks) or self.ticks[place] != tick:
            return 0
        return self.counts[place] - (self.counts[place - 1] if place else 0)

    def between(self, first: int, last: int) -> int:
        """Failures in the ticks from `first` up to `last`, both included."""
        begin, end = bisect_left(self.ticks, first), bisect_right(self.ticks, last)
        return (self.counts[end - 1] if end else 0) - (self.counts[begin - 1] if begin else 0)


class Timeline:
    """The state of a session: `apply` each event in order, and read the other members."""

    def __init__(self, events: Iterable[Event] = (), *, seconds_of: Timeline | None = None) -> None:
        """`seconds_of`: a timeline that gets the same events before this one, in any thread: its columns serve both."""
        self.header: Header | None = None
        self.applied = 0
        """Number of events applied: as long as it stays, so does all that is drawn from this timeline."""
        self.ticks = 0
        self._has_own_columns = seconds_of is None
        self.columns: Columns = empty() if seconds_of is None else seconds_of.columns
        """Columns by name, of length `ticks`. Those of another timeline are longer, with values of later times: read only up to
        the cursor, and slices of them, for they cannot grow while a buffer is in use."""
        self.endpoint_columns: EndpointColumns = EndpointColumns() if seconds_of is None else seconds_of.endpoint_columns
        """Columns of each endpoint; those of another timeline are longer, too."""
        self.levels: list[Level] = []
        self._seconds: dict[tuple[int, bool], list[int]] = {}
        """Cached results of `seconds_of` for closed levels, by level index and `settled`: analysis needs them often."""
        self.marks: dict[str, Mark] = {}
        """The latest revision of each mark by key, including retracted marks."""
        self.verdicts: dict[int, Verdict] = {}
        """The latest verdict on capacity by epoch; empty if no detector has run."""
        self.journal: list[Mark | Note | Target | Command] = []
        self.failures: dict[tuple[str, str, FailureSignature], FailureCount] = {}
        self.examples: dict[FailureSignature, str] = {}
        """Full text of one failure by signature, if it contains more than the signature."""
        self._lines: deque[Log] = deque(maxlen=LOG_LINES)
        self.log: Sequence[Log] = self._lines
        self.broken: Log | None = None
        """The latest line which reports that recording itself failed."""
        self.proposed: Proposed | None = None
        """The latest proposal of a next step; None in logs that have none."""
        self.answered: Answered | None = None
        """The latest answers to what is required of the service; None: nothing is."""
        self.explained: dict[int, Explained] = {}
        """What experiments have shown, by epoch."""
        self.stacks: list[StacksSampled] = []
        """In the order in which they were sampled."""
        self.telemetry: dict[int, Telemetry] = {}
        """What the service's own log and metrics did at the bend of each epoch's curve."""
        self.target: Target | None = None
        self.parts: dict[str, PartState] = {}
        """The latest state of each watched part, by name."""
        self.step_size = 1
        self.last: Sample | None = None
        self.ended: Ended | None = None
        self.sweep: Sweep | None = None
        """Set if the session explores several settings of the target."""
        self.reanalysed: Reanalysed | None = None
        """Set if the marks come from a reanalysis instead of the recording."""
        self.last_s = 0.0
        """Time of the latest event."""
        self.latency_seconds: LatencySeconds | None = None
        """The latency distribution of each second; None: it is not kept."""
        self._stages: tuple[tuple[int, int], tuple[Stage, ...]] = (0, 0), ()
        """Of `stages`, as of so many events and ticks: each pane asks, and to look through a day takes 0.3 ms."""
        self._tail: deque[Sample] = deque(maxlen=TAIL_S)
        for event in events:
            self.apply(event)

    def __len__(self) -> int:
        return self.ticks

    @property
    def limits(self) -> RequestLimits | None:
        """The limits on a single request that decide which successes are goodput; None: all are."""
        return request_limits_in(self.header.profile) if self.header is not None else None

    @property
    def level(self) -> Level | None:
        """The latest level."""
        return self.levels[-1] if self.levels else None

    def is_before_load(self, event: Event) -> bool:
        """Whether it was recorded before the first level began."""
        return not self.levels or event.t_s <= self.levels[0].opened.t_s

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the latest epoch that has one."""
        return self.verdicts[max(self.verdicts)] if self.verdicts else None

    @property
    def current_verdict(self) -> Verdict | None:
        """The verdict of the latest level's epoch; None if it has none yet."""
        return self.verdicts.get(self.levels[-1].opened.epoch) if self.levels else None

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The latest answers to what is required of the service, in the order in which it was asked; empty: nothing is."""
        return self.answered.answers if self.answered is not None else ()

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Stages of requests that some second so far, or a closed level, has; empty without streams."""
        if self._stages[0] != (self.applied, self.ticks):
            closed = {stage for level in self.levels if level.closed is not None for stage in level.closed.figures.stages}
            found = (stage for stage in STAGES if stage in closed or self._has(percentile_column(stage, "p50")))
            self._stages = (self.applied, self.ticks), tuple(found)
        return self._stages[1]

    def _has(self, name: str) -> bool:
        """Whether some second has a value of this column."""
        return not np.isnan(np.asarray(self.columns[name][: self.ticks])).all()

    @property
    def wanted(self) -> int:
        """The requested number of users."""
        return self.levels[-1].users if self.levels else 0

    @property
    def load(self) -> Load:
        """The requested load, or the last of a ramp."""
        return self.levels[-1].load if self.levels else NO_LOAD

    @property
    def phase(self) -> Phase | None:
        """The latest level's phase; None before the first level."""
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
        """Apply the next event."""
        self.applied += 1
        self.last_s = max(self.last_s, event.t_s)
        match event:
            case Sample():
                self._sample(event)
            case LevelOpened():
                self._open(event)
            case LevelClosed():
                level = self._level(event.index)
                if level is not None:
                    level.close(event)
            case Mark() | Note() | Command() | Target():
                self._add_to_journal(event)
            case Log():
                self._lines.append(event)
                if (event.source, event.level) == ("capexplorer", "critical"):
                    self.broken = event
            case Verdict() | Explained() | Telemetry():
                self._store_of_epoch(event)
            case _:
                self._store(event)

    def _store_of_epoch(self, event: Verdict | Explained | Telemetry) -> None:
        match event:
            case Verdict():
                self.verdicts[event.epoch] = event
            case Explained():
                self.explained[event.epoch] = event
            case Telemetry():
                self.telemetry[event.epoch] = event

    def _add_to_journal(self, event: Mark | Note | Command | Target) -> None:
        self.journal.append(event)
        match event:
            case Mark() if event.key not in self.marks or self.marks[event.key].revision <= event.revision:
                self.marks[event.key] = event
            case Command(name="step"):
                self.step_size = int(event.args.get("step") or 1)
            case Target():
                self.target = event

    def _store(self, event: Event) -> None:
        """Store an event that is about the whole session."""
        match event:
            case Header():
                self.header = event
            case PartState():
                self._store_part(event)
            case Ended():
                self.ended = event
            case Proposed():
                self.proposed = event
            case Answered():
                self.answered = event
            case StacksSampled():
                self.stacks.append(event)
            case Sweep():
                self.sweep = event
            case Reanalysed():
                self.reanalysed = event

    def _store_part(self, part: PartState) -> None:
        """Store the state of a part; one that can no longer be read keeps the facts of its last state."""
        before = self.parts.get(part.name)
        if part.state == "unread" and before is not None:
            part = msgspec.structs.replace(before, t_s=part.t_s, state=part.state, reason=part.reason)
        self.parts[part.name] = part

    def _level(self, index: int) -> Level | None:
        """The level with this index; None if its event is missing in the log."""
        return next((level for level in reversed(self.levels) if level.opened.index == index), None)

    def _open(self, opened: LevelOpened) -> None:
        self._seconds.clear()
        if opened.since_s is None:
            self._tail.clear()
            self.levels.append(Level(opened, len(self), columns=self.columns))
            return
        level, samples = Level(opened, self.index_at(opened.since_s) + 1, len(self), self.columns), self.since(opened.since_s)
        for tick, sample in enumerate(samples, len(self) - len(samples)):
            level.add(sample, tick)
        self.levels.append(level)

    def since(self, t_s: float) -> list[Sample]:
        """Ticks of the open level that ended after `t_s`, within the last TAIL_S; none in a replay."""
        return [sample for sample in self._tail if sample.t_s > t_s]

    def level_at(self, tick: int) -> Level | None:
        """The level of the tick with this column index; None before the first level."""
        begun = bisect_right(self.levels, tick, key=lambda level: level.first_index)
        level = self.levels[begun - 1] if begun else None
        if level is None or tick < level.opened_index:
            return level
        return self._level(int(self.columns["level"][tick]))

    def seconds_of(self, level: Level, *, settled: bool = True) -> list[int]:
        """Column indices of a level's ticks, all or only settled ones. Do not change the list: it is cached."""
        index = level.opened.index
        ticks: list[int] | None = self._seconds.get((index, settled))
        if ticks is not None:
            return ticks
        ticks = ticks_of(self.columns, index, level.first_index, self._end_of(level), level.opened_index, settled=settled)
        if level.closed is not None and level is not self.levels[-1]:
            self._seconds[index, settled] = ticks
        return ticks

    def _end_of(self, level: Level) -> int:
        """Column index at which the next level's ticks begin."""
        later = (other.first_index for other in self.levels if other.opened.index > level.opened.index)
        return min((first for first in later if first >= level.first_index), default=self.ticks)

    def _sample(self, sample: Sample) -> None:
        self.last = sample
        self._tail.append(sample)
        if self._has_own_columns:
            append(self.columns, row(sample))
            self.endpoint_columns.add(sample)
        level = self._level(sample.level)
        if level is not None:
            level.add(sample, self.ticks)
        self.count_failures(sample, self.ticks)
        self.ticks += 1

    def count_failures(self, sample: Sample, tick: int) -> None:
        """Add the failures of the tick with this column index."""
        for failure in sample.failures:
            key = (failure.name, failure.method, failure.signature)
            count = self.failures.get(key)
            if count is None:
                count = self.failures[key] = FailureCount(*key, first_s=sample.t_s)
            count.add(tick, sample.t_s, failure.count)
        for failure in (*sample.failures, *sample.retried):
            if failure.example:
                self.examples.setdefault(failure.signature, failure.example)


def pid_of(timeline: Timeline, epoch: int) -> int | None:
    """Process id of the epoch's latest target process; None if it is not known."""
    known = (entry.pid for entry in reversed(timeline.journal) if isinstance(entry, Target) and entry.epoch == epoch)
    return next((pid for pid in known if pid is not None), None)


def params_of(timeline: Timeline, epoch: int) -> Params:
    """The parameters of the target in an epoch: those of its first start. Later ones have the same, or those of an experiment."""
    starts = (entry for entry in timeline.journal if isinstance(entry, Target) and entry.epoch == epoch)
    known = next((each.params for each in starts if each.params), None)
    return known or (timeline.header.target.params if timeline.header is not None and epoch == 0 else {})


def version_of(timeline: Timeline, epoch: int = 0) -> str | None:
    """Version of the service: that of the header, else the one that it named when it became ready; None: not known."""
    if timeline.header is not None and timeline.header.target.version:
        return timeline.header.target.version
    ready = (entry.version for entry in timeline.journal if isinstance(entry, Target) and entry.epoch == epoch)
    return next((version for version in ready if version), None)
