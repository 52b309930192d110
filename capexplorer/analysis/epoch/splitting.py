"""Where levels are split: `shifts` looked for as a level grows, in the same way live and over a saved session.

Live, a level is looked at again and again while it grows, and split where a change is found. Over a saved session the same looks
are made after the fact, so a session whose levels were split live shows nothing new. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...model.level import Level
from ...model.timeline import Timeline
from ...model.verdicts import ChangePoint
from .shifts import SEGMENT_LEAST, shifts

WINDOW_S = 300
"""Seconds that a look takes in: a timeline keeps the last 320 whole (TAIL_S), and only those can open a level of their own."""

LOOK_EVERY, SOON_S, LOOK_EVERY_LATER = 2, 120, 10
"""Seconds between looks (0.2-0.5 ms each) while a level is young, how long it is, and from then on: a day is looked at in 4 s."""

Series = tuple[Sequence[float], Sequence[float]]


def latest_shift(timeline: Timeline, level: Level) -> tuple[float, ChangePoint] | None:
    """(when, what) of the first change inside an open level, as far as its last seconds tell; None: nothing changed for good."""
    ticks = timeline.seconds_of(level)
    if level.opened.ramp or not _is_look(len(ticks)):
        return None
    window = ticks[-WINDOW_S:]
    found = _first(*series(timeline, window), lag_ms(timeline, window))
    return None if found is None else (started_s(timeline, window[found.at]), found)


def missed_shifts(timeline: Timeline, level: Level) -> Iterator[tuple[float, ChangePoint]]:
    """Changes inside a level that was not split, each with its moment: what `latest_shift` would have found as it grew."""
    ticks = [] if level.opened.ramp else timeline.seconds_of(level)
    goodput, latency_ms = series(timeline, ticks)
    lags_ms = lag_ms(timeline, ticks)
    begin, look = 0, 0
    while begin + look < len(ticks):
        look += 1
        end, first = begin + look, max(begin, begin + look - WINDOW_S)
        found = _first(goodput[first:end], latency_ms[first:end], lags_ms[first:end]) if _is_look(look) else None
        if found is None:
            continue
        yield started_s(timeline, ticks[first + found.at]), found
        begin, look = first + found.at, 0


def _is_look(seconds: int) -> bool:
    return seconds >= 2 * SEGMENT_LEAST and seconds % (LOOK_EVERY if seconds <= SOON_S else LOOK_EVERY_LATER) == 0


def series(timeline: Timeline, ticks: Sequence[int]) -> Series:
    """Goodput and mean latency of successes of these seconds. A second whose work was not read keeps the one before it."""
    columns = timeline.columns
    durations = np.array([columns["duration_s"][tick] for tick in ticks])
    work = _filled(np.array([columns["work"][tick] for tick in ticks]))
    successes = np.array([columns["requests"][tick] - columns["failures"][tick] for tick in ticks])
    sums_ms = np.array([columns["latency_sum_ms"][tick] for tick in ticks])
    with np.errstate(invalid="ignore", divide="ignore"):
        latency_ms = np.where(successes > 0, sums_ms / successes, np.nan)
        goodput = work / durations
    return goodput.tolist(), latency_ms.tolist()


def started_s(timeline: Timeline, tick: int) -> float:
    """When a tick began: the end of the one before it, to the digit."""
    times = timeline.columns["t_s"]
    return times[tick - 1] if tick else times[tick] - timeline.columns["duration_s"][tick]


def lag_ms(timeline: Timeline, ticks: Sequence[int]) -> Sequence[float]:
    """Loop lag p99 of these seconds; NaN: not measured."""
    return [timeline.columns["loop_lag_p99_ms"][tick] for tick in ticks]


def _first(goodput: Sequence[float], latency_ms: Sequence[float], lags_ms: Sequence[float]) -> ChangePoint | None:
    if any(value != value for value in goodput):
        return None  # work was not measured at all
    found = shifts(goodput, latency_ms if any(value == value for value in latency_ms) else ())
    if not found or (found[0].column == "latency" and _within_lag(found[0], lags_ms)):
        return None
    # a cut at the latest place allowed stands for a change that came later still: the next look will see where
    return found[0] if found[0].at < len(goodput) - SEGMENT_LEAST else None


def _within_lag(found: ChangePoint, lags_ms: Sequence[float]) -> bool:
    """Whether the generator's own lateness, the error bar on every latency, is as large as the change: nothing is told then."""
    known = [lag for lag in lags_ms[found.at :] if lag == lag]
    return bool(known) and abs(found.after - found.before) <= sum(known) / len(known)


def _filled(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    known = ~np.isnan(values)
    if known.all() or not known.any():
        return values
    last = np.maximum.accumulate(np.where(known, np.arange(len(values)), int(known.argmax())))
    filled: np.ndarray[tuple[int], np.dtype[np.float64]] = values[last]
    return filled
