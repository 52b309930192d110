"""The generator's readings over the latest settled seconds of a level: whether it is saturated now.

`generator_saturation` tests whole levels by the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ...model.events import Sample
from ...model.readings import GeneratorReading
from .generator_saturation import CYCLES_LEAST, PROCESS_THEN_THREADS
from .known_values import all_known, mean_of_all, mean_of_known, median_of_known, remainder
from .saturation_readings import SaturationReadings


def readings_over_seconds(ticks: Sequence[Sample], outside_requests_ms: float = 0.0) -> SaturationReadings:
    """The generator's readings over settled seconds of one level. Loop lag is that of the median second, so that one burst of
    other processes is no saturation. `outside_requests_ms`: the result of `time_outside_requests_ms`.
    """
    read = [tick.generator for tick in ticks if tick.generator is not None]
    little_ratio, unaccounted_ms = _little_over(ticks, outside_requests_ms) or (None, None)
    return SaturationReadings(
        busy_ratio=mean_of_known([_busy_of(each) for each in read]),
        threads_ratio=mean_of_all([remainder(*(getattr(each, name) for name in PROCESS_THEN_THREADS)) for each in read]),
        loop_lag_p99_ms=median_of_known([each.loop_lag_p99_ms for each in read]),
        loop_lag_p50_ms=median_of_known([each.loop_lag_p50_ms for each in read]),
        little_ratio=little_ratio,
        unaccounted_ms=unaccounted_ms,
        target_cpu_ratio=mean_of_known([_cpu_of_targets(tick) for tick in ticks]),
        listen_queue=mean_of_known([target.listen_queue for tick in ticks for target in tick.targets]),
        run_delay_ratio=mean_of_known([each.run_delay_ratio for each in read]),
        others_cpu_ratio=mean_of_all([_others_of(tick) for tick in ticks]),
    )


def _little_over(ticks: Sequence[Sample], outside_requests_ms: float) -> tuple[float, float] | None:
    """(user-seconds divided by those accounted for, ms per request not accounted for).

    None if too few cycles were measured, and at an offered rate, whose pool has idle users.
    """
    if any(tick.offered is not None for tick in ticks):
        return None
    requests = sum(each.requests for tick in ticks for each in tick.endpoints)
    users = fmean(tick.users for tick in ticks) if ticks else 0.0
    if not users or requests < CYCLES_LEAST * users:
        return None
    responses_s = sum(each.latency_sum_ms + each.failure_latency_sum_ms for tick in ticks for each in tick.endpoints) / 1000
    pauses_s = sum(tick.wait_sum_s + (tick.sleep_sum_s or 0.0) for tick in ticks)
    accounted_s = responses_s + pauses_s + requests * outside_requests_ms / 1000
    user_s = sum(tick.users * tick.duration_s for tick in ticks)
    return (user_s / accounted_s, 1000 * (user_s - accounted_s) / requests) if accounted_s > 0 else None


def _others_of(tick: Sample) -> float | None:
    """Cores used by other processes. In older logs without this reading: those of the host less those of target and generator."""
    if tick.neighbours is not None:
        return tick.neighbours.cpu_ratio
    generator = tick.generator.process_cpu_ratio if tick.generator is not None else None
    host = tick.host.cpu_ratio if tick.host is not None else None
    return remainder(host, generator, *(target.cpu_ratio for target in tick.targets)) if tick.targets else None


def _busy_of(generator: GeneratorReading) -> float | None:
    return None if generator.cpu_ratio is None else generator.cpu_ratio + (generator.run_delay_ratio or 0.0)


def _cpu_of_targets(tick: Sample) -> float | None:
    """Cores used by all targets; None if there are none, or one was not measured."""
    known = all_known([target.cpu_ratio for target in tick.targets])
    return sum(known) if known else None
