"""Client overhead: the latency that a client class adds by itself, measured without a service."""

from __future__ import annotations

import locust
from locust.env import Environment

from ..model.events import ClientOverhead
from ..model.histogram import LatencyHistogram
from .request_counts import uncounted

REQUESTS = 200
UNCOUNTED = 20
"""Initial requests that are not counted: they connect, import modules and warm caches."""


def measure(kind: type[locust.User], url: str) -> ClientOverhead | None:
    """Median and p99 of 200 sequential requests of one user of this class to a null responder. In the load thread.

    None when the responder did not answer every request.
    """
    environment = Environment(user_classes=[])
    latencies_ms: list[float] = []

    def on_request(response_time: float, exception: object = None, **_: object) -> None:
        if exception is None:
            latencies_ms.append(response_time)

    environment.events.request.add_listener(on_request)  # type: ignore[no-untyped-call]
    user = type("FloorUser", (kind,), {"host": url, "abstract": False})(environment)
    with uncounted():
        for _ in range(UNCOUNTED + REQUESTS):
            user.client.get("/")
    if len(latencies_ms) < UNCOUNTED + REQUESTS:
        return None
    histogram = LatencyHistogram()
    histogram.record_us([value * 1000 for value in latencies_ms[UNCOUNTED:]])
    p50_ms, p99_ms = histogram.percentiles_ms((0.50, 0.99))
    return ClientOverhead(p50_ms=p50_ms or 0.0, p99_ms=p99_ms or 0.0)
