"""A session in which rates are offered, on a simulated service whose capacity is 100/s."""

from __future__ import annotations

from functools import cache

import numpy as np

from capexplorer.model.events import Event
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import System
from lab.simulation.virtual import VirtualRates


@cache
def rate_events(*, recovers: bool = False) -> tuple[Event, ...]:
    """Levels of 40 to 150 offered requests per second, 14 s each. `recovers`: then 60/s for 50 s, whose backlog of 1,000 has gone
    after 26 s, but which follow overload.
    """
    run = VirtualRates(OpenRun(System(1 / 100, 0), np.random.default_rng(200_002)))
    run.climb([40, 60, 80, 125, 150], 14)
    if recovers:
        run.climb([60], 50)
    return tuple(run.sink.take())
