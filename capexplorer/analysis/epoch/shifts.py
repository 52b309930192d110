"""Shifts: lasting changes of goodput or latency inside a settled level (goodput falls from 170/s to 120/s and stays there).

They divide a level into two by one search for live and saved sessions. Live, an open level is searched every few seconds and
split at the first shift found. On a saved session the same searches are repeated in the same order, so a session that was split
live shows no new shifts. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...model.figures import least_response_s
from ...model.level import Level
from ...model.load import Rate
from ...model.timeline import Timeline
from ...model.verdicts import ChangePoint
from ..statistics import LOST_LEAST, SURE_ERRORS, Series, filled
from .segments import SURE, Seconds, changes_of

SEGMENT_LEAST = 10
"""Least length of both sides of a split, in seconds: garbage collections and single stalls are shorter."""

SEGMENT_RESPONSES = 3.0
"""Least length in responses at low load: of a few slots whose replies last for 10 s, none may end for as long. With it 2 wrong
statements of 12 sessions went (`autopilot-long`, tuning seeds), which had said that the service changed or stopped."""

WINDOW_S = 300
"""Latest seconds that a search covers: only seconds that a timeline keeps in full can become a new level (320, `TAIL_S`)."""

BUSY_LEAST = 5
"""Requests in the median second from which seconds without any may show that the service stalled. With it the begin of 61 of 77
changes inside a level was known to 2 s, with goodput alone that of 54 of 74 (216 tuning sessions of users)."""

SEARCH_EVERY_S, SOON_S, SEARCH_EVERY_LATER_S = 2, 120, 10
"""Seconds between searches (0.5 to 2 ms each): SEARCH_EVERY_S in a level's first SOON_S seconds, then SEARCH_EVERY_LATER_S."""


def shifts(seconds: Seconds, least_s: int = SEGMENT_LEAST) -> list[ChangePoint]:
    """Splits of a level, in order; of `seconds`, goodput must have been measured. Means of one stretch between splits each.
    `least_s`: the least length of a stretch."""
    found = changes_of(seconds, least_s)
    edges = [0, *(change.at for change in found), len(seconds.requests)]
    measured = []
    for change, start, end in zip(found, edges, edges[2:], strict=False):
        by_latency = change.column == "latency" and seconds.latency_ms is not None
        series = np.asarray(seconds.latency_ms if by_latency else seconds.goodput)
        before, after = _mean(series[start : change.at]), _mean(series[change.at : end])
        measured.append(ChangePoint(at=change.at, column="latency" if by_latency else "goodput", before=before, after=after))
    return measured


def _mean(series: Series) -> float:
    known = series[~np.isnan(series)]
    return float(known.mean()) if len(known) else math.nan


def latest_shift(timeline: Timeline, level: Level) -> tuple[float, ChangePoint] | None:
    """(time in seconds of the session, shift) of the first shift in the latest WINDOW_S of an open level; None if there is
    none, or no search is due.
    """
    ticks = timeline.seconds_of(level)
    if not _is_searched(level) or not _is_due(len(ticks)):
        return None
    window = ticks[-WINDOW_S:]
    found = _first(timeline, level, window, searched(timeline, level, window))
    return None if found is None else (started_s(timeline, window[found.at]), found)


def missed_shifts(timeline: Timeline, level: Level) -> Iterator[tuple[float, ChangePoint]]:
    """(time in seconds of the session, shift) of each shift that `latest_shift` would have found in a level while it grew."""
    ticks = timeline.seconds_of(level) if _is_searched(level) else []
    series, begin, seconds = searched(timeline, level, ticks), 0, 0
    while begin + seconds < len(ticks):
        seconds += 1
        first, end = max(begin, begin + seconds - WINDOW_S), begin + seconds
        found = _first(timeline, level, ticks[first:end], series.between(first, end)) if _is_due(seconds) else None
        if found is None:
            continue
        yield started_s(timeline, ticks[first + found.at]), found
        begin, seconds = first + found.at, 0


def _is_searched(level: Level) -> bool:
    """Whether the level has constant load, and no sampling of stacks changes what the service does."""
    return not level.opened.ramp and not level.opened.is_aside


def _is_due(seconds: int) -> bool:
    return seconds >= 2 * SEGMENT_LEAST and seconds % (SEARCH_EVERY_S if seconds <= SOON_S else SEARCH_EVERY_LATER_S) == 0


def searched(timeline: Timeline, level: Level, ticks: Sequence[int]) -> Seconds:
    """The seconds of a level as they are searched for changes.

    Seconds without any reply of a busy level count as failed if chance does not explain them; at a rate, if iterations waited in
    them. There goodput is finished iterations, at most the offered rate: more is the rest of an earlier backlog.
    """
    columns, offered_per_s = timeline.columns, level.load.per_s
    goodput, latency_ms = (np.array(series) for series in goodput_and_latency(timeline, ticks))
    if offered_per_s is not None:
        goodput = np.array([min(columns["finished"][tick] / columns["duration_s"][tick], offered_per_s) for tick in ticks])
    requests, failures = (np.array([columns[name][tick] for tick in ticks], float) for name in ("requests", "failures"))
    usual = float(np.median(requests)) if len(requests) else 0.0
    if usual >= BUSY_LEAST:
        waits = np.array([offered_per_s is None or columns["in_flight"][tick] > 0 for tick in ticks])
        silent = _due_but_missing(waits & (requests == 0), silent_after(timeline, ticks), usual)
        requests, failures = np.where(silent, usual, requests), np.where(silent, usual, failures)
    known = None if np.isnan(goodput).any() else goodput
    return Seconds(requests, failures, known, latency_ms, at_random=offered_per_s is not None)


def silent_after(timeline: Timeline, ticks: Sequence[int]) -> int:
    """Seconds without requests that follow the last of these, at another load: at most as many as can matter."""
    requests = timeline.columns["requests"]
    later = range(ticks[-1] + 1, min(len(timeline), ticks[-1] + 1 + math.ceil(SURE / BUSY_LEAST))) if ticks else ()
    return next((count for count, tick in enumerate(later) if requests[tick]), len(later))


def _due_but_missing(silent: NDArray[np.bool_], after: int, usual: float) -> NDArray[np.bool_]:
    """The silent seconds that chance does not explain: those in a row in which SURE requests were due, as none of a Poisson count
    has a probability of exp(-due). `after`: further ones after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], silent, [False]))))
    surely = np.zeros_like(silent)
    for first, end in edges.reshape(-1, 2):
        in_a_row = end - first + (after if end == len(silent) else 0)
        surely[first:end] = in_a_row * usual >= SURE
    return surely


def goodput_and_latency(timeline: Timeline, ticks: Sequence[int]) -> tuple[Sequence[float], Sequence[float]]:
    """Finished work, also beyond limits on a single request, and mean latency of successes of these seconds. A second without a
    reading of work repeats the value before it."""
    columns = timeline.columns
    durations = np.array([columns["duration_s"][tick] for tick in ticks])
    work = filled(np.array([columns["served"][tick] for tick in ticks]))
    successes = np.array([columns["requests"][tick] - columns["failures"][tick] for tick in ticks])
    sums_ms = np.array([columns["latency_sum_ms"][tick] for tick in ticks])
    with np.errstate(invalid="ignore", divide="ignore"):
        latency_ms = np.where(successes > 0, sums_ms / successes, np.nan)
        goodput = work / durations
    return goodput.tolist(), latency_ms.tolist()


def started_s(timeline: Timeline, tick: int) -> float:
    """When a tick began, in seconds of the session: exactly the end of the tick before it."""
    times = timeline.columns["t_s"]
    return times[tick - 1] if tick else times[tick] - timeline.columns["duration_s"][tick]


def lag_ms(timeline: Timeline, ticks: Sequence[int]) -> Sequence[float]:
    """Loop lag (p99) of these seconds, in ms; NaN: not measured."""
    return [timeline.columns["loop_lag_p99_ms"][tick] for tick in ticks]


def segment_least_s(timeline: Timeline, level: Level, ticks: Sequence[int]) -> int:
    """Least length of both sides of a split of this level: by the responses of the levels before, or of these seconds of it."""
    columns, index, epoch = timeline.columns, level.opened.index, level.opened.epoch
    before = (each.figures for each in timeline.levels if each.opened.epoch == epoch and each.opened.index < index)
    response_s = least_response_s(before)
    if response_s is None:
        requests = sum(columns["requests"][tick] for tick in ticks)
        sum_ms = sum(columns["latency_sum_ms"][tick] + columns["failure_latency_sum_ms"][tick] for tick in ticks)
        response_s = sum_ms / 1000 / requests if requests else 0.0
    return max(SEGMENT_LEAST, math.ceil(SEGMENT_RESPONSES * response_s))


def _first(timeline: Timeline, level: Level, ticks: Sequence[int], seconds: Seconds) -> ChangePoint | None:
    least_s = segment_least_s(timeline, level, ticks)
    found = shifts(seconds, least_s) if seconds.goodput is not None else []
    is_of_latency = bool(found) and found[0].column == "latency"
    if is_of_latency and isinstance(level.load, Rate) and not is_steady(timeline, ticks, found[0].at):
        is_of_latency = False  # a queue that grows may hide another change
        found = shifts(replace(seconds, latency_ms=None), least_s)
    if not found or (is_of_latency and _within_lag(found[0], lag_ms(timeline, ticks))):
        return None
    # a cut at the last possible second belongs to a change that may have come later: the next search finds where
    return found[0] if found[0].at < len(ticks) - least_s else None


def _within_lag(found: ChangePoint, lags_ms: Sequence[float]) -> bool:
    """Whether the change is no larger than the generator's loop lag, by which each latency may be too long."""
    known = [lag for lag in lags_ms[found.at :] if lag == lag]
    return bool(known) and abs(found.after - found.before) <= sum(known) / len(known)


# -- Whether a queue at an offered rate was in steady state: all arrivals were served, and the work in flight did not drift.
#
# Above the capacity latency grows as long as a level lasts, without a change of the service. Only in steady state does a change
# of latency show that the service changed.


def is_steady(timeline: Timeline, ticks: Sequence[int], at: int) -> bool:
    """Whether these seconds are steady both before index `at` and from it on. `at` must be at least 1."""
    parts = ticks[:at], ticks[at:]
    return all(_is_served(timeline, part) for part in parts) and not any(
        _drifts(timeline, part) for part in (ticks, ticks[at - 1 :])
    )


def _is_served(timeline: Timeline, ticks: Sequence[int]) -> bool:
    columns = timeline.columns
    failures, requests = (math.fsum(columns[name][tick] for tick in ticks) for name in ("failures", "requests"))
    dropped = math.fsum(columns["dropped_per_s"][tick] * columns["duration_s"][tick] for tick in ticks)
    return failures + dropped <= LOST_LEAST * (requests + dropped)


def _drifts(timeline: Timeline, ticks: Sequence[int]) -> bool:
    """Whether iterations in flight changed by more than a random walk does that takes a step at each arrival and each end."""
    columns = timeline.columns
    steps = math.fsum(columns["planned"][tick] + columns["finished"][tick] for tick in ticks[1:]) + 1
    return abs(columns["in_flight"][ticks[-1]] - columns["in_flight"][ticks[0]]) > SURE_ERRORS * math.sqrt(steps)
