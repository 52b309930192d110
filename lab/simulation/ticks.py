"""The tick of a simulated second, as the load recorder would make it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from capexplorer.load.recorder import Tick
from capexplorer.model.events import EndpointTick, FailureSignature, FailureTick
from capexplorer.model.histogram import LatencyHistogram

REFUSED = FailureSignature(types=("HTTPError",), status=503)
FAULTY = FailureSignature(types=("HTTPError",), status=502)
TIMED_OUT = FailureSignature(types=("ReadTimeout",))


def tick_of(ended: Sequence[tuple[float, FailureSignature | None]], **more: Any) -> Tick:
    """The tick. `ended`: for each request that ended its response time in seconds and its failure; None: it succeeded.

    `more`: fields that only one kind of run has.
    """
    took_us = np.array([took_s for took_s, _ in ended]) * 1e6
    ok = np.array([failed is None for _, failed in ended], bool)
    good_us, bad_us = took_us[ok], took_us[~ok]
    latency = LatencyHistogram()
    latency.record_us(good_us)
    endpoint = EndpointTick(
        name="/work",
        requests=len(took_us),
        failures=len(bad_us),
        latency=latency.encode() if len(good_us) else None,
        latency_sum_ms=float(good_us.sum()) / 1000,
        failure_latency_sum_ms=float(bad_us.sum()) / 1000,
    )
    counts = Counter(failed for _, failed in ended if failed is not None)
    return Tick(
        endpoints=(endpoint,) if len(took_us) else (),
        failures=tuple(FailureTick(name="/work", method="GET", signature=each, count=n) for each, n in counts.items()),
        latency=latency,
        all_requests=len(took_us),
        all_latency_sum_ms=float(took_us.sum()) / 1000,
        finished=len(good_us),
        **more,
    )
