"""Leaks: memory or file descriptors that grow while the number of users stays the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np

from ..model.catalogue import ENTRIES
from ..model.events import HostFacts, Mark
from ..model.findings import Leak
from ..model.timeline import Timeline, pid_of
from ..model.verdicts import CONFIDENCES, Confidence
from .growth import ConstantLoad, Trend, constant_loads, loaded_s, pieces, restarts_s, trend
from .statistics import FULL, Series, finite

# -- Which resources may leak, and which growth over which time is a leak.

MIB = float(1 << 20)


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
    GrowthThreshold(45, 64 * MIB, 1.0, from_start=True),
    GrowthThreshold(60, 8 * MIB, 0.10),
    GrowthThreshold(300, 4 * MIB, 0.05),
    GrowthThreshold(1_800, 2 * MIB, 0.02),
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
    host = _host(timeline)
    own = load.levels[-1].figures.readings.get("target.memory_limit_bytes")
    limit = own if kind.id == "memory_leak" else _float(host.cgroup_memory_bytes)
    if limit is not None:
        return limit, limit - now
    used = _latest(timeline, "host_memory_bytes")
    return _float(host.memory_bytes), None if used is None or host.memory_bytes is None else host.memory_bytes - used


def _latest(timeline: Timeline, name: str) -> float | None:
    """The latest measured value of a column within the last minute; None without one."""
    column = timeline.columns.get(name)
    recent = [] if column is None else column[max(0, timeline.ticks - 60) : timeline.ticks]
    return next((value for value in reversed(recent) if not math.isnan(value)), None)


def _host(timeline: Timeline) -> HostFacts:
    return timeline.header.host if timeline.header is not None else HostFacts()


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)


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
    for name in kind.columns:
        column = timeline.columns.get(name)
        if column is not None and any(not math.isnan(value) for value in column[max(0, timeline.ticks - 60) : timeline.ticks]):
            return column
    return None


# -- Leaks: memory or file descriptors that grow at constant load, with their rate and the time to the limit.
#
# Growth after a step of load or during warm-up is no leak: allocators, caches and pools fill up and stop growing. So only
# stretches at one user count, or one offered rate, are tested; growth must last (`growth.trend`), and the shorter the stretch,
# the larger it must be. Pure: the same timeline gives the same marks.


GENERATOR_HOURS = 8.0
"""Growth of the generator's own memory is marked where it is near its limit, or reaches it within so many hours: a day's columns
take 30 MB, which is no leak."""


def keys(epoch: int) -> frozenset[str]:
    """Keys of all marks that `marks` may make for an epoch."""
    return frozenset(f"leak:{kind.id}:epoch{epoch}" for kind in KINDS)


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
    """Whether to mark the growth: in the target always, in the generator only if its limit is near in time or in bytes."""
    limit, left = limit_of(timeline, kind, last.load, last.now)
    if kind.id != "generator_memory":
        return True
    soon = left is not None and left <= GENERATOR_HOURS * 3_600 * last.trend.per_s
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
    known = [(growth.trend.per_s, growth.load.throughput_rps) for growth in found]
    pairs = [(rate, throughput) for rate, throughput in known if throughput]
    throughputs = [throughput for _, throughput in pairs]
    if len(pairs) < 2 or max(throughputs) < 1.3 * min(throughputs):
        return None
    by_time = [math.log(rate) for rate, _ in pairs]
    by_request = [math.log(rate / throughput) for rate, throughput in pairs]
    return "requests" if np.std(by_request) < np.std(by_time) else "time"
