"""What is exported of a session: one table of metrics, which the writers for Prometheus and OTLP, the dashboard and a test of the
page docs/metrics.md read.

Names follow Prometheus: base units, a suffix for the unit, `_total` for counters. A figure that was not measured has no value,
never 0. Counters and histograms grow over the whole session. The number of series is bounded for any traffic: 50 endpoints
(2,000 series of latency, and of each stage of streams), 20 reasons of failure.
"""

from __future__ import annotations

from ..model import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import errno
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from ..model.columns import ENDPOINTS_MOST, EndpointKey
from ..model.events import EndpointTick, Event, FailureSignature, Mark, Sample
from ..model.histogram import counts_between
from ..model.level_use import level_use
from ..model.load import OfferedTick
from ..model.stages import STAGES, LatencyKind
from ..model.timeline import Timeline, version_of
from ..model.verdicts import CONFIDENCES, Confidence, KneeVerdict
from ..wording.requirements import STATES, text_of

PREFIX = "capexplorer_"

BOUNDS_S: tuple[float, ...] = tuple(float(f"{digits}e{power}") for power in range(-4, 2) for digits in (1, 1.5, 2, 3, 5, 7))
"""Upper bounds of the buckets of latency, 0.1 ms to 70 s: a quantile that Prometheus interpolates is at most a third off."""

_EDGES_US = np.rint(np.array(BOUNDS_S) * 1e6) + 1
"""A value of whole microseconds that equals a bound counts below it, as Prometheus defines `le`."""

REASONS_MOST = 20
OTHER = "{other}"
"""Endpoints and reasons beyond the bounds."""


class Latencies(NamedTuple):
    """A histogram since the session's start."""

    counts: tuple[int, ...]
    """Values in each bucket, not cumulative; the last one has those above all bounds."""
    sum_s: float


_NONE = Latencies((0,) * (len(BOUNDS_S) + 1), 0.0)

Labels = tuple[str, ...]
Value = float | Latencies
Values = Mapping[Labels, Value]
"""By the values of the labels."""


# -- the session so far


class EndpointTotal:
    """One endpoint since the session's start."""

    def __init__(self) -> None:
        self.requests = self.tokens = 0
        self.latencies: dict[LatencyKind, Latencies] = {"total": _NONE}
        """Those of successes, without warm-up."""

    def add(self, tick: EndpointTick) -> None:
        """Add the requests of a second."""
        self.requests += tick.requests + tick.warmup_requests
        self.tokens += tick.tokens
        self._add("total", tick.latency, tick.latency_sum_ms)
        for stage, found in tick.stages.items():
            self._add(stage, found.latency, found.sum_ms)

    def _add(self, kind: LatencyKind, text: str | None, sum_ms: float) -> None:
        if text:
            before = self.latencies.get(kind, _NONE)
            counts = tuple(map(sum, zip(before.counts, counts_between([text], _EDGES_US).tolist(), strict=True)))
            self.latencies[kind] = Latencies(counts, before.sum_s + sum_ms / 1000)


class Totals:
    """A session as far as its events were applied: its timeline, and the sums that no screen needs."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.endpoints: dict[EndpointKey, EndpointTotal] = {}
        self.iterations = Counter[str]()
        """By outcome."""
        self._marks: dict[str, tuple[str, str]] = {}
        self.marks = Counter[Labels]()
        """By kind and id. One that is retracted still counts."""

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        self.timeline.apply(event)
        match event:
            case Sample():
                for tick in event.endpoints:
                    self._endpoint(tick.method, tick.name).add(tick)
                if event.offered is not None:
                    self._add_iterations(event.offered)
            case Mark() if self._marks.get(event.key) != (event.kind, event.id):
                self._marks[event.key] = event.kind, event.id
                self.marks[event.kind, event.id] += 1

    def _endpoint(self, method: str, name: str) -> EndpointTotal:
        known = (method, name) in self.endpoints or len(self.endpoints) < ENDPOINTS_MOST
        return self.endpoints.setdefault((method, name) if known else (OTHER, OTHER), EndpointTotal())

    def _add_iterations(self, offered: OfferedTick) -> None:
        self.iterations.update(finished=offered.finished, failed=offered.failed, dropped=offered.dropped.total)

    @property
    def failures(self) -> Counter[Labels]:
        """Failed requests by method, endpoint and reason, in the order in which they first happened."""
        found, reasons = Counter[Labels](), set[str]()
        for (name, method, signature), failure in self.timeline.failures.items():
            endpoint = (method, name) if (method, name) in self.endpoints else (OTHER, OTHER)
            reason = reason_of(signature)
            reason = reason if reason in reasons or len(reasons) < REASONS_MOST else OTHER
            reasons.add(reason)
            found[*endpoint, reason] += failure.count
        return found

    @property
    def knee(self) -> KneeVerdict | None:
        """Of the present epoch, if it is a knee, or a bound of one from above."""
        verdict = self.timeline.current_verdict
        found = verdict.capacity.knee if verdict is not None else None
        return found if found is not None and found.kind in ("knee", "at_or_below") else None


def reason_of(signature: FailureSignature) -> str:
    """The status `503`, the name of the error `ECONNREFUSED`, or the type of the exception `ReadTimeout`."""
    if signature.errno is not None:
        return errno.errorcode.get(signature.errno, str(signature.errno))
    return str(signature.status or "".join(signature.types[-1:]) or "unknown")


# -- how a figure is read

Read = Callable[[Totals], Values]


def _one(value: float | None) -> Values:
    return {} if value is None or not math.isfinite(value) else {(): float(value)}


def _second(column: str, divided_by: float = 1.0) -> Read:
    """The value of the latest second."""

    def read(totals: Totals) -> Values:
        values = totals.timeline.columns[column]
        return _one(values[-1] / divided_by) if values else {}

    return read


def _session(totals: Totals) -> Values:
    header = totals.timeline.header
    if header is None:
        return {}
    return {(header.id, header.target.name, version_of(totals.timeline) or ""): 1.0}


def _stages(totals: Totals) -> Values:
    """By stage, method and endpoint; only of streams."""
    return {
        (stage, *key): total.latencies[stage]
        for stage in STAGES
        for key, total in totals.endpoints.items()
        if stage in total.latencies
    }


def _tokens(totals: Totals) -> Values:
    """Only of endpoints that had a stream."""
    return {key: float(total.tokens) for key, total in totals.endpoints.items() if len(total.latencies) > 1}


def _disturbed(totals: Totals) -> Values:
    level = totals.timeline.level
    return _one(None if level is None else level_use(level, totals.timeline.verdicts.get(level.opened.epoch)).is_disturbed)


def _knee(field: Literal["users", "users_low", "users_high"]) -> Read:
    """`at_or_below` has an upper bound alone."""

    def read(totals: Totals) -> Values:
        knee = totals.knee
        return _one(None if knee is None or (field == "users" and knee.kind != "knee") else getattr(knee, field))

    return read


def _is_verified(totals: Totals) -> Values:
    knee = totals.knee
    return {} if knee is None or knee.kind != "knee" else _one(not knee.provisional)


def _knee_goodput(totals: Totals) -> Values:
    return _one(None if totals.knee is None else totals.knee.capacity_rps)


def _capacity(field: Literal["per_s", "low_per_s", "high_per_s"]) -> Read:
    def read(totals: Totals) -> Values:
        verdict = totals.timeline.current_verdict
        found = verdict.rate_capacity if verdict is not None else None
        return _one(None if found is None else getattr(found, field))

    return read


def _confidence(totals: Totals) -> Values:
    verdict = totals.timeline.current_verdict
    capacity = verdict.rate_capacity if verdict is not None else None
    found: dict[str, Confidence | None] = {
        "knee": totals.knee.confidence if totals.knee is not None else None,
        "capacity": capacity.confidence if capacity is not None else None,
    }
    return {(of, each): float(each == known) for of, known in found.items() if known is not None for each in CONFIDENCES}


def _requirements(totals: Totals) -> Values:
    answered = totals.timeline.answered
    answers = answered.answers if answered is not None else ()
    return {(text_of(each.required), state): float(state == each.state) for each in answers for state in STATES}


# -- the table

Kind = Literal["gauge", "counter", "histogram"]
Unit = Literal["", "seconds", "bytes", "per_second"]


class Metric(NamedTuple):
    """One metric."""

    name: str
    """Without prefix, unit and `_total`."""
    kind: Kind
    meaning: str
    read: Read
    labels: Labels = ()
    unit: Unit = ""

    @property
    def full_name(self) -> str:
        """As Prometheus shows it."""
        unit, total = self.unit and f"_{self.unit}", "_total" if self.kind == "counter" else ""
        return f"{PREFIX}{self.name}{unit}{total}"

    @property
    def series(self) -> tuple[str, ...]:
        """The names that a query may use."""
        return (
            tuple(self.full_name + end for end in ("_bucket", "_count", "_sum"))
            if self.kind == "histogram"
            else (self.full_name,)
        )


_ENDPOINT: Labels = ("method", "endpoint")

METRICS = (
    Metric("session_info", "gauge", "1, with what is explored", _session, ("session", "target", "version")),
    Metric("session", "gauge", "Time since the session's start", lambda totals: _one(totals.timeline.last_s), unit="seconds"),
    Metric("session_ended", "gauge", "Whether it has ended (0, 1)", lambda totals: _one(totals.timeline.ended is not None)),
    Metric(
        "request_duration", "histogram", "Latency of successes, without warm-up",
        lambda totals: {key: total.latencies["total"] for key, total in totals.endpoints.items()}, _ENDPOINT, "seconds",
    ),
    Metric(
        "request_stage_duration", "histogram", "Stages of successes whose replies are streams: ttfb, ttft, tpot, itl",
        _stages, ("stage", *_ENDPOINT), "seconds",
    ),
    Metric("tokens", "counter", "Tokens, or events, of these streams", _tokens, _ENDPOINT),
    Metric(
        "requests", "counter", "Requests that ended, warm-up and failures included",
        lambda totals: {key: total.requests for key, total in totals.endpoints.items()}, _ENDPOINT,
    ),
    Metric(
        "request_failures", "counter", "Those that failed: status, errno or exception",
        lambda totals: totals.failures, (*_ENDPOINT, "reason"),
    ),
    Metric(
        "iterations", "counter", "At offered rates: finished, failed, dropped",
        lambda totals: {(outcome,): count for outcome, count in totals.iterations.items()}, ("outcome",),
    ),
    Metric("iterations_in_flight", "gauge", "Queued or running", _second("in_flight")),
    Metric("users", "gauge", "Running users", _second("users")),
    Metric("users_wanted", "gauge", "Requested users", _second("wanted")),
    Metric("offered", "gauge", "Iterations offered", _second("offered_per_s"), unit="per_second"),
    Metric("level", "gauge", "Index of the level", _second("level")),
    Metric("settled", "gauge", "Whether the level's figures count this second (0, 1)", _second("settled")),
    Metric("disturbed", "gauge", "Whether other processes disturbed the level (0, 1)", _disturbed),
    Metric("goodput", "gauge", "Finished work in the latest second", _second("goodput_rps"), unit="per_second"),
    Metric("knee_users", "gauge", "Users at the knee", _knee("users")),
    Metric("knee_users_low", "gauge", "Bounds of its 90% interval", _knee("users_low")),
    Metric("knee_users_high", "gauge", "Bounds of its 90% interval", _knee("users_high")),
    Metric("knee_verified", "gauge", "Whether it is verified (0, 1)", _is_verified),
    Metric("knee_goodput", "gauge", "Goodput at the knee", _knee_goodput, unit="per_second"),
    Metric("capacity", "gauge", "Capacity as an offered rate", _capacity("per_s"), unit="per_second"),
    Metric("capacity_low", "gauge", "Bounds of its 90% interval", _capacity("low_per_s"), unit="per_second"),
    Metric("capacity_high", "gauge", "Bounds of its 90% interval", _capacity("high_per_s"), unit="per_second"),
    Metric("confidence", "gauge", "1 for the confidence that holds: high, medium, low", _confidence, ("of", "confidence")),
    Metric("requirement", "gauge", "1 for the answer that holds", _requirements, ("requirement", "state")),
    Metric("generator_lag_p99", "gauge", "Loop lag of the load thread", _second("loop_lag_p99_ms", 1000), unit="seconds"),
    Metric("generator_cpu_cores", "gauge", "CPU of the load thread", _second("generator_cpu_ratio")),
    Metric("generator_memory", "gauge", "Memory of capexplorer", _second("generator_rss_bytes"), unit="bytes"),
    Metric("target_cpu_cores", "gauge", "CPU of the target's processes", _second("target_cpu_ratio")),
    Metric("target_memory", "gauge", "Their memory", _second("target_rss_bytes"), unit="bytes"),
    Metric("host_cpu_cores", "gauge", "CPU of the machine", _second("host_cpu_ratio")),
    Metric("other_processes_cpu_cores", "gauge", "CPU of other processes", _second("others_cpu_ratio")),
    Metric("ephemeral_ports_used", "gauge", "Ports in use", _second("ports_used")),
    Metric("ephemeral_ports_capacity", "gauge", "Ports that there are", _second("ports_capacity")),
    Metric("marks", "counter", "Findings, by kind and id (docs/causes.md)", lambda totals: totals.marks, ("kind", "id")),
)  # fmt: skip
