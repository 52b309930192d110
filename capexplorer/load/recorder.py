"""Requests from the load thread to the pump's thread: one struct each through a deque, whose ends are atomic under the GIL.

The hot path appends and nothing else; histograms are filled in the pump's thread, many values a call.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from ..model import outside
from ..model.events import ClientTick, EndpointTick, FailureSignature, Tick
from ..model.histogram import LatencyHistogram
from ..model.kept_request import PlacedRequest
from ..model.reading_means import number_fields
from ..model.stages import LIMIT_NAMES, STAGES, RequestLimits, RequestStages, Stage, StageTick
from . import user_activity
from .arrivals import Ledger, iteration_of_request
from .bounded_keys import EndpointNames, FailureStream
from .connections import closes
from .guard import HostGuard
from .kept_requests import EndedRequest, RequestSampling
from .protocol_codes import as_failure
from .request_counts import attempts_of_request, request_counts
from .signature import full_text, signature_of
from .user_activity import MetricNames, UserActivity
from .user_code import UserCodeFault, UserErrors

EXAMPLES_MOST = 1_000
"""Maximum number of failures recorded in full in a session, one per signature, so that many failures stay cheap."""


class RecordedTick(Tick, frozen=True, kw_only=True):
    """A tick with what only the run itself needs: what it takes to know when a level settles, and the kept requests.

    `t_s` is `time.monotonic` at its end.
    """

    all_latency_sum_ms: float = 0.0
    """Sum of the latencies of `all_requests`."""
    kept: tuple[PlacedRequest, ...] = ()
    """Requests that are kept whole."""


_OF_OTHER_KIND = frozenset(("t_s", "duration_s", "level", "wanted", "suspended_s", "p50_ms", "p95_ms", "p99_ms", "max_ms"))
SUMMED = tuple(name for name in number_fields(RecordedTick) if name not in _OF_OTHER_KIND)
"""Counts and sums: in a tick of several processes they are the sums of theirs, and None if one of these is."""


class _Endpoint:
    """One endpoint's second, while it is added up."""

    def __init__(self) -> None:
        self.latencies_ms: list[float] = []
        self.failure_latency_sum_ms = 0.0
        self.requests = self.failures = self.received_bytes = 0
        self.warmup_requests = self.warmup_failures = 0
        self.all_latency_sum_ms = 0.0
        self.within_limits = self.within_limits_tokens = self.warmup_beyond_limits = 0
        self.beyond = dict.fromkeys(LIMIT_NAMES, 0)
        self.tokens = 0
        self.stages_ms: dict[Stage, list[float]] = {}

    def add_stages(self, stages: RequestStages) -> None:
        self.tokens += stages.tokens
        for stage, values_ms in zip(STAGES, stages.values_ms, strict=True):
            self.stages_ms.setdefault(stage, []).extend(values_ms)


class _Counted(NamedTuple):
    """What the process has counted since its beginning."""

    connects: int
    closed_by_service: int
    closed_by_users: int
    started: int
    reported: int
    abandoned: int
    dropped: int


class InvalidRequestEvent(UserCodeFault):
    """User code fired a request event without a valid measurement; it is left out."""


def _shown(value: object) -> str:
    """The beginning of a value as Python writes it, or its type if the value cannot be written."""
    try:
        return f"{value!r:.60}"
    except Exception:
        return type(value).__name__


class Recorder:
    """`on_request` runs in the load thread, `drain` in the pump's."""

    def __init__(
        self,
        activity: UserActivity | None = None,
        *,
        errors: UserErrors | None = None,
        guard: HostGuard | None = None,
        sampling: RequestSampling | None = None,
        limits: RequestLimits | None = None,
    ) -> None:
        """`errors`: takes what user code does wrong. `guard`: counts the connections that users try to open.
        `sampling`: keeps some requests whole; None: no request is kept. `limits`: which successes count as goodput; None: all.
        """
        self.limits = limits
        """Set before any load."""
        self.metrics = MetricNames()
        """Knows which events of user code are no requests."""
        self._errors, self._guard, self._sampling = errors or UserErrors(), guard, sampling
        self.iterations = Ledger()
        """The outcomes of the iterations of rate levels."""
        self.activity = activity or UserActivity()
        """Knows which requests belong to users that are not warm yet."""
        self.names, self._metric_names = EndpointNames(), EndpointNames()
        self.failures = FailureStream()
        self._requests: deque[EndedRequest] = deque()
        self._is_last = False
        """Whether the next drain is the last one."""
        self._drained_s = time.monotonic()
        self._before = self._counted()
        self._with_text: set[FailureSignature] = set()

    def on_request(
        self,
        request_type: str | None,
        name: str | None,
        response_time: float | None,
        response_length: int | None,
        exception: BaseException | str | None = None,
        response: Any = None,
        start_time: float | None = None,
        url: str | None = None,
        stages: object = None,
        **_: Any,
    ) -> None:
        """Listener of Locust's request event. User code may fire it with any value; an invalid one counts as a user error."""
        try:
            response_ms, length = float(response_time or 0.0), int(response_length or 0)
            method, named = (
                outside.text(str(request_type or ""), outside.NAME_MOST),
                outside.text(str(name or ""), outside.NAME_MOST),
            )
        except Exception:  # user code may fire it with objects of its own
            response_ms, length = math.inf, 0
        if not (abs(response_ms) < outside.GREATEST and 0 <= length < outside.GREATEST):  # NaN is not less either
            took = f"took {_shown(response_time)} ms, {_shown(response_length)} bytes"
            self._errors.add(InvalidRequestEvent(f"request {_shown(name)} {took}: expected a name and two numbers"))
            return
        by_user_code = not user_activity.is_fired_by_client()
        if by_user_code and self.metrics.takes(method, named, user_activity.recognised(response_ms, start_time)):
            failed = FailureSignature(types=()) if exception else None
            warm = self.activity.is_warm()
            self._requests.append(EndedRequest(method, named, response_ms, length, failed, "", (), warm, by_user_code=True))
            return
        staged = stages if isinstance(stages, RequestStages) else None
        exception = as_failure(method, exception) if exception else None
        signature = signature_of(exception, response) if exception else None
        if signature is not None and (iteration := iteration_of_request()) is not None:
            iteration.failed = True
        elif self.limits is not None and self.limits.broken_by(response_ms, staged) and (iteration := iteration_of_request()):
            iteration.is_beyond_limits = True
        full = self._text_of_first(signature, exception, response) if signature is not None and exception else ""
        retried = attempts_of_request(exception, response)
        warm = self.activity.on_request(response_ms)
        ended = EndedRequest(method, named, response_ms, length, signature, full, retried, warm, staged, by_user_code)
        self._requests.append(ended)
        sampling = self._sampling
        if sampling is not None and (sampling.wants(method, named, response_ms) or signature is not None):
            sampling.take(ended, exception, response, start_time, url)

    def _text_of_first(self, signature: FailureSignature, exception: BaseException | str, response: Any) -> str:
        """The full text of the first failure with this signature; empty for later ones, and after EXAMPLES_MOST texts."""
        if signature in self._with_text or len(self._with_text) >= EXAMPLES_MOST:
            return ""
        self._with_text.add(signature)
        return full_text(exception, response)

    def begin_level(self, index: int) -> None:
        """Attribute kept requests from now on to this level. From any thread."""
        if self._sampling is not None:
            self._sampling.begin_level(index)

    def drain_all(self) -> None:
        """Let the next drain, which is the last one, return all waiting failures and kept requests without a bound."""
        self.failures.most_bytes, self._is_last = math.inf, True

    def drain(self, ended_s: float, users: int) -> RecordedTick:
        """Everything since the last call; failures only up to the limit per second. `users`: how many run at its end."""
        endpoints: dict[tuple[str, str], _Endpoint] = defaultdict(_Endpoint)
        metrics: dict[tuple[str, str], _Endpoint] = defaultdict(_Endpoint)
        for _ in range(len(self._requests)):
            request = self._requests.popleft()
            if request.by_user_code and self.metrics.has(request.method, request.name):  # also those before it was recognised
                _count(metrics[self._metric_names.canonical(request.method, request.name)], request, None)
                continue
            key = self.names.canonical(request.method, request.name)
            _count(endpoints[key], request, self.limits)
            if request.signature is not None or request.retried:
                self._count_failures(key, request)
        return self._tick(ended_s, users, endpoints, metrics)

    def _counted(self) -> _Counted:
        counts = request_counts
        connects = 0 if self._guard is None else self._guard.connects
        return _Counted(
            connects, closes.by_service, closes.by_users, counts.started, counts.reported, counts.abandoned, counts.dropped
        )

    def _count_failures(self, key: tuple[str, str], request: EndedRequest) -> None:
        method, name = key
        if request.signature is not None:
            self.failures.add(name, method, request.signature, request.example)
        for signature in request.retried:
            self.failures.add(name, method, signature, retried=True)

    def _tick(
        self,
        ended_s: float,
        users: int,
        endpoints: Mapping[tuple[str, str], _Endpoint],
        metrics: Mapping[tuple[str, str], _Endpoint],
    ) -> RecordedTick:
        everything = LatencyHistogram()
        failures, retried = self.failures.drain()
        before, self._before = self._before, self._counted()
        new = _Counted(*(now - old for now, old in zip(self._before, before, strict=True)))
        for _ in range(new.dropped):
            self._errors.add(UserCodeFault("catch_response=True without a with-block: the request counts as no result"))
        began_s, self._drained_s, ordered = self._drained_s, ended_s, sorted(endpoints.items())
        return RecordedTick(
            t_s=ended_s,
            duration_s=ended_s - began_s,
            users=users,
            endpoints=tuple([_endpoint_tick(*key, endpoint, everything, self.limits) for key, endpoint in ordered]),
            metrics=tuple([_endpoint_tick(*key, metric, LatencyHistogram(), None) for key, metric in sorted(metrics.items())]),
            failures=failures,
            retried=retried,
            clients=ClientTick(started=new.started, reported=new.reported, abandoned=new.abandoned),
            connects=new.connects,
            closed_by_service=new.closed_by_service,
            closed_by_users=new.closed_by_users,
            **asdict(self.activity.drain()),
            warm_users=self.activity.warm_users(),
            offered=self.iterations.drain(),
            **everything.of_tick(),
            all_latency_sum_ms=math.fsum(endpoint.all_latency_sum_ms for endpoint in endpoints.values()),
            kept=self._kept(),
        )

    def _kept(self) -> tuple[PlacedRequest, ...]:
        if self._sampling is None:
            return ()
        kept = self._sampling.drain(all_that_wait=self._is_last)
        return tuple(each.named(*self.names.canonical(*each.endpoint)) for each in kept)


def _count(endpoint: _Endpoint, request: EndedRequest, limits: RequestLimits | None) -> None:
    failed = request.signature is not None
    endpoint.all_latency_sum_ms += request.response_ms
    broken = () if failed or limits is None else limits.broken_by(request.response_ms, request.stages)
    if not request.warm:
        endpoint.warmup_requests += 1
        endpoint.warmup_failures += failed
        endpoint.warmup_beyond_limits += bool(broken)
        return
    endpoint.requests += 1
    endpoint.received_bytes += request.length
    if failed:
        endpoint.failures += 1
        endpoint.failure_latency_sum_ms += request.response_ms
    else:
        endpoint.latencies_ms.append(request.response_ms)
        endpoint.within_limits += not broken
        for limit in broken:
            endpoint.beyond[limit] += 1
        if request.stages is not None:
            endpoint.add_stages(request.stages)
            endpoint.within_limits_tokens += 0 if broken else request.stages.tokens


def _endpoint_tick(
    method: str, name: str, endpoint: _Endpoint, everything: LatencyHistogram, limits: RequestLimits | None
) -> EndpointTick:
    histogram = LatencyHistogram()
    clamped = histogram.record_us([value * 1000 for value in endpoint.latencies_ms]) if endpoint.latencies_ms else 0
    everything.add(histogram)
    return EndpointTick(
        name=name,
        method=method,
        requests=endpoint.requests,
        failures=endpoint.failures,
        received_bytes=endpoint.received_bytes,
        latency=histogram.encode() if histogram.count else None,
        latency_sum_ms=math.fsum(endpoint.latencies_ms),
        failure_latency_sum_ms=endpoint.failure_latency_sum_ms,
        clamped=clamped,
        warmup_requests=endpoint.warmup_requests,
        warmup_failures=endpoint.warmup_failures,
        within_limits=endpoint.within_limits if limits is not None else None,
        within_limits_tokens=endpoint.within_limits_tokens if limits is not None else 0,
        beyond_ttft=endpoint.beyond["ttft"],
        beyond_tpot=endpoint.beyond["tpot"],
        beyond_total=endpoint.beyond["total"],
        warmup_beyond_limits=endpoint.warmup_beyond_limits,
        tokens=endpoint.tokens,
        stages={stage: _stage_tick(values) for stage in STAGES if (values := endpoint.stages_ms.get(stage))},
    )


def _stage_tick(values_ms: list[float]) -> StageTick:
    histogram = LatencyHistogram()
    histogram.record_us([value * 1000 for value in values_ms])
    return StageTick(latency=histogram.encode(), sum_ms=math.fsum(values_ms))
