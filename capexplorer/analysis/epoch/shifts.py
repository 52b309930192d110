"""Shifts: lasting changes of goodput or latency inside a settled level (goodput falls from 170/s to 120/s and stays there).

Method: binary segmentation on the standardised CUSUM (Scott & Knott 1974; Andrews 1993 for the sup-type statistic). Seconds of a
service are correlated, and a plain CUSUM would split at every slow wave, so the variance is the long-run one, from an
autoregression of the residuals of the segments. A change must also be large and last. The threshold allows for a test every
second on a growing level. Costs about 0.1 ms for 600 seconds without a split.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...model.level import Level
from ...model.load import Rate
from ...model.timeline import Timeline
from ...model.verdicts import ChangePoint
from ..statistics import LOST_LEAST, SURE_ERRORS, Series, correlation_of, filled

SEGMENT_LEAST = 10
"""Least length of both sides of a split, in seconds: garbage collections and single stalls are shorter."""

GOODPUT_CHANGE = 0.20
"""Least relative change of goodput at which a level is split: 170/s to 120/s is 0.29."""

LATENCY_CHANGE = 0.50
"""The same for latency, which varies more: 1.5 times as long, or as much shorter."""

STATISTIC_LEAST = 5.5
"""Least |difference| divided by its long-run standard error. One test of one split would need 3; the largest of hundreds of
splits in hundreds of tests needs this (200 stationary series of tuning seeds, tested every second; see
tests/analysis/epoch/test_shifts.py)."""

QUEUE_STATISTIC_LEAST = 9.0
"""The same for latency at an offered rate, where nothing limits the queue: near the capacity its length drifts for tens of
seconds. Of 240 stationary queues at 0.65 to 1.1 of their capacity 19 were split with 5.5, and 3 with this (tuning seeds)."""

NEXT_LEAST, NEXT_STRENGTH = 3, 9.0
"""Least seconds on each side, and least strength, of the next change after a split (as `onset.JUMP_SIDE_LEAST`,
`onset.JUMP_STRENGTH`). The split at the begin of an outage of 13 s was found 25 s after its end: 36.6/s was said to follow it."""

SHORT_S = 20.0
"""Length of a series at which the threshold is 1.4 times as high: so few seconds do not show how correlated they are."""

SPLITS_MOST = 6
"""Most candidates tested at once. If all are accepted, the parts become levels and may be split again."""

Gap = Callable[[float, float], bool]
"""(mean before, mean after) -> whether the difference is large enough."""


def shifts(
    goodput: Sequence[float], latency_ms: Sequence[float] = (), *, latency_strength_least: float | None = None
) -> tuple[ChangePoint, ...]:
    """Splits of a level, in order. A split that both series show is returned once, as one of goodput.

    `goodput`, `latency_ms`: one value per settled second; NaN: a second without success; `latency_ms` may be empty.
    `latency_strength_least`: `strength_least` of `cuts_of` for latency.
    """
    found = [_shift(at, "goodput", np.asarray(goodput, float)) for at in cuts_of(np.asarray(goodput, float), _goodput_gap)]
    if len(latency_ms):
        slow = _log(latency_ms)
        for at in cuts_of(slow, _latency_gap, strength_least=latency_strength_least):
            if all(abs(at - other.at) >= SEGMENT_LEAST for other in found):
                found.append(_shift(at, "latency", np.asarray(latency_ms, float)))
    return tuple(_with_segment_means(sorted(found, key=lambda shift: shift.at), goodput, latency_ms))


def _with_segment_means(found: list[ChangePoint], goodput: Sequence[float], latency_ms: Sequence[float]) -> list[ChangePoint]:
    """The splits with their means before and after, each over one segment between splits."""
    edges = [0, *(shift.at for shift in found), len(goodput)]
    measured = []
    for shift, start, end in zip(found, edges, edges[2:], strict=False):
        series = np.asarray(goodput if shift.column == "goodput" else latency_ms, float)
        after = _until_next_change(series[shift.at : end]) if shift.column == "goodput" else series[shift.at : end]
        measured.append(ChangePoint(at=shift.at, column=shift.column, before=_mean(series[start : shift.at]), after=_mean(after)))
    return measured


def _until_next_change(series: Series) -> Series:
    """The series up to the next clear change, which a later search will split: a mean over both would be that of neither."""
    cuts = cuts_of(series, _goodput_gap, side_least=NEXT_LEAST, strength_least=NEXT_STRENGTH, most=1)
    return series[: cuts[0]] if cuts else series


def _shift(at: int, column: str, series: Series) -> ChangePoint:
    return ChangePoint(
        at=at, column="goodput" if column == "goodput" else "latency", before=_mean(series[:at]), after=_mean(series[at:])
    )


def _mean(series: Series) -> float:
    known = series[~np.isnan(series)]
    return float(known.mean()) if len(known) else math.nan


def _log(latency_ms: Sequence[float]) -> Series:
    """Logarithms of latencies. A second without success repeats the value before it."""
    series = np.log(np.maximum(np.asarray(latency_ms, float), 1e-3))
    return np.zeros(0) if np.isnan(series).all() else filled(series)


def _goodput_gap(before: float, after: float) -> bool:
    return abs(after - before) > GOODPUT_CHANGE * max(before, after)


def _latency_gap(before: float, after: float) -> bool:
    return abs(after - before) >= math.log(1 + LATENCY_CHANGE)


def cuts_of(
    series: Series,
    gap: Gap,
    *,
    side_least: int = SEGMENT_LEAST,
    strength_least: float | None = None,
    most: int = SPLITS_MOST,
) -> list[int]:
    """Ascending indices at which the series is cut: the best candidates without those that are not significant.

    Candidates are tested together: as long as one large change is not cut out, every other cut looks like a slow wave.
    `side_least`: least seconds on each side. `strength_least`: least |difference| divided by its error; None: STATISTIC_LEAST,
    higher for short series. `most`: greatest number of candidates.
    """
    cuts = _candidates(series, side_least, most)
    least = STATISTIC_LEAST * math.sqrt(1 + SHORT_S / max(len(series), 1)) if strength_least is None else strength_least
    while cuts:
        edges = [0, *cuts, len(series)]
        means = [float(np.add.reduce(series[start:end])) / (end - start) for start, end in zip(edges, edges[1:], strict=False)]
        error = _long_run_error(series, edges, means)
        strengths = [
            _strength(before, after, error, (cut - start, end - cut), gap)
            for before, after, start, cut, end in zip(means, means[1:], edges, cuts, edges[2:], strict=False)
        ]
        weakest = int(np.argmin(strengths))
        if strengths[weakest] >= least:
            break
        del cuts[weakest]
    return cuts


def _candidates(series: Series, side_least: int, most: int) -> list[int]:
    """Up to `most` ascending cuts, found one by one: each explains most of the variance that the earlier ones leave."""
    cuts: list[int] = []
    parts = [(0, len(series))]
    while len(cuts) < most:
        best = [
            (found[1], start, start + found[0], end)
            for start, end in parts
            if (found := _best(series[start:end], side_least)) is not None
        ]
        if not best:
            break
        _, start, cut, end = max(best)
        cuts.append(cut)
        parts.remove((start, end))
        parts += [(start, cut), (cut, end)]
    return sorted(cuts)


def _strength(before: float, after: float, error: float, counts: tuple[int, int], gap: Gap) -> float:
    """|difference of means| divided by its long-run standard error; 0 if the change is too small (`gap`)."""
    if not gap(before, after):
        return 0.0
    return abs(after - before) / (error * math.sqrt(1 / counts[0] + 1 / counts[1])) if error else math.inf


def _best(part: Series, side_least: int) -> tuple[int, float] | None:
    """(the cut that explains most variance, the variance it explains); None if the part is too short for `side_least`."""
    count = len(part)
    if count < 2 * side_least:
        return None
    before = np.arange(side_least, count - side_least + 1)
    sums = np.cumsum(part)[before - 1]
    mean = np.add.reduce(part) / count  # what `part.mean()` computes, in half of its time
    explained = (sums - before * mean) ** 2 * count / (before * (count - before))
    best = int(explained.argmax())
    return int(before[best]), float(explained[best])


def _long_run_error(series: Series, edges: list[int], means: list[float]) -> float:
    """Square root of the long-run variance of a second, from an AR(1) model of the residuals."""
    residual = series - np.repeat(means, np.diff(edges))
    count, squares = len(series), float(residual @ residual)
    if squares <= 1e-12 * float(series @ series):
        return 0.0
    segments = len(means)
    correlation = correlation_of(residual, squares, segments)
    return math.sqrt(squares / max(count - segments, 1) * (1 + correlation) / (1 - correlation))


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


# -- Splits levels at shifts, by one search for live and saved sessions.
#
# Live, an open level is searched every few seconds and split at the first shift found. On a saved session the same searches are
# repeated in the same order, so a session that was split live shows no new shifts. Pure.


WINDOW_S = 300
"""Latest seconds that a search covers: only seconds that a timeline keeps in full can become a new level (320, `TAIL_S`)."""

SEARCH_EVERY_S, SOON_S, SEARCH_EVERY_LATER_S = 2, 120, 10
"""Seconds between searches (0.2-0.5 ms each): SEARCH_EVERY_S in a level's first SOON_S seconds, then SEARCH_EVERY_LATER_S. A day
costs 4 s in all."""

Searched = tuple[Sequence[float], Sequence[float]]
"""(goodput, mean latency in ms of successes), one value of each per second."""


def latest_shift(timeline: Timeline, level: Level) -> tuple[float, ChangePoint] | None:
    """(time in seconds of the session, shift) of the first shift in the latest WINDOW_S of an open level; None if there is
    none, or no search is due.
    """
    ticks = timeline.seconds_of(level)
    if not _is_searched(level) or not _is_due(len(ticks)):
        return None
    window = ticks[-WINDOW_S:]
    found = _first(timeline, level, window, searched_series(timeline, level, window))
    return None if found is None else (started_s(timeline, window[found.at]), found)


def missed_shifts(timeline: Timeline, level: Level) -> Iterator[tuple[float, ChangePoint]]:
    """(time in seconds of the session, shift) of each shift that `latest_shift` would have found in a level while it grew."""
    ticks = timeline.seconds_of(level) if _is_searched(level) else []
    goodput, latency_ms = searched_series(timeline, level, ticks)
    begin, seconds = 0, 0
    while begin + seconds < len(ticks):
        seconds += 1
        end, first = begin + seconds, max(begin, begin + seconds - WINDOW_S)
        window = ticks[first:end]
        found = _first(timeline, level, window, (goodput[first:end], latency_ms[first:end])) if _is_due(seconds) else None
        if found is None:
            continue
        yield started_s(timeline, ticks[first + found.at]), found
        begin, seconds = first + found.at, 0


def _is_searched(level: Level) -> bool:
    """Whether the level has constant load."""
    return not level.opened.ramp


def _is_due(seconds: int) -> bool:
    return seconds >= 2 * SEGMENT_LEAST and seconds % (SEARCH_EVERY_S if seconds <= SOON_S else SEARCH_EVERY_LATER_S) == 0


def searched_series(timeline: Timeline, level: Level, ticks: Sequence[int]) -> Searched:
    """The series that are searched for changes.

    At an offered rate goodput is finished iterations, at most the offered rate: more is the rest of an earlier backlog.
    """
    offered_per_s = level.load.per_s
    if offered_per_s is None:
        return goodput_and_latency(timeline, ticks)
    columns = timeline.columns
    rates = [columns["finished"][tick] / columns["duration_s"][tick] for tick in ticks]
    return [min(rate, offered_per_s) for rate in rates], goodput_and_latency(timeline, ticks)[1]


def goodput_and_latency(timeline: Timeline, ticks: Sequence[int]) -> Searched:
    """Goodput and mean latency of successes of these seconds. A second without a reading of work repeats the value before it."""
    columns = timeline.columns
    durations = np.array([columns["duration_s"][tick] for tick in ticks])
    work = filled(np.array([columns["work"][tick] for tick in ticks]))
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


def _first(timeline: Timeline, level: Level, ticks: Sequence[int], values: Searched) -> ChangePoint | None:
    goodput, latency_ms = values
    if any(value != value for value in goodput):
        return None  # work was not measured at all
    by_offered_rate = isinstance(level.load, Rate)
    known = latency_ms if any(value == value for value in latency_ms) else ()
    found = shifts(goodput, known, latency_strength_least=QUEUE_STATISTIC_LEAST if by_offered_rate else None)
    if not found:
        return None
    is_doubtful = by_offered_rate and not is_steady(timeline, ticks, found[0].at)
    if found[0].column == "latency" and (is_doubtful or _within_lag(found[0], lag_ms(timeline, ticks))):
        return None
    # a cut at the last possible second belongs to a change that may have come later: the next search finds where
    return found[0] if found[0].at < len(goodput) - SEGMENT_LEAST else None


def _within_lag(found: ChangePoint, lags_ms: Sequence[float]) -> bool:
    """Whether the change is no larger than the generator's loop lag, by which each latency may be too long."""
    known = [lag for lag in lags_ms[found.at :] if lag == lag]
    return bool(known) and abs(found.after - found.before) <= sum(known) / len(known)
