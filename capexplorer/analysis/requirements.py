"""Whether a service does what is required of it, decided while a load runs, with few wrong answers however often one looks.

Knee and capacity are answered by the verdict: by the side of the bound on which its 90% interval lies, so that each answer is
wrong with 5%. It is a posterior, which may be looked at at any time.

Percentiles and failures are shares of the requests at one load: of slow replies, of failures. They are tested each second by a
mixture of sequential probability ratio tests (Robbins, Ann. Math. Stat. 41, 1970; Johari, Pekelis & Walsh, "Always Valid
Inference", 2022): the likelihood of the counts under shares on one side of the bound, in the mean over a grid of odds, divided
by that at the bound. If the share is at the bound, this ratio ever exceeds 1 / ERROR with a probability of at most ERROR
(Ville's inequality). The bounds at which it does not are the interval: a requirement is met, or is not, once all of it lies on
one side.

Requests that end near each other are alike, since they waited in the same queue. So counts are divided by their design effect
(Kish, Survey Sampling, 1965): how many times greater the variance of sums over batches of seconds is than that of independent
requests. Slow replies come in clusters: until several were seen, the design effect of a queue near its capacity is assumed.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence

from ..model import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike

from ..model.events import Sample, Verdict
from ..model.histogram import HistogramSum, LatencyHistogram, counts_between
from ..model.intervals import Z90
from ..model.level import Level
from ..model.level_use import level_use
from ..model.load import Rate
from ..model.requirements import (
    Answer,
    CapacityAnswer,
    CapacityRequired,
    FailuresAnswer,
    FailuresRequired,
    KneeAnswer,
    KneeRequired,
    LoadRequirement,
    PercentileAnswer,
    PercentileRequired,
    Requirement,
    State,
)
from ..model.timeline import Timeline
from .causes.generator_saturation import readings_at_level, time_outside_requests_ms
from .statistics import SURE_ERRORS, Series

# -- shares

ERROR = 0.02
"""Probability that a share is found on the wrong side of a bound that it is at, if the design effect is right. That is estimated:
of 400 runs of each of nine queues, with bounds 5% from their p95, at most 3.2% were answered wrongly (one fast server with 300
users), and at most 0.5% of the others (`python -m lab.trials requirements`)."""

ODDS = np.geomspace(1.03, 20.0, 40)
"""Odds of the shares that are tested, as multiples of those of the bound."""

BATCHES_LEAST = 6
"""Batches of seconds from which a variance is estimated."""

SECONDS_LEAST = 10
"""Seconds before the first look."""

CLUSTERS_ASSUMED = 12.0
"""Clusters of slow replies, or of failures, that must have been seen for the estimated design effect to count as much as the
assumed one."""

QUEUE_EFFECT = 5.0
"""Assumed design effect of slow replies over 1 + the requests in flight where all take as long as the bound (Little's law). For
one server near its capacity it is 1.4 to 5, for four servers or a slow one 0.3 to 0.9."""

FAILURES_EFFECT = 3.0
"""Assumed design effect of failures, until some were seen. Those that come one by one are answered wrongly in 0.2% of 400 runs.
Outages of two seconds in 100 are not seen by runs of 10 s, which call the service clean in 91%: no number that lets a run end
within minutes would correct that."""


def share_state(hits: float, requests: float, effect: float, most: float) -> State:
    """Whether a share of which `hits` of `requests` were seen is at most so much. `effect`: their design effect."""
    found, independent = hits / effect, requests / effect
    if _proves(most, found, independent, 1 / ODDS):
        return "met"
    return "not_met" if _proves(most, found, independent, ODDS) else "undecided"


def deciding_hits(requests: float, effect: float, most: float) -> tuple[float | None, float | None]:
    """(the most hits with which a share is at most `most`, the fewest with which it is more); None: no number decides it."""

    def proves(hits: float, odds_ratios: Series) -> bool:
        return _proves(most, hits / effect, requests / effect, odds_ratios)

    met = _last_true(lambda hits: proves(hits, 1 / ODDS), 0.0, most * requests) if proves(0.0, 1 / ODDS) else None
    not_met = _last_true(lambda hits: proves(hits, ODDS), requests, most * requests) if proves(requests, ODDS) else None
    return met, not_met


def share_interval(hits: float, requests: float, effect: float) -> tuple[float, float]:
    """All shares that the counts do not exclude: the bounds at which nothing is decided."""
    found, independent = hits / effect, requests / effect
    share = found / independent
    low = _last_true(lambda bound: _proves(bound, found, independent, ODDS), 0.0, share) if hits else 0.0
    high = _last_true(lambda bound: _proves(bound, found, independent, 1 / ODDS), 1.0, share) if hits < requests else 1.0
    return low, high


def _proves(bound: float, hits: float, requests: float, odds_ratios: Series) -> bool:
    """Whether the share is on that side of the bound on which its odds are these multiples of the bound's."""
    odds = bound / (1.0 - bound) * odds_ratios
    shares = odds / (1.0 + odds)
    likely = hits * np.log(shares / bound) + (requests - hits) * np.log((1.0 - shares) / (1.0 - bound))
    return float(np.logaddexp.reduce(likely)) - math.log(len(odds)) > -math.log(ERROR)


_HALVINGS = 30


def _last_true(holds: Callable[[float], bool], true: float, false: float) -> float:
    """The value nearest to `false` for which `holds`, which is so from `true` on up to it; `true` if it never is."""
    for _ in range(_HALVINGS):
        middle = (true + false) / 2
        if holds(middle):
            true = middle
        else:
            false = middle
    return true


def variance_of_sums(sums: ArrayLike, requests: ArrayLike) -> float:
    """The variance of sums over batches of consecutive seconds, per request: that of one request if they are independent. The
    greatest one over lengths of 1, 2, 4 ... seconds. `sums`: of each second, shape (seconds,).
    """
    each = np.asarray(requests, float)
    if not each.any():
        return 0.0
    over = np.asarray(sums, float)
    over = over - over.sum() / each.sum() * each
    largest, length = 0.0, 1
    while len(each) // length >= BATCHES_LEAST:
        batches = len(each) // length
        used = slice(len(each) - batches * length, None)
        sums_of_batches = over[used].reshape(batches, length).sum(1)
        largest = max(largest, float(sums_of_batches @ sums_of_batches) / (batches - 1) / (each[used].sum() / batches))
        length *= 2
    return largest


def seen_effect(hits: Series, requests: Series, most: float) -> float:
    """The design effect that hits show, at least 1. `most`: the bound of their share, which counts where they are fewer."""
    share = max(float(hits.sum() / requests.sum()), most)
    return max(variance_of_sums(hits, requests) / (share * (1.0 - share)), 1.0) if share < 1.0 else 1.0


def effect_of(seen: float, hits: float, assumed: float) -> float:
    """The design effect of so many hits: the assumed one until clusters of them have been seen."""
    clusters = hits / seen
    return (CLUSTERS_ASSUMED * max(assumed, seen) + clusters * seen) / (CLUSTERS_ASSUMED + clusters)


def failures_effect(failures: Series, requests: Series, most: float) -> float:
    """The design effect of failures, shape (seconds,) as `requests`."""
    return effect_of(seen_effect(failures, requests, most), float(failures.sum()), FAILURES_EFFECT)


LOWER_BOUNDS = np.array([1.0, 0.7, 0.5, 0.35, 0.25])
"""Shares of the bound of a percentile at which it is tested: whoever keeps a lower bound keeps the bound. With the bound alone a
percentile far below it was decided later than one near it, since more requests are in flight at a greater bound."""

FAR = 0.5
"""At this share of the bound, and below, the design effect is that which was seen, however few replies were slow: quiet seconds
of a queue near its capacity hide some of its waits, but not most. None of these 1,080 runs was answered wrongly by it. With a
bound of 8 times the p95 231 of them stayed undecided for five minutes without it, and 5 with it; 29 with 0.35, none with 0.7."""

SPREAD_LEAST = 0.1
"""Least standard deviation of latencies, as a share of the bound: that replies of 101 and 105 ms come in turns says nothing of
how those beyond 500 ms come. Without it 113 of these runs stayed undecided in place of 5, most of them of users with nearly equal
times."""

SEEN_TIMES = 1.2
"""Times the design effect that was seen, which is too low on average. With 1.0 or 1.5 the same answers come up to 20% sooner, or
50% later."""


def slow_replies(
    hits: Series, requests: Series, sums_ms: Series, variance_ms2: float, most: float, most_ms: float
) -> tuple[State, float, float]:
    """(whether at most a share of `most` of the replies takes longer than `most_ms`; the lowest bound, in ms, that is kept, or
    infinity; the design effect at the bound).

    `hits`: of each second, slower than LOWER_BOUNDS times the bound, shape (seconds, bounds); `sums_ms`: of the latencies of each
    second; `variance_ms2`: of one.
    """
    per_s, total = float(requests.mean()), float(requests.sum())
    of_latencies_ms2 = variance_of_sums(sums_ms, requests)
    kept_ms, states, effects = math.inf, [], []
    for share, slow in zip(LOWER_BOUNDS.tolist(), hits.T, strict=True):
        bound_ms, seen = share * most_ms, seen_effect(slow, requests, most)
        of_latencies = max(of_latencies_ms2 / max(variance_ms2, (SPREAD_LEAST * bound_ms) ** 2), 1.0)
        assumed = max(QUEUE_EFFECT * (1.0 + per_s * bound_ms / 1000.0), of_latencies)
        effect = effect_of(seen, float(slow.sum()), assumed)
        if share <= FAR:
            effect = min(effect, SEEN_TIMES * max(of_latencies, seen))
        states.append(share_state(float(slow.sum()), total, effect, most))
        effects.append(effect)
        if states[-1] == "met":
            kept_ms = bound_ms
    return "met" if "met" in states else states[0], kept_ms, effects[0]


# -- what the seconds of a level show


class _Seconds:
    """Of one level, for one requirement: a value for each settled second."""

    def __init__(self) -> None:
        self.requests, self.sums_ms = array("d"), array("d")
        self.hits: list[Sequence[int]] = []
        """Failures; or replies slower than LOWER_BOUNDS times the bound."""
        self.latencies = HistogramSum()

    def add(self, sample: Sample, required: LoadRequirement) -> None:
        offered = sample.offered if isinstance(required.load, Rate) else None
        if isinstance(required, FailuresRequired):
            if offered is not None:
                lost = offered.failed + offered.dropped.target  # others were dropped because of the generator
                self._count(offered.finished + lost, (lost,), 0.0)
            else:
                failed = sum(each.failures for each in sample.endpoints)
                self._count(sum(each.requests for each in sample.endpoints), (failed,), 0.0)
            return
        if required.stage is not None:
            ticks = [each.stages[required.stage] for each in sample.endpoints if required.stage in each.stages]
            texts, sum_ms = [each.latency for each in ticks], math.fsum(each.sum_ms for each in ticks)
        elif offered is not None:
            texts, sum_ms = [offered.from_plan], offered.from_plan_sum_ms
        else:
            texts = [each.latency for each in sample.endpoints]
            sum_ms = math.fsum(each.latency_sum_ms for each in sample.endpoints)
        known = [text for text in texts if text]
        counts = counts_between(known, np.floor(1000.0 * required.most_ms * LOWER_BOUNDS[::-1]) + 0.5)  # in whole microseconds
        self._count(int(counts.sum()), np.cumsum(counts[:0:-1]).tolist(), sum_ms)
        for text in known:
            self.latencies.add(text)

    def _count(self, requests: int, hits: Sequence[int], sum_ms: float) -> None:
        self.requests.append(requests)
        self.hits.append(hits)
        self.sums_ms.append(sum_ms)


class Requirements:
    """What is required of a service, and what a session shows of it. In the order of events: `require`, and `add` each second."""

    def __init__(self) -> None:
        self._seconds: dict[Requirement, dict[int, _Seconds]] = {}
        """By requirement and index of the level; empty for those that are not about one load."""

    @property
    def all(self) -> tuple[Requirement, ...]:
        """In the order in which they were required."""
        return tuple(self._seconds)

    def require(self, required: Requirement, timeline: Timeline) -> None:
        """Answer this too from now on; the latest seconds of the open level count."""
        if required not in self._seconds:
            self._seconds[required] = {}
            for sample in timeline.since(0.0):
                self._add(sample, required, timeline)

    def forget(self, required: Requirement) -> None:
        """Answer it no longer."""
        self._seconds.pop(required, None)

    def add(self, sample: Sample, timeline: Timeline) -> None:
        """The latest second, which the timeline has already."""
        for required in self._seconds:
            self._add(sample, required, timeline)

    def _add(self, sample: Sample, required: Requirement, timeline: Timeline) -> None:
        level = timeline.level
        if level is None or not isinstance(required, LoadRequirement) or not sample.settled or sample.suspended_s is not None:
            return
        if sample.level == level.opened.index and level.load == required.load and not level.opened.ramp:
            self._seconds[required].setdefault(sample.level, _Seconds()).add(sample, required)

    def answers(self, timeline: Timeline) -> tuple[Answer, ...]:
        """For the epoch of the latest level, in the order in which they were required."""
        verdict = timeline.current_verdict
        return tuple(self._answer(required, timeline, verdict) for required in self._seconds)

    def _answer(self, required: Requirement, timeline: Timeline, verdict: Verdict | None) -> Answer:
        counted = [level for level in timeline.levels if _counts(level, timeline, verdict)]
        match required:
            case CapacityRequired():
                return _capacity(required, verdict, _shown_per_s(counted))
            case KneeRequired():
                return _knee(required, verdict)
        found = self._seconds[required]
        counted = [level for level in counted if level.opened.index in found]
        seconds = [found[level.opened.index] for level in counted]
        if isinstance(required, FailuresRequired):
            return _failures(required, seconds)
        answer = _percentile(required, seconds, grows=any(_queue_grows(level, verdict) for level in counted))
        return replace(answer, state="undecided") if answer.state == "not_met" and _lack_cpu(counted) else answer


def _counts(level: Level, timeline: Timeline, verdict: Verdict | None) -> bool:
    """Whether a level describes the service as it is now."""
    epoch = timeline.levels[-1].opened.epoch
    return level.opened.epoch == epoch and level.void is None and level_use(level, verdict).why is None


def _lack_cpu(levels: Iterable[Level]) -> bool:
    """Whether the generator lacked CPU in one of these levels. It adds to latencies then, which show what the service keeps, but
    not what it does not keep.
    """
    figures = [level.figures for level in levels]
    outside_ms = time_outside_requests_ms(figures)
    found = [readings_at_level(each, outside_ms) for each in figures]
    return any(each.saturated or each.starved for each in found)


def _queue_grows(level: Level, verdict: Verdict | None) -> bool:
    """Whether latency has no percentile, since it grows as long as the rate is offered."""
    rates = verdict.rates if verdict is not None else None
    return rates is not None and any(each.level == level.opened.index and each.state == "queue_grows" for each in rates.levels)


def _joined(values: Iterable[array[float]]) -> Series:
    return np.concatenate([np.zeros(0), *values])


def _failures(required: FailuresRequired, levels: Sequence[_Seconds]) -> FailuresAnswer:
    requests = _joined(each.requests for each in levels)
    hits = np.array([float(failed) for each in levels for (failed,) in each.hits])
    total = float(requests.sum())
    if len(requests) < SECONDS_LEAST or not total:
        return FailuresAnswer(required=required, requests=int(total), seconds=float(len(requests)))
    failed, effect = float(hits.sum()), failures_effect(hits, requests, required.most)
    low, high = share_interval(failed, total, effect)
    return FailuresAnswer(
        required=required,
        state=share_state(failed, total, effect, required.most),
        share=failed / total,
        low=low,
        high=high,
        requests=int(total),
        seconds=float(len(requests)),
    )


def _percentile(required: PercentileRequired, levels: Sequence[_Seconds], *, grows: bool) -> PercentileAnswer:
    """`grows`: whether the queue surely grows as long as the load lasts, so that no bound is kept."""
    requests = _joined(each.requests for each in levels)
    total, seconds = float(requests.sum()), float(len(requests))
    latencies = LatencyHistogram()
    for each in levels:
        latencies.add(each.latencies.histogram)
    ms = latencies.percentile_ms(required.percent / 100)
    if seconds < SECONDS_LEAST or not total:
        return PercentileAnswer(required=required, ms=ms, replies=int(total), seconds=seconds)
    most, hits = 1.0 - required.percent / 100, np.array([slow for each in levels for slow in each.hits], float)
    sums_ms = _joined(each.sums_ms for each in levels)
    state, kept_ms, effect = slow_replies(hits, requests, sums_ms, latencies.variance_ms2, most, required.most_ms)
    met, not_met = deciding_hits(total, effect, most)
    # with a greater bound than `high_ms` so few replies are slow that it is met, with a smaller one than `low_ms` too many
    high_ms = min(kept_ms, latencies.percentile_ms(1.0 - met / total) or 0.0) if met is not None else kept_ms
    low_ms = latencies.percentile_ms(1.0 - not_met / total) if not_met is not None else None
    return PercentileAnswer(
        required=required,
        state="not_met" if grows else state,
        ms=ms,
        low_ms=low_ms,
        high_ms=None if grows or math.isinf(high_ms) else high_ms,
        replies=int(total),
        seconds=seconds,
    )


# -- answers of the verdict


def _knee(required: KneeRequired, verdict: Verdict | None) -> KneeAnswer:
    """A knee that the generator may limit is a lower bound of the service's."""
    knee = verdict.capacity.knee if verdict is not None else None
    if knee is None:
        return KneeAnswer(required=required)
    low = high = None
    match knee.kind:
        case "knee":
            low, high = knee.users_low, knee.users_high if knee.limit != "generator" else None
        case "at_or_below":
            high = knee.users_high
        case "no_knee" if knee.confidence != "low":
            low = knee.users
    return KneeAnswer(
        required=required,
        state=_state(required.users, low, high),
        users=knee.users if knee.kind == "knee" else None,
        low_users=low,
        high_users=high,
    )


def _capacity(required: CapacityRequired, verdict: Verdict | None, shown_per_s: float | None) -> CapacityAnswer:
    """Of offered rates if any were, else of users. `shown_per_s`: goodput that a level surely had, whatever the verdict says."""
    per_s = low = high = None
    rates = verdict.rates.capacity if verdict is not None and verdict.rates is not None else None
    knee, curve = (verdict.capacity.knee, verdict.capacity.curve) if verdict is not None else (None, None)
    if rates is not None and rates.kind == "capacity":
        per_s, low, high = rates.per_s, rates.low_per_s, rates.high_per_s
    elif rates is not None:  # a rate that was served in full for some seconds may still exceed the capacity by 5%
        high = rates.high_per_s if rates.kind == "at_or_below" else None
    elif knee is not None and knee.kind == "knee" and curve is not None and curve.capacity_rps is not None:
        per_s, half = curve.capacity_rps, Z90 * (curve.capacity_se_rps or 0.0)
        low, high = per_s - half, per_s + half if knee.limit != "generator" else None
    low = max((each for each in (low, shown_per_s) if each is not None), default=None)
    return CapacityAnswer(required=required, state=_state(required.per_s, low, high), per_s=per_s, low_per_s=low, high_per_s=high)


def _state(least: float, low: float | None, high: float | None) -> State:
    """Whether a figure is at least so much."""
    if low is not None and low >= least:
        return "met"
    return "not_met" if high is not None and high < least else "undecided"


def _shown_per_s(levels: Iterable[Level]) -> float | None:
    """The greatest goodput that one of these levels surely had: of several equal ones the greatest is so by chance."""
    known = []
    for level in levels:
        figures, offered = level.figures, level.figures.offered
        rate, error = (
            (figures.goodput_rps, figures.goodput_se_rps)
            if offered is None
            else (offered.finished_per_s, offered.finished_se_per_s)
        )
        if rate is not None and error is not None and figures.settled_seconds >= SECONDS_LEAST:
            known.append(rate - SURE_ERRORS * max(error, math.sqrt(rate / figures.settled_seconds)))
    return max(known, default=None)
