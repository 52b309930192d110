"""The sample of a simulated second, as a run records it."""

from __future__ import annotations

from typing import Any

from capexplorer.load.recorder import Tick
from capexplorer.model.events import Phase, Sample

from .machine import Machine


def sample_of(
    tick: Tick, read: Machine, *, t_s: float, level: int, users: int, phase: Phase, settled: bool, **more: Any
) -> Sample:
    """The second that ends at `t_s`. `more`: fields that only one kind of run has."""
    p95_ms, p99_ms = tick.latency.percentiles_ms((0.95, 0.99))
    return Sample(
        t_s=t_s,
        duration_s=1.0,
        level=level,
        users=users,
        wanted=users,
        phase=phase,
        settled=settled,
        endpoints=tick.endpoints,
        failures=tick.failures,
        work=float(tick.finished),
        p95_ms=p95_ms,
        p99_ms=p99_ms,
        generator=read.generator,
        host=read.host,
        targets=(read.target,),
        neighbours=read.neighbours,
        **more,
    )
