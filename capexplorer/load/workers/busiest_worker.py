"""The readings of the workers in one tick: that of the busiest represents the generator, and a bounded number of workers has
rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Protocol

from ...model.readings import WORKER_ROWS, GeneratorReading, WorkerReading, WorkersReading
from .gathering import Gathered
from .second import WorkerSecond


class WorkerFacts(Protocol):
    """The facts of a worker that do not change from second to second."""

    name: str
    is_here: bool

    @property
    def is_plain(self) -> bool:
        """Whether it is a plain Locust worker."""


def busiest(seconds: Mapping[str, WorkerSecond]) -> GeneratorReading | None:
    """The reading of the worker whose load thread used or waited for a core most; None if no worker gave one."""
    found = _busiest(seconds)
    return seconds[found].generator if found is not None else None


def _busiest(seconds: Mapping[str, WorkerSecond]) -> str | None:
    known = {worker: busy for worker, second in seconds.items() if (busy := _busy(second)) is not None}
    return max(known, key=lambda worker: known[worker]) if known else None


def _busy(second: WorkerSecond) -> float | None:
    reading = second.generator
    if reading is None or reading.cpu_ratio is None:
        return None
    return reading.cpu_ratio + (reading.run_delay_ratio or 0.0)


def workers_reading(known: Mapping[str, WorkerFacts], gathered: Gathered) -> WorkersReading:
    """All workers in one tick."""
    seconds = dict(gathered.seconds)
    name = _busiest(seconds)
    here = [seconds[worker].generator for worker, each in known.items() if each.is_here and worker in seconds]
    return WorkersReading(
        count=len(known),
        fullest=known[name].name if name is not None and name in known else None,
        late=len(gathered.late),
        plain=sum(each.is_plain for each in known.values()),
        cpu_ratio=_sum(second.generator.cpu_ratio if second.generator else None for second in seconds.values()),
        here_cpu_ratio=_sum(each.process_cpu_ratio if each else None for each in here),
        rows=tuple(_row(known[worker], seconds.get(worker), worker in gathered.late) for worker in _kept(known, seconds)),
    )


def _kept(known: Mapping[str, WorkerFacts], seconds: Mapping[str, WorkerSecond]) -> list[str]:
    """The at most WORKER_ROWS workers that have rows, in the order in which they joined: those without a report, then the
    busiest.
    """
    busy = {worker: math.inf if worker not in seconds else _busy(seconds[worker]) or 0.0 for worker in known}
    most = set(sorted(busy, key=lambda worker: -busy[worker])[:WORKER_ROWS])
    return [worker for worker in known if worker in most]


def _row(worker: WorkerFacts, second: WorkerSecond | None, is_late: bool) -> WorkerReading:
    if second is None:
        return WorkerReading(name=worker.name, is_late=is_late)
    generator = second.generator or GeneratorReading()
    return WorkerReading(
        name=worker.name,
        users=second.users,
        requests=second.all_requests,
        cpu_ratio=generator.cpu_ratio,
        run_delay_ratio=generator.run_delay_ratio,
        loop_lag_p99_ms=generator.loop_lag_p99_ms,
        fds=generator.fds,
        fds_limit=generator.fds_limit,
        ports_used=second.ports.used if second.ports is not None else None,
        is_late=is_late,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    given = list(values)
    known = [value for value in given if value is not None]
    return math.fsum(known) if known and len(known) == len(given) else None
