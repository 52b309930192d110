"""A simulated service at offered rates, for reports and comparisons."""

from __future__ import annotations

from functools import cache

import numpy as np

from capexplorer.model.timeline import Timeline
from capexplorer.report.compare.estimates import SecondLatencies
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import System
from lab.simulation.virtual import VirtualRates


@cache
def session(capacity: float) -> tuple[Timeline, SecondLatencies]:
    """Four rate levels of a simulated service that serves `capacity` requests a second."""
    run, latencies = VirtualRates(OpenRun(System(1 / capacity, 0), np.random.default_rng(200_003))), SecondLatencies()
    run.climb([40, 60, 80, 160], 14)
    run.end()
    for _ in latencies.collecting(run.sink.take()):
        pass
    return run.timeline, latencies


def timeline(capacity: float) -> Timeline:
    return session(capacity)[0]
