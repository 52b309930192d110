"""Growth that lasts, within one stretch of constant load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...model.timeline import Timeline
from .constant_load import ConstantLoad, loaded_s, pieces
from .leak_kinds import LeakKind
from .resource_limits import descriptor_limit
from .trend import Floats, Trend, trend

WARM_UP_S = 60.0
"""In the first seconds of load after a start of the target its memory always grows (imports, arenas, caches): there only very
large growth counts.
"""

TICK_ALLOWANCE_S = 1.5
"""A stretch of ticks may be this much shorter than a threshold, since ticks are not exactly one second long."""


@dataclass(frozen=True, slots=True)
class LoadGrowth:
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


def _shared(timeline: Timeline, kind: LeakKind, ticks: Sequence[int]) -> Floats:
    """Growth of the kind's shared column since the first of these ticks, one per tick; 0 if it was not measured."""
    column = timeline.columns.get(kind.shared) if kind.shared is not None else None
    if column is None:
        return np.zeros(len(ticks))
    other = np.array([column[tick] for tick in ticks])
    known = other[~np.isnan(other)]
    return np.nan_to_num(other - known[0]) if len(known) else np.zeros(len(ticks))


def lasting_growth(times: Floats, values: Floats, kind: LeakKind, warm_s: float) -> Trend | None:
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


def _spans(values: Floats, least: float) -> bool:
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
