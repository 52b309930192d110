"""Leaks: memory or file descriptors that grow while the load stays the same, with their rate and the time to the limit.

Growth after a step of load or during warm-up is no leak: allocators, caches and pools fill up and stop growing. So only
stretches at one user count, or one offered rate, are tested; growth must last, and be the larger, the shorter the stretch is.
Pure: the same timeline gives the same marks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

import msgspec
import numpy as np

from ..model.catalogue import ENTRIES
from ..model.events import HostFacts, Mark, Target
from ..model.findings import Leak
from ..model.level import Level
from ..model.timeline import Timeline, pid_of
from ..model.verdicts import CONFIDENCES, Confidence
from .statistics import FULL, MOSTLY, Series, correlation_of, finite

# -- Stretches of constant load: settled seconds at one user count, or one offered rate, in one target process.


class ConstantLoad(msgspec.Struct, frozen=True):
    """Consecutive levels with the same user count, or the same offered rate."""

    levels: tuple[Level, ...]

    @property
    def seconds(self) -> float:
        """Settled seconds so far."""
        return math.fsum(level.figures.settled_seconds for level in self.levels)

    @property
    def throughput_rps(self) -> float | None:
        """Requests a second over settled seconds; None without one."""
        requests = sum(level.figures.requests for level in self.levels)
        return requests / self.seconds if self.seconds else None

    def ticks(self, timeline: Timeline) -> list[int]:
        """Column indices of its settled seconds."""
        return [tick for level in self.levels for tick in timeline.seconds_of(level)]


def constant_loads(timeline: Timeline, epoch: int) -> Iterator[ConstantLoad]:
    """Stretches of one epoch, in the order they ran. A restart of the target ends a stretch."""
    starts = restarts_s(timeline)
    own = [level for level in timeline.levels if level.opened.epoch == epoch and not level.opened.ramp]
    for _, group in groupby(own, key=lambda each: (each.load, sum(t <= each.started_s for t in starts))):
        load = ConstantLoad(tuple(group))
        if load.levels[0].has_load and load.seconds:
            yield load


def pieces(values: Series, limit: float | None) -> Iterator[tuple[int, int]]:
    """Index ranges [start, end) of `values` that may be tested as one: cut where the limit is near or the process changed."""
    start, peak = 0, -math.inf
    for index, value in enumerate(values.tolist()):
        if math.isnan(value):
            continue
        stopped = limit is not None and value >= FULL * limit
        if value < MOSTLY * peak or stopped:
            if index > start:
                yield start, index
            start, peak = index + (1 if stopped else 0), -math.inf
        peak = max(peak, value)
    if start < len(values):
        yield start, len(values)


def loaded_s(timeline: Timeline, level: Level) -> float:
    """When the target process of this level first had load, in seconds of the session."""
    since_s = max((t for t in restarts_s(timeline) if t <= level.started_s), default=0.0)
    loaded = (each.started_s for each in timeline.levels if each.has_load and each.started_s >= since_s)
    return min(loaded, default=level.started_s)


def restarts_s(timeline: Timeline) -> list[float]:
    """Each start of the target, the first one included, in seconds of the session."""
    return [entry.t_s for entry in timeline.journal if isinstance(entry, Target) and entry.state == "starting"]


# -- How fast a value grows while the load stays the same: a robust slope with its interval, and whether the growth lasts.
#
# The slope is that of Theil-Sen (Sen 1968) over medians of short stretches, so single spikes do not change it. Its interval
# allows for correlated errors, since memory and queues drift. A warm-up grows too, but more and more slowly: growth lasts only if
# every quarter has its share of it and the second half grows nearly as much as the first.

STRETCHES = 48
"""Number of stretches whose medians are compared (1,128 pairs, 0.1 ms); divisible by four."""

ERRORS = 3.0
"""Half-width of the interval in standard errors; as many as three because a growing window is tested many times."""

SECOND_HALF_LEAST = 0.80
"""Least slope of the second half, as a share of that of the first. An exponential approach to a limit passes only if its time
constant is over 2.2 windows."""

SCATTER_MOST = 0.67
"""Greatest spread of single values around the line (5th to 95th percentile), as a share of the growth. Where stretches are nearly
as long as the period of a garbage collector, its saw-tooth looks like a slope; the spread shows that it is none."""


class Trend(msgspec.Struct, frozen=True):
    """A slope over a window of time, in the unit of the values."""

    per_s: float
    """The slope."""
    low_per_s: float
    high_per_s: float
    """Bounds of the slope, ERRORS standard errors away."""
    seconds: float
    """Length of the window."""
    start: float
    """Value of the line at the start of the window."""
    lasting: bool
    """Whether growth is spread over the window: neither a single step nor an approach to a limit."""
    scatter: float
    """Spread of single values around the line, from the 5th to the 95th percentile."""

    @property
    def growth(self) -> float:
        """Growth over the window by the slope."""
        return self.per_s * self.seconds

    @property
    def significant(self) -> bool:
        """Whether it grows by its lower bound, the growth lasts, and values do not scatter too much."""
        return self.low_per_s > 0 and self.lasting and self.scatter <= SCATTER_MOST * self.growth


def trend(times_s: Series, values: Series) -> Trend | None:
    """The trend of values, shape (n,), at ascending times; NaN: not measured. None if too few were measured."""
    known = ~np.isnan(values)
    times, levels = times_s[known], values[known]
    count = min(STRETCHES, len(times)) // 4 * 4
    if count < STRETCHES // 4:
        return None
    edges = np.linspace(0, len(times), count + 1).astype(int)
    at = np.array([times[start:end].mean() for start, end in zip(edges, edges[1:], strict=False)])
    middle = np.array([np.median(levels[start:end]) for start, end in zip(edges, edges[1:], strict=False)])
    per_s = _slope(at, middle)
    left = middle - per_s * at
    error = ERRORS * _slope_error(at, left - left.mean())
    seconds = float(times[-1] - times[0])
    start = float(np.median(left) + per_s * times[0])
    edge_low, edge_high = np.percentile(levels - per_s * times, (5, 95))
    return Trend(per_s, per_s - error, per_s + error, seconds, start, _lasts(at, middle, per_s), float(edge_high - edge_low))


def _slope(at: Series, middle: Series) -> float:
    """The median slope of all pairs."""
    first, second = np.triu_indices(len(at), 1)
    return float(np.median((middle[second] - middle[first]) / (at[second] - at[first])))


def _slope_error(at: Series, residual: Series) -> float:
    """Standard error of a slope whose residuals are an AR(1) (with Kendall's correction of the bias)."""
    squares = float(residual @ residual)
    if squares <= 0:
        return 0.0
    correlation = correlation_of(residual, squares)
    away = at - at.mean()
    return math.sqrt(squares / (len(residual) - 2) / float(away @ away) * (1 + correlation) / (1 - correlation))


def _lasts(at: Series, middle: Series, per_s: float) -> bool:
    """Whether growth is spread over the window, by the slope of each quarter and of each half."""
    if per_s <= 0:
        return False
    quarters, (first, second) = (list(map(_slope, np.split(at, count), np.split(middle, count))) for count in (4, 2))
    return min(quarters) >= MOSTLY * per_s and second >= SECOND_HALF_LEAST * first


# -- Which resources may leak, and which growth over which time is a leak.


class GrowthThreshold(msgspec.Struct, frozen=True):
    """Least growth over a stretch of at least `seconds`: `growth` in the unit of its kind, and `share` of the value at its
    start.
    """

    seconds: float
    growth: float
    share: float
    from_start: bool = False
    """Applies also while the target warms up."""


class LeakKind(msgspec.Struct, frozen=True):
    """A resource that may leak. `thresholds` ascend by length."""

    id: str
    columns: tuple[str, ...]
    """Candidates; the first that was measured is used."""
    unit: Literal["bytes", "fds"]
    thresholds: tuple[GrowthThreshold, ...]
    confident_s: tuple[float, float]
    """Lengths of a stretch, in seconds, from which confidence is medium, and high."""
    shared: str | None = None
    """A column whose growth is subtracted: every connection takes a descriptor at both ends, so users who open a second
    connection make the target's count grow too."""


MEMORY = (
    GrowthThreshold(45, 64 << 20, 1.0, from_start=True),
    GrowthThreshold(60, 8 << 20, 0.10),
    GrowthThreshold(300, 4 << 20, 0.05),
    GrowthThreshold(1_800, 2 << 20, 0.02),
)
"""The first threshold finds memory that doubles within a minute, before the kernel kills the process. The others are many times
the growth of healthy services after warm-up: the mixed target, of 34 MB, grew by 0.6 MB in two minutes and seven levels
(measured)."""

FDS = (GrowthThreshold(30, 20, 0.10, from_start=True), GrowthThreshold(120, 12, 0.05), GrowthThreshold(600, 8, 0.02))
"""Growth in descriptors. Their count stays constant at one user count, so small growth is enough: a leak of two a second is found
after 30 s."""

KINDS = (
    LeakKind("memory_leak", ("target_rss_bytes",), "bytes", MEMORY, (300.0, 1_800.0)),
    LeakKind("fd_leak", ("target_fds_fullest", "target_fds"), "fds", FDS, (60.0, 300.0), shared="generator_fds"),
    LeakKind("generator_memory", ("generator_rss_bytes",), "bytes", MEMORY[1:], (300.0, 1_800.0)),
)


# -- The limit of a resource that leaks, and how much is left of it.


def descriptor_limit(timeline: Timeline, kind: LeakKind) -> float | None:
    """Number of descriptors that the target may have open; None for other resources, or if not measured."""
    return _latest(timeline, "target_fds_limit") if kind.unit == "fds" else None


def limit_of(timeline: Timeline, kind: LeakKind, load: ConstantLoad, now: float) -> tuple[float | None, float | None]:
    """(limit, what is left of it), in bytes or descriptors; None: not known. `now`: the value at the end of `load`.

    The limit of descriptors is that of the process; the limit of memory is that of the cgroup, else of the machine.
    """
    if kind.unit == "fds":
        limit = descriptor_limit(timeline, kind)
        return limit, None if limit is None else limit - now
    host = timeline.header.host if timeline.header is not None else HostFacts()
    own = load.levels[-1].figures.readings.get("target.memory_limit_bytes")
    limit = own if kind.id == "memory_leak" else host.cgroup_memory_bytes
    if limit is not None:
        return float(limit), limit - now
    whole, used = host.memory_bytes, _latest(timeline, "host_memory_bytes")
    return None if whole is None else float(whole), None if used is None or whole is None else whole - used


def _latest(timeline: Timeline, name: str) -> float | None:
    """The latest measured value of a column within the last minute; None without one."""
    column = timeline.columns.get(name, ())
    return next((value for value in column[max(0, timeline.ticks - 60) : timeline.ticks][::-1] if not math.isnan(value)), None)


# -- Growth that lasts, within one stretch of constant load.

WARM_UP_S = 60.0
"""In the first seconds of load after a start of the target its memory always grows (imports, arenas, caches): there only very
large growth counts.
"""

TICK_ALLOWANCE_S = 1.5
"""A stretch of ticks may be this much shorter than a threshold, since ticks are not exactly one second long."""


class LoadGrowth(msgspec.Struct, frozen=True):
    """Growth found in one stretch of constant load."""

    load: ConstantLoad
    trend: Trend
    now: float
    """The value at the end of the stretch, in bytes or descriptors."""


def growth_in(timeline: Timeline, run: ConstantLoad, kind: LeakKind, column: Sequence[float]) -> LoadGrowth | None:
    """Lasting growth within a stretch of constant load; None if there is none.

    Each piece without an interruption is tested as a whole, then its last half, then its last quarter; the last piece with
    growth counts. `column`: values of the resource, one per tick.
    """
    ticks = run.ticks(timeline)
    times = np.array([timeline.columns["t_s"][tick] for tick in ticks])
    values = np.array([column[tick] for tick in ticks])
    own = values - _shared(timeline, kind, ticks)
    warm_s = loaded_s(timeline, run.levels[0]) + WARM_UP_S
    found = None
    for start, end in pieces(values, descriptor_limit(timeline, kind)):
        for share in (1.0, 0.5, 0.25):
            first = end - max(1, round(share * (end - start)))
            slope = lasting_growth(times[first:end], own[first:end], kind, warm_s)
            if slope is not None:
                found = LoadGrowth(run, slope, float(values[end - 1]))
                break
    return found


def _shared(timeline: Timeline, kind: LeakKind, ticks: Sequence[int]) -> Series:
    """Growth of the kind's shared column since the first of these ticks, one per tick; 0 if it was not measured."""
    column = timeline.columns.get(kind.shared) if kind.shared is not None else None
    if column is None:
        return np.zeros(len(ticks))
    other = np.array([column[tick] for tick in ticks])
    known = other[~np.isnan(other)]
    return np.nan_to_num(other - known[0]) if len(known) else np.zeros(len(ticks))


def lasting_growth(times: Series, values: Series, kind: LeakKind, warm_s: float) -> Trend | None:
    """The trend of these values if it lasts and is large enough for its length, else None.

    `warm_s`: when the target's warm-up ends. `times`, `values`: shape (ticks,), in seconds and in the unit of the resource.
    """
    for least in reversed(kind.thresholds):
        chosen = slice(0, None) if least.from_start else slice(int(np.searchsorted(times, warm_s)), None)
        window, part = times[chosen], values[chosen]
        if len(window) < 2 or window[-1] - window[0] < least.seconds - TICK_ALLOWANCE_S or not _spans(part, least.growth):
            continue
        found = trend(window, part)
        if found is not None and found.significant and found.growth >= max(least.growth, least.share * found.start):
            return found
    return None


def _spans(values: Series, least: float) -> bool:
    """Whether values differ by at least `least`. They rarely do, and computing a trend costs a hundred times as much."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and float(known.max() - known.min()) >= least


def measured_column(timeline: Timeline, kind: LeakKind) -> Sequence[float] | None:
    """Values of the resource, one per tick; None if none was measured within the last minute."""
    return next((timeline.columns[name] for name in kind.columns if _latest(timeline, name) is not None), None)


# -- The marks.

KnownGrowth = dict[tuple[object, ...], LoadGrowth | None]
"""Cached results by (kind, first level of the stretch, its seconds, limit): a long session has hundreds of stretches, and only
the last one still changes."""


def marks(timeline: Timeline, epoch: int, cache: KnownGrowth | None = None) -> Iterator[Mark]:
    """Leaks of an epoch: open, or closed if a later stretch of the same length shows no growth or the target was restarted.

    `cache`: the results of earlier calls, to which those of this call are added.
    """
    cache = {} if cache is None else cache
    loads = tuple(constant_loads(timeline, epoch))
    for kind in KINDS:
        column = measured_column(timeline, kind)
        if column is None or not loads:
            continue
        found = [growth for load in loads if (growth := _cached_growth(cache, timeline, load, kind, column)) is not None]
        if found and _is_marked(timeline, kind, found[-1]):
            yield _mark(timeline, epoch, kind, found, is_open=_is_open(timeline, found[-1], loads))


def _is_marked(timeline: Timeline, kind: LeakKind, last: LoadGrowth) -> bool:
    """Whether to mark the growth: in the target always, in the generator only if its limit is near in bytes, or at most eight
    hours away: a day's columns take 30 MB, which is no leak.
    """
    if kind.id != "generator_memory":
        return True
    limit, left = limit_of(timeline, kind, last.load, last.now)
    soon = left is not None and left <= 8 * 3_600 * last.trend.per_s
    return soon or (limit is not None and last.now >= FULL * limit)


def _cached_growth(
    cache: KnownGrowth, timeline: Timeline, load: ConstantLoad, kind: LeakKind, column: Sequence[float]
) -> LoadGrowth | None:
    key = (kind.id, load.levels[0].opened.index, load.seconds, descriptor_limit(timeline, kind))
    if key not in cache:
        cache[key] = growth_in(timeline, load, kind, column)
    return cache[key]


def _is_open(timeline: Timeline, last: LoadGrowth, loads: Sequence[ConstantLoad]) -> bool:
    """Whether the leak may go on: the target was not restarted since, and no later stretch as long is without growth."""
    since_s = last.load.levels[-1].started_s
    restarted = any(started_s > since_s for started_s in restarts_s(timeline))
    later = [load for load in loads if load.levels[0].started_s > since_s]
    return not restarted and all(load.seconds < last.trend.seconds for load in later)


def _mark(timeline: Timeline, epoch: int, kind: LeakKind, found: Sequence[LoadGrowth], *, is_open: bool) -> Mark:
    last = found[-1]
    level = found[0].load.levels[-1]
    return Mark(
        t_s=timeline.last_s if level.ended_s is None else level.ended_s,
        key=f"leak:{kind.id}:epoch{epoch}",
        state="open" if is_open else "closed",
        finding=_finding(timeline, epoch, kind, found),
        epoch=epoch,
        **last.load.levels[0].load.named,
        severity=ENTRIES[kind.id].severity,
        confidence=_confidence(kind, found),
    )


def _confidence(kind: LeakKind, found: Sequence[LoadGrowth]) -> Confidence:
    """By the length of the longest stretch with growth; one grade higher if a second stretch has it too."""
    seconds = max(growth.trend.seconds for growth in found)
    rank = sum(seconds >= least - TICK_ALLOWANCE_S for least in kind.confident_s) + (len(found) > 1)
    return CONFIDENCES[::-1][min(rank, 2)]


def _finding(timeline: Timeline, epoch: int, kind: LeakKind, found: Sequence[LoadGrowth]) -> Leak:
    """Rates per hour and per request, and the time to the limit at this rate."""
    last = found[-1]
    trend, throughput = last.trend, last.load.throughput_rps
    limit, left = limit_of(timeline, kind, last.load, last.now)
    pid = pid_of(timeline, epoch) if kind.id != "generator_memory" else None
    return Leak(
        name=kind.id,
        unit=kind.unit,
        growth_per_hour=trend.per_s * 3_600,
        growth_per_hour_low=finite(trend.low_per_s * 3_600),
        growth_per_hour_high=finite(trend.high_per_s * 3_600),
        growth_per_request=trend.per_s / throughput if throughput else None,
        explained_by=_explained_by(found),
        held_s=trend.seconds,
        now=last.now,
        readings={} if pid is None else {"pid": pid},
        limit=limit,
        limit_in_s=None if left is None else finite(max(0.0, left) / trend.per_s),
    )


def _explained_by(found: Sequence[LoadGrowth]) -> Literal["requests", "time"] | None:
    """Whether growth follows requests or time: known only from stretches with different throughput, else None."""
    pairs = [(growth.trend.per_s, rps) for growth in found if (rps := growth.load.throughput_rps)]
    if len(pairs) < 2 or max(rps for _, rps in pairs) < 1.3 * min(rps for _, rps in pairs):
        return None
    spread_by_time, spread_by_request = np.std(np.log([(rate, rate / rps) for rate, rps in pairs]), axis=0)
    return "requests" if spread_by_request < spread_by_time else "time"
