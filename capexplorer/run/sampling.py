"""One tick's sample: the users' requests, the probes' readings, and the finished work."""

from __future__ import annotations

import msgspec

from ..load.engine import Drained
from ..load.lag import Lag
from ..load.recorder import Tick
from ..model.events import Phase, Sample
from ..model.readings import GeneratorReading, PartReading
from ..probe.probes import Readings
from ..profile import Work


class WorkMeter:
    """Finished work per tick: successful requests, or the growth of the target's own counter."""

    def __init__(self, work: Work) -> None:
        self._metric = work.metric
        self._last: float | None = None

    def read(self, tick: Tick, app: dict[str, float] | None) -> tuple[float | None, float]:
        """(work, work of warm-up requests); work is None when the counter could not be read, now or a tick ago, or fell."""
        if self._metric is None:
            return float(tick.finished), float(tick.finished_warmup)
        value = (app or {}).get(self._metric)
        last, self._last = self._last, value
        if value is None or last is None or value < last:
            return None, 0.0
        return value - last, 0.0


def build(
    *,
    started_s: float,
    ended_s: float,
    level: int,
    wanted: int,
    phase: Phase,
    settled: bool,
    suspended_s: float | None = None,
    drained: Drained,
    work: tuple[float | None, float],
    lag: Lag,
    readings: Readings,
    parts: tuple[PartReading, ...] = (),
) -> Sample:
    """The sample of one tick. `lag`: of the load thread of this process."""
    tick = drained.tick
    p50_ms, p95_ms, p99_ms = tick.latency.percentiles_ms((0.50, 0.95, 0.99)) if tick.latency.count else (None, None, None)
    return Sample(
        t_s=ended_s,
        duration_s=ended_s - started_s if drained.duration_s is None else drained.duration_s,
        level=level,
        users=drained.users,
        wanted=wanted,
        phase=phase,
        settled=settled,
        suspended_s=suspended_s,
        endpoints=tick.endpoints,
        failures=tick.failures,
        retried=tick.retried,
        clients=tick.clients,
        connects=tick.connects,
        closed_by_service=tick.closed_by_service,
        closed_by_users=tick.closed_by_users,
        work=work[0],
        warmup_work=work[1],
        waits=tick.activity.waits,
        wait_sum_s=tick.activity.wait_sum_s,
        sleeps=tick.activity.sleeps,
        sleep_sum_s=tick.activity.sleep_sum_s,
        tasks=tick.activity.tasks,
        task_sum_s=tick.activity.task_sum_s,
        users_stopped=tick.activity.users_stopped,
        warm_users=tick.warm_users,
        offered=tick.offered,
        p50_ms=p50_ms,
        p95_ms=p95_ms,
        p99_ms=p99_ms,
        max_ms=tick.latency.max_ms if tick.latency.count else None,
        generator=_with_lag(readings.generator, lag) if drained.workers is None else _of_workers(drained, readings.generator),
        workers=drained.workers,
        targets=readings.targets,
        host=readings.host,
        neighbours=readings.neighbours,
        ports=readings.ports,
        tcp=readings.tcp,
        app=readings.app or {},
        parts=parts,
    )


def _of_workers(drained: Drained, own: GeneratorReading | None) -> GeneratorReading:
    """The reading of the busiest worker, with the CPU of the threads of this process that draw the screen and record."""
    own, found = own or GeneratorReading(), drained.generator or GeneratorReading()
    return msgspec.structs.replace(found, screen_cpu_ratio=own.screen_cpu_ratio, recorder_cpu_ratio=own.recorder_cpu_ratio)


def _with_lag(generator: GeneratorReading | None, lag: Lag) -> GeneratorReading:
    return msgspec.structs.replace(
        generator or GeneratorReading(),
        loop_lag_p50_ms=lag.p50_ms,
        loop_lag_p99_ms=lag.p99_ms,
        loop_lag_max_ms=lag.max_ms,
        blocked_at=lag.blocked_at,
    )
