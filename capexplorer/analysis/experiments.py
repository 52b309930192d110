"""What experiments at a knee show: which causes of the limit each outcome rules out, and which one it supports.

All experiments of an epoch have the same number of users, beyond the knee, and are compared with a level as before, of goodput
X. The reasons are laws of operational analysis (Denning & Buzen 1978), which hold for any distribution of times. A station that
serves c requests at a time, each for D on average, has the capacity c / D, and D is at most R0, the mean response at low load:
so X R0 >= c. A rate limit knows no D: its X is the same for any kind of request.

| outcome | rules out | why |
| --- | --- | --- |
| one endpoint alone, the others, or another path: clearly more goodput | generator, a link that then carries more | it can |
| the same, while all requests wait about as long before | rate limit | it would count all of them |
| 1 <= X R0 < ONE_MOST, of each kind of requests | pool | c < 2 |
| X R0 < NONE_MOST, and X is the same with half the pauses and of other requests | lock, pool, queue, CPU | c < 1 |
| a connection a task: not clearly more | queue | idle connections hold no worker |
| the same: clearly more | lock, pool, rate limit, CPU, link, generator | idle connections held the workers |
| half more or fewer slots: goodput follows | all but the pool, with processes also but a lock | |

A cause is confirmed if it is the only one that is left and an outcome supports it. Nothing is, if half the pauses bring more
goodput (the load was not at the limit), or if two levels as before differ (the service changed).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from ..model.experiments import Experiment, Explanation, Inference, LimitCause, Outcome, Result
from ..model.intervals import Z95
from ..model.level import Level
from ..model.stages import LIMIT_NAMES
from ..model.timeline import Timeline
from ..model.verdicts import KneeVerdict, Limit
from .bottleneck.measured_level import level_outside
from .bottleneck.queue_rules import QUEUED_LEAST, is_idle
from .statistics import COUNT_LEAST, MOSTLY, NOTABLE, SURE_ERRORS

SETTLED_LEAST_S = 5.5
"""Settled seconds without which a level of an experiment shows nothing."""

MORE, LESS = 1.15, 0.85
"""Ratios of goodputs beyond which an experiment has changed it, where the interval is beyond them as well."""

CLEAR_ERRORS = 4.1
"""Two equal goodputs differ by more standard errors, in one direction, in 0.1% (Student's t, ten degrees of freedom). With 2.6
connections, and slots that had no effect, were taken for the limit of 2 of 40 simulated services."""

SAME = 0.1
"""An interval of the ratio within this much of 1 is equality."""

ERROR_LEAST = 0.01
"""Relative standard error that each goodput has at least: six batches may agree by chance."""

LIMITED_MOST = 0.8
"""A kind of requests is limited if its goodput is at most this share of that of users who never wait, N / (R0 + Z)."""

LOW_LOAD = 0.5
"""Share of the knee up to which a level shows responses at low load."""

ONE_MOST, NONE_MOST = 1.5, 0.4
"""Bounds of X R0, with its error: below the first at most one request is served at a time, below the second none is, so that time
itself is the limit. A lock or pool whose holds become longer under load by half, or 2.5 times, would be taken for these."""

P95_LEAST = 1.5
"""Standard deviations from the mean to the 95th percentile: 1.56 of uniform times, 2 of exponential ones."""

SPREAD_LEAST = 0.1
"""Least coefficient of variation of responses that is assumed."""

UNCLEAR = ("lock_or_pool_limit", "rate_limit", "unwatched_party")
"""Bottlenecks that leave several causes; all others name one."""

WITHOUT: tuple[Limit, ...] = ("generator", "errors", "queue_growth", *LIMIT_NAMES)
"""Limits of a knee that experiments do not explain."""

ALL: tuple[LimitCause, ...] = ("lock", "pool", "rate_limit", "queue", "cpu", "link", "generator")


def causes_of(timeline: Timeline, epoch: int) -> tuple[LimitCause, ...]:
    """What may limit the service at the knee of an epoch, without experiments; empty: there is no knee that they could
    explain, or readings name the cause already.
    """
    verdict = timeline.verdicts.get(epoch)
    knee = verdict.capacity.knee if verdict is not None else None
    if knee is None or knee.kind != "knee" or knee.peak is not None or knee.limit in WITHOUT:
        return ()
    blamed = [
        mark
        for mark in timeline.marks.values()
        if mark.kind == "bottleneck" and mark.epoch == epoch and mark.state != "retracted" and mark.severity != "info"
    ]
    beyond = [mark for mark in blamed if (mark.users or 0.0) >= (knee.users_low or 0.0)]
    is_named = any(mark.id not in UNCLEAR or mark.finding.figures().get("how") == "refuses" for mark in beyond)
    return () if is_named else ALL


def experiments(timeline: Timeline, epoch: int) -> list[Level]:
    """The levels of an epoch that are experiments."""
    return [each for each in timeline.levels if each.opened.epoch == epoch and each.opened.experiment is not None]


def explain(timeline: Timeline, epoch: int) -> Explanation | None:
    """What the experiments of an epoch have shown; None: there were none, or no level as before to compare them with."""
    tried = (Shown.of(each) for each in experiments(timeline, epoch))
    shown = [each for each in tried if each is not None and each.experiment.name != "few_users"]
    before = next((each for each in shown if each.experiment.name == "as_before"), None)
    causes = causes_of(timeline, epoch)
    verdict = timeline.verdicts.get(epoch)
    if before is None or verdict is None or verdict.capacity.knee is None or not causes:
        return None
    return Comparison(
        before, shown, causes, LowLoad.of(timeline, epoch, verdict.capacity.knee), tuple(_idle(timeline, before.level))
    ).explanation


def _idle(timeline: Timeline, level: Level) -> Iterator[LimitCause]:
    """What its readings show not to be the limit at a level."""
    found = level_outside(timeline, level)
    if found is None:
        return
    if found.figures.generator_cpu_ratio is not None and found.figures.generator_cpu_ratio < GENERATOR_IDLE_MOST:
        yield "generator"
    if is_idle(found):
        yield "cpu"
    waiting = found.read("target.listen_queue")
    if waiting is not None and waiting < QUEUED_LEAST:
        yield "queue"
    speed, received = found.host.link_bytes_per_s, found.figures.received_bytes_per_s
    if found.is_loopback or (speed and received is not None and received < MOSTLY * speed):
        yield "link"


class Shown(msgspec.Struct, frozen=True):
    """The level of an experiment that has figures."""

    level: Level
    experiment: Experiment
    goodput_rps: float
    error: float
    """Relative standard error of goodput."""

    @classmethod
    def of(cls, level: Level) -> Shown | None:
        """None: too short, or too many of its requests fail."""
        figures, experiment = level.figures, level.opened.experiment
        if experiment is None or not figures.goodput_rps or figures.settled_seconds < SETTLED_LEAST_S:
            return None
        if (figures.failure_ratio or 0.0) > NOTABLE or figures.goodput_se_rps is None or level.void is not None:
            return None
        return cls(level, experiment, figures.goodput_rps, max(ERROR_LEAST, figures.goodput_se_rps / figures.goodput_rps))

    @property
    def index(self) -> int:
        """Of the level."""
        return self.level.opened.index

    def beside(self, before: Shown) -> Outcome:
        """Goodput beside that of another level."""
        ratio = self.goodput_rps / before.goodput_rps
        error = math.hypot(self.error, before.error)
        sure, clear = SURE_ERRORS * error, CLEAR_ERRORS * error
        result: Result = "unclear"
        if ratio * (1 - clear) > 1 and ratio >= MORE:
            result = "more"
        elif ratio * (1 + clear) < 1 and ratio <= LESS:
            result = "less"
        elif ratio * (1 - sure) >= 1 - SAME and ratio * (1 + sure) <= 1 + SAME:
            result = "same"
        return Outcome(
            experiment=self.experiment,
            level=self.index,
            result=result,
            goodput_rps=self.goodput_rps,
            ratio=ratio,
            ratio_low=ratio * (1 - Z95 * error),
            ratio_high=ratio * (1 + Z95 * error),
        )


class LowLoad(msgspec.Struct, frozen=True):
    """Mean responses at low load in s, by endpoint: (mean, its relative standard error)."""

    by_endpoint: dict[str, tuple[float, float]]
    pause_s: float
    """Mean pause of users between two requests."""

    @classmethod
    def of(cls, timeline: Timeline, epoch: int, knee: KneeVerdict) -> LowLoad:
        """Of each endpoint the level, or levels from the lowest on, whose mean has the lowest upper bound: it is one of the
        time for which requests hold the limit.
        """
        verdict = timeline.verdicts.get(epoch)
        left_out = verdict.left_out_levels if verdict is not None else ()
        own = [
            each
            for each in timeline.levels
            if each.opened.epoch == epoch
            and (each.opened.experiment is None or each.opened.experiment.name == "few_users")
            and each.load.per_s is None
            and 0 < each.users <= LOW_LOAD * (knee.users or 0.0)
            and each.figures.settled
            and each.opened.index not in left_out
        ]
        found: dict[str, tuple[float, float]] = {}
        levels = sorted(own, key=lambda each: each.users)
        together = [levels[: count + 1] for count in range(1, len(levels))]
        for group in ([each] for each in levels), together:
            for name, known in ((name, known) for each in group for name, known in _means(each).items()):
                if name not in found or _most(known) < _most(found[name]):
                    found[name] = known
        pauses = [each.figures.pause_s for each in own if each.figures.pause_s is not None]
        return cls(found, min(pauses, default=0.0))

    def of_level(self, level: Level) -> tuple[float, float] | None:
        """(mean response in s at low load of the requests of a level, its relative error); None: not known of all endpoints."""
        counts = [(f"{each.method} {each.name}", each.requests - each.failures) for each in level.endpoints]
        counts = [(name, count) for name, count in counts if count > 0]
        if not counts or any(name not in self.by_endpoint for name, _ in counts):
            return None
        total = sum(count for _, count in counts)
        parts = [(count / total * self.by_endpoint[name][0], self.by_endpoint[name][1]) for name, count in counts]
        mean_s = math.fsum(part for part, _ in parts)
        return mean_s, math.hypot(*(part * error for part, error in parts)) / mean_s


def _means(levels: Sequence[Level]) -> dict[str, tuple[float, float]]:
    """Mean response of each endpoint over levels in s, with its relative standard error, where it has enough requests."""
    sums: dict[str, tuple[int, float, float]] = {}
    for each in (endpoint for level in levels for endpoint in level.endpoints):
        name, latency, more = f"{each.method} {each.name}", each.latency_ms, each.requests - each.failures
        if latency.mean is not None and latency.p95 is not None and more > 0:
            count, total_ms, spread_ms = sums.get(name, (0, 0.0, 0.0))
            spread = max(0.0, latency.p95 - latency.mean) / P95_LEAST
            sums[name] = count + more, total_ms + more * latency.mean, spread_ms + more * spread
    return {
        name: (total_ms / count / 1000, max(spread_ms / total_ms, SPREAD_LEAST) / math.sqrt(count))
        for name, (count, total_ms, spread_ms) in sums.items()
        if count >= COUNT_LEAST
    }


def _most(mean: tuple[float, float]) -> float:
    """Upper bound of a mean."""
    return mean[0] * (1 + SURE_ERRORS * mean[1])


class Comparison(msgspec.Struct, frozen=True, dict=True):
    """The experiments of an epoch beside the level as before."""

    before: Shown
    shown: Sequence[Shown]
    causes: tuple[LimitCause, ...]
    low: LowLoad
    idle: tuple[LimitCause, ...]
    """Causes that the readings of that level rule out."""

    @cached_property
    def explanation(self) -> Explanation:
        """The whole result."""
        others = [each for each in self.shown if each is not self.before]
        outcomes = tuple(each.beside(self.before if each in self._as_before else self._baseline) for each in others)
        unsteady = any(_contradicts(each) for each in outcomes)
        inferences = () if unsteady else tuple(self._inferences(outcomes))
        excluded = {cause for each in inferences for cause in each.excludes}
        supported = {each.supports for each in inferences}
        left = tuple(cause for cause in self.causes if cause not in excluded)
        return Explanation(
            users=self.before.level.users,
            causes=self.causes,
            outcomes=outcomes,
            inferences=inferences,
            left=left,
            confirmed=left[0] if len(left) == 1 and left[0] in supported else None,
            unsteady=unsteady,
        )

    @cached_property
    def _as_before(self) -> list[Shown]:
        return [each for each in self.shown if each.experiment.name == "as_before"]

    @cached_property
    def _baseline(self) -> Shown:
        """The levels as before together; their difference is at least its error."""
        rates = [each.goodput_rps for each in self._as_before]
        mean = math.fsum(rates) / len(rates)
        own = math.hypot(*(each.error * each.goodput_rps for each in self._as_before)) / len(rates)
        error = max(ERROR_LEAST, own / mean, (max(rates) - min(rates)) / 2 / mean)
        return replace(self.before, goodput_rps=mean, error=error)

    def _inferences(self, outcomes: Sequence[Outcome]) -> Iterator[Inference]:
        if self.idle:
            yield Inference(reason="readings", levels=(self.before.index,), excludes=self.idle)
        yield from self._served_more(outcomes)
        yield from self._counts_work(outcomes)
        yield from self._at_a_time(outcomes)
        for each in outcomes:
            if each.experiment.name == "slots":
                yield from self._of_slots(each)
            elif each.experiment.name == "reconnect" and each.ratio_high < MORE:
                yield Inference(reason="connections_do_not_hold", levels=(each.level,), excludes=("queue",), value=each.ratio)
            elif each.experiment.name == "reconnect" and each.result == "more":
                others = tuple(cause for cause in ALL if cause != "queue")
                yield Inference(
                    reason="connections_hold", levels=(each.level,), excludes=others, supports="queue", value=each.ratio
                )

    def _served_more(self, outcomes: Iterable[Outcome]) -> Iterator[Inference]:
        for each in outcomes:
            if each.experiment.name in ("alone", "without", "path") and each.result == "more":
                carried = next(shown for shown in self.shown if shown.index == each.level).level.figures.received_bytes_per_s
                before = self.before.level.figures.received_bytes_per_s
                link: tuple[LimitCause, ...] = ("link",) if carried and before and carried > MORE * before else ()
                yield Inference(
                    reason="served_more",
                    levels=(each.level,),
                    excludes=("generator", *link),
                    endpoint=each.experiment.endpoint,
                    value=each.ratio,
                )

    def _of_slots(self, outcome: Outcome) -> Iterator[Inference]:
        """Goodput with another number of slots. Equal goodput shows that this parameter is not the limit, but no other pool."""
        experiment = outcome.experiment
        if experiment.before is None or experiment.after is None or experiment.param is None:
            return
        found = Inference(reason="slots_do_not_matter", levels=(outcome.level,), param=experiment.param, value=outcome.ratio)
        wanted: Result = "more" if experiment.after > experiment.before else "less"
        half = 1 + (experiment.after / experiment.before - 1) / 2
        if outcome.result == wanted and (outcome.ratio >= half if wanted == "more" else outcome.ratio <= half):
            kept = ("pool", "lock", "cpu") if self._may_be_processes(outcome) else ("pool",)
            excluded = tuple(cause for cause in ALL if cause not in kept)
            yield replace(found, reason="slots_matter", excludes=excluded, supports="pool")
        elif outcome.ratio_high < half if wanted == "more" else outcome.ratio_low > half:
            yield found

    def _may_be_processes(self, outcome: Outcome) -> bool:
        """Whether the slots are processes, each with locks of its own: the target then has another number of them."""
        after = next(each for each in self.shown if each.index == outcome.level)
        counts = [each.level.figures.readings.get("target.processes") for each in (self.before, after)]
        return counts[0] != counts[1] or (counts[0] is None and outcome.experiment.param in PROCESSES)

    # -- what the limit counts

    def _counts_work(self, outcomes: Iterable[Outcome]) -> Iterator[Inference]:
        """All requests wait for the limit, and of one kind it lets more through than of all: a rate limit would not."""
        if not self._all_wait:
            return
        for each in outcomes:
            if each.experiment.name in ("alone", "without") and each.result == "more":
                yield Inference(
                    reason="counts_work",
                    levels=(self.before.index, each.level),
                    excludes=("rate_limit",),
                    endpoint=each.experiment.endpoint,
                    value=each.ratio,
                )

    @cached_property
    def _all_wait(self) -> bool:
        """Whether requests of all endpoints wait about as long at the load of the experiments."""
        waits_s = []
        for each in self.before.level.endpoints:
            low_s, _ = self.low.by_endpoint.get(f"{each.method} {each.name}", (math.nan, 0.0))
            waits_s.append((each.latency_ms.mean or 0.0) / 1000 - low_s)
        return bool(waits_s) and min(waits_s) >= WAIT_LEAST * max(waits_s) > 0

    def _is_limited(self, shown: Shown) -> bool:
        known = self.low.of_level(shown.level)
        if known is None:
            return False
        free_rps = shown.level.users / (known[0] * (1 + SURE_ERRORS * known[1]) + self._pause_s(shown))
        return shown.goodput_rps * (1 + SURE_ERRORS * shown.error) <= LIMITED_MOST * free_rps

    @staticmethod
    def _pause_s(shown: Shown) -> float:
        return shown.level.figures.pause_s or 0.0

    # -- how many requests the limit serves at a time

    def _at_a_time(self, outcomes: Sequence[Outcome]) -> Iterator[Inference]:
        limited = [(shown, known) for shown in self.shown if (known := self._served_at_a_time(shown)) is not None]
        if self._counts_alike(outcomes):
            for shown, (at_a_time, most) in limited:
                if most < NONE_MOST:
                    yield Inference(
                        reason="faster_than_its_rate",
                        levels=(shown.index,),
                        excludes=("lock", "pool", "queue", "cpu"),
                        supports="rate_limit",
                        endpoint=shown.experiment.endpoint,
                        value=at_a_time,
                    )
        kinds = [each for each in limited if each[0].experiment.name in ("alone", "without")]
        kinds = kinds or [each for each in limited if each[0] is self.before]
        if kinds and all(1 <= most < ONE_MOST for _, (_, most) in kinds):
            for shown, (at_a_time, _) in kinds:
                yield Inference(
                    reason="one_at_a_time",
                    levels=(shown.index,),
                    excludes=("pool",),
                    supports="lock",
                    endpoint=shown.experiment.endpoint,
                    value=at_a_time,
                )

    def _served_at_a_time(self, shown: Shown) -> tuple[float, float] | None:
        """(requests that the limit serves at a time at most, the upper bound of that number); None: not known, or not limited."""
        known = self.low.of_level(shown.level) if shown.experiment.name in ("as_before", "alone", "without") else None
        if known is None or not self._is_limited(shown):
            return None
        at_a_time = shown.goodput_rps * known[0]
        return at_a_time, at_a_time * (1 + SURE_ERRORS * math.hypot(known[1], shown.error))

    def _counts_alike(self, outcomes: Iterable[Outcome]) -> bool:
        """Whether goodput is the same with half the pauses, and for requests of other kinds."""
        same = {each.experiment.name for each in outcomes if each.result == "same"}
        return "half_pauses" in same and ({"alone", "without"} <= same or "path" in same)

    def _named(self, *names: str) -> list[Shown]:
        return [each for each in self.shown if each.experiment.name in names]


WAIT_LEAST = 0.5
"""Share of the longest mean wait of an endpoint that requests of all others wait if they stand in the same queue."""

GENERATOR_IDLE_MOST = 0.7
"""Cores that a load thread uses at most if it cannot be the limit."""


PROCESSES = ("workers", "processes")
"""Parameters that are numbers of processes, each of which has locks and pools of its own."""


def _contradicts(outcome: Outcome) -> bool:
    """Whether an outcome shows that the experiments cannot be compared."""
    differs = (outcome.ratio >= MORE and outcome.ratio_low > 1) or (outcome.ratio <= LESS and outcome.ratio_high < 1)
    return differs and outcome.experiment.name in ("half_pauses", "as_before")
