"""Merges the seconds of workers into one tick: adds counts and sums, and merges histograms. In the recorder's thread; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ...model.events import ClientTick, EndpointTick
from ...model.histogram import LatencyHistogram, merged
from ..endpoints import EndpointNames
from ..failures import FailureStream
from ..recorder import Tick
from ..user_activity import ActivitySums
from .second import Activity, WorkerSecond

_COUNTED = (
    "requests", "failures", "received_bytes", "latency_sum_ms", "failure_latency_sum_ms", "clamped",
    "warmup_requests", "warmup_failures",
)  # fmt: skip
"""Fields of an EndpointTick that are summed."""


class Merging:
    """The merging of one session. It bounds endpoint names and failures of all workers together; each worker bounds its own."""

    def __init__(self, work_endpoints: Iterable[str] = ()) -> None:
        self.names = EndpointNames()
        self.failures = FailureStream()
        self._work_endpoints = frozenset(work_endpoints)

    def tick(self, seconds: Sequence[WorkerSecond]) -> Tick:
        """The seconds of all workers, merged. A worker may have given several, or none."""
        self._count_failures(seconds)
        failures, retried = self.failures.drain()
        everything, endpoints = LatencyHistogram(), []
        for key, ticks in sorted(self._by_endpoint(seconds).items()):
            tick, histogram = _merged(key, ticks)
            endpoints.append(tick)
            everything.add(histogram)
        work = [each for each in endpoints if not self._work_endpoints or f"{each.method} {each.name}" in self._work_endpoints]
        return Tick(
            endpoints=tuple(endpoints),
            failures=failures,
            retried=retried,
            clients=_clients(seconds),
            connects=sum(second.connects for second in seconds),
            closed_by_service=sum(second.closed_by_service for second in seconds),
            closed_by_users=sum(second.closed_by_users for second in seconds),
            activity=_activity(seconds),
            warm_users=_warm_users(seconds),
            latency=everything,
            all_requests=sum(second.all_requests for second in seconds),
            all_latency_sum_ms=math.fsum(second.all_latency_sum_ms for second in seconds),
            finished=sum(each.requests - each.failures for each in work),
            finished_warmup=sum(each.warmup_requests - each.warmup_failures for each in work),
        )

    def drain_all_failures(self) -> None:
        """Let the next tick, which is the last, have all waiting failures without a bound."""
        self.failures.most_bytes = math.inf

    def _by_endpoint(self, seconds: Sequence[WorkerSecond]) -> dict[tuple[str, str], list[EndpointTick]]:
        found: dict[tuple[str, str], list[EndpointTick]] = {}
        for second in seconds:
            for tick in second.endpoints:
                found.setdefault(self.names.canonical(tick.method, tick.name), []).append(tick)
        return found

    def _count_failures(self, seconds: Sequence[WorkerSecond]) -> None:
        for second in seconds:
            for retried, failures in ((False, second.failures), (True, second.retried)):
                for each in failures:
                    method, name = self.names.canonical(each.method, each.name)
                    self.failures.add(name, method, each.signature, each.example or "", retried=retried, count=each.count)


def _merged(key: tuple[str, str], ticks: Sequence[EndpointTick]) -> tuple[EndpointTick, LatencyHistogram]:
    method, name = key
    texts = [tick.latency for tick in ticks if tick.latency]
    histogram = merged(texts)
    counts: dict[str, Any] = {field: sum(getattr(tick, field) for tick in ticks) for field in _COUNTED}
    latency = None if not histogram.count else texts[0] if len(texts) == 1 else histogram.encode()
    return EndpointTick(name=name, method=method, latency=latency, **counts), histogram


def _activity(seconds: Sequence[WorkerSecond]) -> ActivitySums:
    fields = Activity.__struct_fields__
    return ActivitySums(*(sum(getattr(second.activity, field) for second in seconds) for field in fields))


def _clients(seconds: Sequence[WorkerSecond]) -> ClientTick | None:
    """Requests as all clients count them; None if a worker does not."""
    known = [second.clients for second in seconds if second.clients is not None]
    if len(known) < len(seconds):
        return None
    return ClientTick(**{field: sum(getattr(each, field) for each in known) for field in ClientTick.__struct_fields__})


def _warm_users(seconds: Sequence[WorkerSecond]) -> int | None:
    """Warm users of all workers; None if one does not report them. Several seconds of one worker are all added: such a tick is
    not whole and counts in no figures.
    """
    known = [second.warm_users for second in seconds if second.warm_users is not None]
    return sum(known) if len(known) == len(seconds) else None
