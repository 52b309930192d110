"""Levels of offered rates of a simulated service, as the detector gets them, and waiting times by queueing theory.

Seeds: thresholds were tuned on 0-199 and checked once on 500,000 and up; benchmarks report 510,000 and up; tests use
200,000 and up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from capexplorer.analysis.knee.rate_level import RateLevel
from capexplorer.model.slice import batch_error

from .open_queue import Iteration, OpenRun
from .queues import System

SETTLING_S = 3


def level_of(run: OpenRun, rate_per_s: float, seconds: int, index: int = 0) -> RateLevel:
    """Offer a rate for SETTLING_S + `seconds`; the figures are those of the last `seconds`."""
    run.offer(rate_per_s)
    began_s = run.now_s
    run.until(began_s + SETTLING_S)
    due, dropped, at_cap = run.due, run.dropped, run.at_cap
    ended = [run.until(began_s + SETTLING_S + second + 1) for second in range(seconds)]
    all_ended = [each for second in ended for each in second]
    good, bad = [each for each in all_ended if each.ok], [each for each in all_ended if not each.ok]
    from_plan = [each.ended_s - each.due_s for each in good]
    return RateLevel(
        index=index,
        rate_per_s=rate_per_s,
        seconds=float(seconds),
        due=run.due - due,
        succeeded=len(good),
        failed=len(bad),
        dropped=run.dropped - dropped,
        goodput_se_per_s=batch_error([(float(sum(each.ok for each in second)), 1.0) for second in ended]),
        service_ms=_mean_ms([each.ended_s - each.started_s for each in good]),
        failed_ms=_mean_ms([each.ended_s - each.started_s for each in bad]),
        p95_ms=1000 * float(np.percentile(from_plan, 95)) if from_plan else None,
        p99_ms=1000 * float(np.percentile(from_plan, 99)) if from_plan else None,
        at_cap=run.at_cap > at_cap,
        started_s=began_s,
        ended_s=run.now_s,
    )


def climb(run: OpenRun, rates: Sequence[float], seconds: int) -> list[RateLevel]:
    """A level at each rate in turn; between levels no load is offered until all requests have ended."""
    levels = []
    for index, rate_per_s in enumerate(rates):
        levels.append(level_of(run, rate_per_s, seconds, index))
        run.offer(0.0)
        run.until(run.drained_s)
    return levels


def _mean_ms(values_s: Sequence[float]) -> float | None:
    return 1000 * math.fsum(values_s) / len(values_s) if values_s else None


def mean_wait_s(ended: Sequence[Iteration], service_s: float) -> float:
    """Mean waiting time: the mean time from the planned start to the end, less the mean service time."""
    return math.fsum(each.ended_s - each.due_s for each in ended) / len(ended) - service_s


def theory_wait_s(load: float, system: System) -> float:
    """Mean waiting time in the queue at a share `load` of the capacity: by Erlang C for exponential service times, half of it for
    constant service times of one server (Pollaczek & Khinchine).
    """
    servers, service_s = system.servers, system.service_s
    offered = load * servers
    term = offered**servers / math.factorial(servers) / (1 - load)
    waits = term / (sum(offered**n / math.factorial(n) for n in range(servers)) + term)
    mean_s = waits * service_s / (servers * (1 - load))
    if system.service_spread == "constant":
        assert servers == 1
        return mean_s / 2
    return mean_s
