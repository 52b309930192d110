"""Leaks: memory or descriptors that grow while the load stays the same, with their rate and the time to the limit.

Growth after a step of users is no leak, nor is a warm-up: allocators, caches and pools fill up and stop. So only what is held at
one user count is looked at, growth must last (`trend`), and the shorter the look, the more must have grown. Pure: the same
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
from ...model.grades import Confidence
from ...model.timeline import Timeline
from ..causes import catalogue
from .constant_load import ConstantLoad, constant_loads, loaded_s, pid_of, pieces, restarts_s
from .trend import Floats, Trend, trend

MIB = float(1 << 20)

WARM_UP_S = 60.0
"""Of load on a target that has just started: imports, arenas, caches. Growth in it says nothing of memory, unless it is vast."""

GENERATOR_NEAR_LIMIT = 0.90
GENERATOR_HOURS = 8.0
"""Within which the generator's own growth must reach its limit to be told: a day's columns are 30 MB, and no leak."""


@dataclass(frozen=True, slots=True)
class Least:
    """What must have grown in a look at least so long."""

    seconds: float
    growth: float
    share: float
    """Of what there was at its begin."""
    from_start: bool = False
    """Also while the target warms up."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What may leak. `leasts` ascend by length."""

    id: str
    columns: tuple[str, ...]
    """The first that was measured."""
    unit: Literal["bytes", "fds"]
    leasts: tuple[Least, ...]
    sure_s: tuple[float, float]
    """Lengths of medium and of high confidence."""
    shared: str | None = None
    """Growth of this column is none of its own: a connection has a descriptor at both ends, and users who open a second one late
    make the service hold more."""


MEMORY = (
    Least(45, 64 * MIB, 1.0, from_start=True),
    Least(60, 8 * MIB, 0.10),
    Least(300, 4 * MIB, 0.05),
    Least(1_800, 2 * MIB, 0.02),
)
"""The first: memory that doubles within a minute is told before the kernel acts on it. The others are many times what healthy
services grow by once they are warm: the mixed target, of 34 MB, by 0.6 MB in two minutes and seven levels (measured)."""

FDS = (Least(30, 20, 0.10, from_start=True), Least(120, 12, 0.05), Least(600, 8, 0.02))
"""Descriptors are counted, and held at one user count they stay: a leak of two a second is told after 30 s."""

KINDS = (
    Kind("memory_leak", ("target_rss_bytes",), "bytes", MEMORY, (300.0, 1_800.0)),
    Kind("fd_leak", ("target_fds_fullest", "target_fds"), "fds", FDS, (60.0, 300.0), shared="generator_fds"),
    Kind("generator_memory", ("generator_rss_bytes",), "bytes", MEMORY[1:], (300.0, 1_800.0)),
)


@dataclass(frozen=True, slots=True)
class LoadGrowth:
    """What one look at a held load found."""

    held: ConstantLoad
    trend: Trend
    now: float


def keys(epoch: int) -> frozenset[str]:
    """Of all marks that `marks` may make of an epoch."""
    return frozenset(f"leak:{kind.id}:epoch{epoch}" for kind in KINDS)


Looks = dict[tuple[object, ...], LoadGrowth | None]
"""What was found by (kind, load, its seconds, limit): a long session has hundreds of loads, and all but the last are over."""


def marks(timeline: Timeline, epoch: int, known: Looks | None = None) -> Iterator[Mark]:
    """Leaks of an epoch: open, or closed where as long a look at a later load, or a restart, shows none.

    `known` remembers looks from one call to the next; it changes what a call costs, never what it says.
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


def _matters(timeline: Timeline, kind: Kind, last: LoadGrowth) -> bool:
    """A target's leak always does; the generator's own growth where its limit is near, in time or in bytes."""
    limit, left = _limit(timeline, kind, last)
    if kind.id != "generator_memory":
        return True
    soon = left is not None and left <= GENERATOR_HOURS * 3_600 * last.trend.per_s
    return soon or (limit is not None and last.now >= GENERATOR_NEAR_LIMIT * limit)


# -- what is looked at


def _column(timeline: Timeline, kind: Kind) -> Sequence[float] | None:
    for name in kind.columns:
        column = timeline.columns.get(name)
        if column is not None and any(not math.isnan(value) for value in column[max(0, timeline.ticks - 60) : timeline.ticks]):
            return column
    return None


def _known(known: Looks, timeline: Timeline, run: ConstantLoad, kind: Kind, column: Sequence[float]) -> LoadGrowth | None:
    asked = (kind.id, run.levels[0].opened.index, run.seconds, _limit_of_fds(timeline, kind))
    if asked not in known:
        known[asked] = _grows(timeline, run, kind, column)
    return known[asked]


def _grows(timeline: Timeline, run: ConstantLoad, kind: Kind, column: Sequence[float]) -> LoadGrowth | None:
    """The longest look at a held load, up to its end or to where it could not grow on, that shows growth which lasts."""
    ticks = run.ticks(timeline)
    times = np.array([timeline.columns["t_s"][tick] for tick in ticks])
    values = np.array([column[tick] for tick in ticks])
    own = values - _shared(timeline, kind, ticks)
    warm_s = loaded_s(timeline, run.levels[0]) + WARM_UP_S
    found = None
    for start, end in pieces(values, _limit_of_fds(timeline, kind)):
        for share in (1.0, 0.5, 0.25):
            first = end - max(1, round(share * (end - start)))
            told = look(times[first:end], own[first:end], kind, warm_s)
            if told is not None:
                found = LoadGrowth(run, told, float(values[end - 1]))
                break
    return found


def _shared(timeline: Timeline, kind: Kind, ticks: Sequence[int]) -> Floats:
    """What the other end's growth explains, since the first of these ticks; 0 where it was not measured."""
    column = timeline.columns.get(kind.shared) if kind.shared is not None else None
    if column is None:
        return np.zeros(len(ticks))
    other = np.array([column[tick] for tick in ticks])
    known = other[~np.isnan(other)]
    return np.nan_to_num(other - known[0]) if len(known) else np.zeros(len(ticks))


def look(times: Floats, values: Floats, kind: Kind, warm_s: float) -> Trend | None:
    """Growth that lasts and is enough for the length of these seconds, if there is such; `warm_s`: when the target is warm."""
    for least in reversed(kind.leasts):
        chosen = slice(0, None) if least.from_start else slice(int(np.searchsorted(times, warm_s)), None)
        window, part = times[chosen], values[chosen]
        if len(window) < 2 or window[-1] - window[0] < least.seconds - 1.5 or not _spans(part, least.growth):
            continue
        told = trend(window, part)
        if told is not None and told.sure and told.growth >= max(least.growth, least.share * told.start):
            return told
    return None


def _spans(values: Floats, least: float) -> bool:
    """Whether values are so far apart at all: nearly always not, and a trend costs a hundred times as much."""
    known = values[~np.isnan(values)]
    return len(known) > 0 and float(known.max() - known.min()) >= least


# -- what is told of it


def _is_open(timeline: Timeline, last: LoadGrowth, runs: Sequence[ConstantLoad]) -> bool:
    """Unless the target started anew since, or a load held later as long did not show it."""
    since_s = last.held.levels[-1].started_s
    restarted = any(started_s > since_s for started_s in restarts_s(timeline))
    later = [run for run in runs if run.levels[0].started_s > since_s]
    return not restarted and all(run.seconds < last.trend.seconds for run in later)


def _mark(timeline: Timeline, epoch: int, kind: Kind, found: Sequence[LoadGrowth], *, is_open: bool) -> Mark:
    last = found[-1]
    level = found[0].held.levels[-1]
    return Mark(
        t_s=timeline.last_s if level.ended_s is None else level.ended_s,
        key=f"leak:{kind.id}:epoch{epoch}",
        state="open" if is_open else "closed",
        finding=_finding(timeline, epoch, kind, found),
        epoch=epoch,
        users=last.held.users,
        severity=catalogue.ENTRIES[kind.id].severity,
        confidence=_confidence(kind, found),
    )


def _confidence(kind: Kind, found: Sequence[LoadGrowth]) -> Confidence:
    """By the length of the longest look; a second held load that shows it is worth a step."""
    seconds = max(growth.trend.seconds for growth in found)
    rank = sum(seconds >= least - 1.5 for least in kind.sure_s) + (len(found) > 1)
    names: tuple[Confidence, ...] = ("low", "medium", "high")
    return names[min(rank, 2)]


def _finding(timeline: Timeline, epoch: int, kind: Kind, found: Sequence[LoadGrowth]) -> Leak:
    """Rates by the hour and by the request, and the time to the limit at this rate."""
    last = found[-1]
    trend, throughput = last.trend, last.held.throughput_rps
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
    """Whether requests or time explain the growth better, where loads with different throughput show it; None: not known."""
    known = [(growth.trend.per_s, growth.held.throughput_rps) for growth in found]
    pairs = [(rate, throughput) for rate, throughput in known if throughput]
    throughputs = [throughput for _, throughput in pairs]
    if len(pairs) < 2 or max(throughputs) < 1.3 * min(throughputs):
        return None
    by_time = [math.log(rate) for rate, _ in pairs]
    by_request = [math.log(rate / throughput) for rate, throughput in pairs]
    return "requests" if np.std(by_request) < np.std(by_time) else "time"


# -- limits


def _limit_of_fds(timeline: Timeline, kind: Kind) -> float | None:
    return _latest(timeline, "target_fds_limit") if kind.unit == "fds" else None


def _limit(timeline: Timeline, kind: Kind, last: LoadGrowth) -> tuple[float | None, float | None]:
    """(the limit, how much is left of it): the process's own of descriptors; of memory the cgroup's, else the machine's."""
    if kind.unit == "fds":
        limit = _limit_of_fds(timeline, kind)
        return limit, None if limit is None else limit - last.now
    host = _host(timeline)
    own = last.held.levels[-1].figures.readings.get("target.memory_limit_bytes")
    limit = own if kind.id == "memory_leak" else _float(host.cgroup_memory_bytes)
    if limit is not None:
        return limit, limit - last.now
    used = _latest(timeline, "host_memory_bytes")
    return _float(host.memory_bytes), None if used is None or host.memory_bytes is None else host.memory_bytes - used


def _latest(timeline: Timeline, name: str) -> float | None:
    """The last value of a column that was measured, among the last minute's."""
    column = timeline.columns.get(name)
    recent = [] if column is None else column[max(0, timeline.ticks - 60) : timeline.ticks]
    return next((value for value in reversed(recent) if not math.isnan(value)), None)


def _host(timeline: Timeline) -> HostFacts:
    return timeline.header.host if timeline.header is not None else HostFacts()


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)
