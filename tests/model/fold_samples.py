"""Ticks of one second as tests write them, and the fold of several."""

from __future__ import annotations

import math
from typing import Any

from kit import scenario

from capexplorer.model.events import EndpointTick, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.level import LevelFold
from capexplorer.model.readings import TargetReading, TcpReading


def endpoint(
    latencies_ms: list[float], name: str = "/a", failures: int = 0, failure_ms: float = 0.0, **more: Any
) -> EndpointTick:
    """One endpoint's second: these successes, and so many failures of `failure_ms` in total."""
    histogram = LatencyHistogram()
    histogram.record_us([value * 1000 for value in latencies_ms])
    return EndpointTick(
        name=name,
        method="GET",
        requests=len(latencies_ms) + failures,
        failures=failures,
        latency=histogram.encode() if latencies_ms else None,
        latency_sum_ms=math.fsum(latencies_ms),
        failure_latency_sum_ms=failure_ms,
        **more,
    )


def second(t_s: float, *endpoints: EndpointTick, **more: Any) -> Sample:
    requests, failed = (sum(getattr(each, name) for each in endpoints) for name in ("requests", "failures"))
    return scenario.second(t_s, rps=requests, failed=failed, endpoints=endpoints, **more)


def folded(*samples: Sample) -> LevelFold:
    fold = LevelFold()
    for sample in samples:
        fold.add(sample)
    return fold


def reading(
    t_s: float, *, settled: bool = True, users: int = 10, queue: int | None = None, queued: float | None = None
) -> Sample:
    """A second without requests, with readings of a target, of TCP and of an application metric."""
    return second(
        t_s,
        settled=settled,
        users=users,
        targets=(TargetReading(pid=1, listen_queue=queue, processes_ended=2),),
        tcp=TcpReading(listen_overflows=int(t_s)),
        app={} if queued is None else {"queued": queued},
    )
