"""Leaks: memory or file descriptors that grow at constant load, with their rate and the time to the limit.

Growth after a step of users is no leak, nor is a warm-up: allocators, caches and pools fill up and stop. So only stretches at one
user count are examined, growth must last (`trend`), and the shorter the stretch, the more must have grown. Pure: the same
timeline gives the same marks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...model.events import HostFacts, Mark
from ...model.findings import Leak
from ...model.grades import CONFIDENCES, Confidence
from ...model.timeline import Timeline
from ..causes import catalogue
from ..target_process import pid_of
from .constant_load import ConstantLoad, constant_loads, loaded_s, pieces, restarts_s
from .trend import Floats, Trend, trend

MIB = float(1 << 20)

WARM_UP_S = 60.0
"""Seconds of load after a start of the target in which memory always grows (imports, arenas, caches); only very large growth
counts.
"""

GENERATOR_NEAR_LIMIT = 0.90
"""Share of its limit from which the generator's own growth is marked."""
GENERATOR_HOURS = 8.0
"""It is marked as well if it reaches its limit within so many hours: a day's columns take 30 MB, which is no leak."""


@dataclass(frozen=True, slots=True)
class GrowthThreshold:
    """Least growth over a stretch of at least `seconds`: absolute, and as a share of the value at its start."""

    seconds: float
    growth: float
    share: float
    from_start: bool = False
    """Applies also while the target warms up."""


@dataclass(frozen=True, slots=True)
class LeakKind:
    """A resource that may leak. `thresholds` ascend by length."""

    id: str
    columns: tuple[str, ...]
    """Candidates; the first that was measured is used."""
    unit: Literal["bytes", "fds"]
    thresholds: tuple[GrowthThreshold, ...]
    sure_s: tuple[float, float]
    """Seconds from which confidence is medium, and high."""
    shared: str | None = None
    """A column whose growth is subtracted: every connection takes a descriptor at both ends, so users who open a second
    connection make the target's count grow too."""


MEMORY = (
    GrowthThreshold(45, 64 * MIB, 1.0, from_start=True),
    GrowthThreshold(60, 8 * MIB, 0.10),
    GrowthThreshold(300, 4 * MIB, 0.05),
    GrowthThreshold(1_800, 2 * MIB, 0.02),
)
"""The first finds memory that doubles within a minute before the kernel kills the process. The others are many times the growth
of warm healthy services: the mixed target, of 34 MB, grew by 0.6 MB in two minutes and seven levels (measured)."""

FDS = (GrowthThreshold(30, 20, 0.10, from_start=True), GrowthThreshold(120, 12, 0.05), GrowthThreshold(600, 8, 0.02))
"""Descriptor counts stay constant at one user count, so small growth is enough: a leak of two a second is found after 30 s."""

KINDS = (
    LeakKind("memory_leak", ("target_rss_bytes",), "bytes", MEMORY, (300.0, 1_800.0)),
    LeakKind("fd_leak", ("target_fds_fullest", "target_fds"), "fds", FDS, (60.0, 300.0), shared="generator_fds"),
    LeakKind("generator_memory", ("generator_rss_bytes",), "bytes", MEMORY[1:], (300.0, 1_800.0)),
)


@dataclass(frozen=True, slots=True)
class LoadGrowth:
    """Growth found in one stretch of constant load. `now`: the value at its end."""

    load: ConstantLoad
    trend: Trend
    now: float


def keys(epoch: int) -> frozenset[str]:
    """Of all marks that `marks` may make of an epoch."""
    return frozenset(f"leak:{kind.id}:epoch{epoch}" for kind in KINDS)


KnownGrowth = dict[tuple[object, ...], LoadGrowth | None]
"""Results by (kind, load, its seconds, limit): a long session has hundreds of stretches, and only the last one still changes."""


def marks(timeline: Timeline, epoch: int, known: KnownGrowth | None = None) -> Iterator[Mark]:
    """Leaks of an epoch: open, or closed if a later stretch as long shows no growth, or if the target was restarted.

    `known` caches results from one call to the next; it never changes them.
    """
    known = {} if known is None else known
    runs = tuple(constant_loads(timeline, epoch))
    for kind in KINDS:
        column = _column(timeline, kind)
        if column is None or not runs:
            continue
        found = [growth for run in runs if (growth := _known(known, timeline, run, kind, column)) is not None]
        if found and _matters(timeline, kind, found[-1]):
            yield _mark(timeline, epoch, kind, found, is_open=_is_open(timeline, found[-1], runs))


def _matters(timeline: Timeline, kind: LeakKind, last: LoadGrowth) -> bool:
    """Whether to mark it: a target's leak always, the generator's growth only if its limit is near in time or in bytes."""
    limit, left = _limit(timeline, kind, last)
    if kind.id != "generator_memory":
        return True
    soon = left is not None and left <= GENERATOR_HOURS * 3_600 * last.trend.per_s
    return soon or (limit is not None and last.now >= GENERATOR_NEAR_LIMIT * limit)


# -- finding growth


def _column(timeline: Timeline, kind: LeakKind) -> Sequence[float] | None:
    for name in kind.columns:
        column = timeline.columns.get(name)
        if column is not None and any(not math.isnan(value) for value in column[max(0, timeline.ticks - 60) : timeline.ticks]):
            return column
    return None


def _known(
    known: KnownGrowth, timeline: Timeline, run: ConstantLoad, kind: LeakKind, column: Sequence[float]
) -> LoadGrowth | None:
    asked = (kind.id, run.levels[0].opened.index, run.seconds, _limit_of_fds(timeline, kind))
    if asked not in known:
        known[asked] = _grows(timeline, run, kind, column)
    return known[asked]


def _grows(timeline: Timeline, run: ConstantLoad, kind: LeakKind, column: Sequence[float]) -> LoadGrowth | None:
    """Lasting growth in a constant load: of the whole, else of its last half or quarter, for each part without an
    interruption."""
    ticks = run.ticks(timeline)
    times = np.array([timeline.columns["t_s"][tick] for tick in ticks])
    values = np.array([column[tick] for tick in ticks])
    own = values - _shared(timeline, kind, ticks)
    warm_s = loaded_s(timeline, run.levels[0]) + WARM_UP_S
    found = None
    for start, end in pieces(values, _limit_of_fds(timeline, kind)):
        for share in (1.0, 0.5, 0.25):
            first = end - max(1, round(share * (end - start)))
            slope = lasting_growth(times[first:end], own[first:end], kind, warm_s)
            if slope is not None:
                found = LoadGrowth(run, slope, float(values[end - 1]))
                break
    return found


def _shared(timeline: Timeline, kind: LeakKind, ticks: Sequence[int]) -> Floats:
    """Growth of the shared column since the first of these ticks; 0 if it was not measured."""
    column = timeline.columns.get(kind.shared) if kind.shared is not None else None
    if column is None:
        return np.zeros(len(ticks))
    other = np.array([column[tick] for tick in ticks])
    known = other[~np.isnan(other)]
    return np.nan_to_num(other - known[0]) if len(known) else np.zeros(len(ticks))


def lasting_growth(times: Floats, values: Floats, kind: LeakKind, warm_s: float) -> Trend | None:
    """The trend of these values if it lasts and is large enough for its length, else None. `warm_s`: when the target is warm."""
    for least in reversed(kind.thresholds):
        chosen = slice(0, None) if least.from_start else slice(int(np.searchsorted(times, warm_s)), None)
        window, part = times[chosen], values[chosen]
        if len(window) < 2 or window[-1] - window[0] < least.seconds - 1.5 or not _spans(part, least.growth):
            continue
        found = trend(window, part)
        if found is not None and found.sure and found.growth >= max(least.growth, least.share * found.start):
            return found
    return None


def _spans(values: Floats, least: float) -> bool:
    """Whether values spread by at least `least`. Nearly always not, and computing a trend costs a hundred times as much."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and float(known.max() - known.min()) >= least


# -- the mark


def _is_open(timeline: Timeline, last: LoadGrowth, runs: Sequence[ConstantLoad]) -> bool:
    """Whether the target was not restarted since, and no later constant load of the same length is without growth."""
    since_s = last.load.levels[-1].started_s
    restarted = any(started_s > since_s for started_s in restarts_s(timeline))
    later = [run for run in runs if run.levels[0].started_s > since_s]
    return not restarted and all(run.seconds < last.trend.seconds for run in later)


def _mark(timeline: Timeline, epoch: int, kind: LeakKind, found: Sequence[LoadGrowth], *, is_open: bool) -> Mark:
    last = found[-1]
    level = found[0].load.levels[-1]
    return Mark(
        t_s=timeline.last_s if level.ended_s is None else level.ended_s,
        key=f"leak:{kind.id}:epoch{epoch}",
        state="open" if is_open else "closed",
        finding=_finding(timeline, epoch, kind, found),
        epoch=epoch,
        users=last.load.users,
        severity=catalogue.ENTRIES[kind.id].severity,
        confidence=_confidence(kind, found),
    )


def _confidence(kind: LeakKind, found: Sequence[LoadGrowth]) -> Confidence:
    """By the length of the longest stretch; one step more if a second stretch shows it."""
    seconds = max(growth.trend.seconds for growth in found)
    rank = sum(seconds >= least - 1.5 for least in kind.sure_s) + (len(found) > 1)
    return CONFIDENCES[::-1][min(rank, 2)]


def _finding(timeline: Timeline, epoch: int, kind: LeakKind, found: Sequence[LoadGrowth]) -> Leak:
    """Rates per hour and per request, and the time to the limit at this rate."""
    last = found[-1]
    trend, throughput = last.trend, last.load.throughput_rps
    limit, left = _limit(timeline, kind, last)
    pid = pid_of(timeline, epoch) if kind.id != "generator_memory" else None
    return Leak(
        name=kind.id,
        unit=kind.unit,
        growth_per_hour=trend.per_s * 3_600,
        growth_per_hour_low=_finite(trend.low_per_s * 3_600),
        growth_per_hour_high=_finite(trend.high_per_s * 3_600),
        growth_per_request=trend.per_s / throughput if throughput else None,
        explained_by=_explained_by(found),
        held_s=trend.seconds,
        now=last.now,
        readings={} if pid is None else {"pid": pid},
        limit=limit,
        limit_in_s=None if left is None else _finite(max(0.0, left) / trend.per_s),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _explained_by(found: Sequence[LoadGrowth]) -> Literal["requests", "time"] | None:
    """Whether growth follows requests or time, if loads with different throughput show it; None: not known."""
    known = [(growth.trend.per_s, growth.load.throughput_rps) for growth in found]
    pairs = [(rate, throughput) for rate, throughput in known if throughput]
    throughputs = [throughput for _, throughput in pairs]
    if len(pairs) < 2 or max(throughputs) < 1.3 * min(throughputs):
        return None
    by_time = [math.log(rate) for rate, _ in pairs]
    by_request = [math.log(rate / throughput) for rate, throughput in pairs]
    return "requests" if np.std(by_request) < np.std(by_time) else "time"


# -- limits


def _limit_of_fds(timeline: Timeline, kind: LeakKind) -> float | None:
    return _latest(timeline, "target_fds_limit") if kind.unit == "fds" else None


def _limit(timeline: Timeline, kind: LeakKind, last: LoadGrowth) -> tuple[float | None, float | None]:
    """(limit, rest up to it): of descriptors the process's own limit; of memory the cgroup's, else the machine's."""
    if kind.unit == "fds":
        limit = _limit_of_fds(timeline, kind)
        return limit, None if limit is None else limit - last.now
    host = _host(timeline)
    own = last.load.levels[-1].figures.readings.get("target.memory_limit_bytes")
    limit = own if kind.id == "memory_leak" else _float(host.cgroup_memory_bytes)
    if limit is not None:
        return limit, limit - last.now
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
