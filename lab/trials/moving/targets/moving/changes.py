"""Changes of the service over time: how many workers there are, how long a request takes, and whether it is refused at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

BATCH_EVERY_S, BATCH_S, BATCH_FACTOR = 20.0, 4.0, 3.0
PAUSE_EVERY_S, PAUSE_S = 12.0, 1.5
WARM_UP_S, WARM_UP_FACTOR = 25.0, 4.0
COLD_REQUESTS, COLD_FACTOR = 400, 4.0
STORM_QUEUE, STORM_FACTOR = 6, 2.5


@dataclass(frozen=True)
class Change:
    """`name` happens `at_s` seconds after the first request, for `for_s` seconds."""

    name: str
    at_s: float
    for_s: float

    def is_on(self, now_s: float) -> bool:
        return self.at_s <= now_s < (self.at_s + self.for_s if self.for_s else math.inf)

    def workers(self, workers: int, now_s: float) -> int:
        """Number of workers."""
        if not self.is_on(now_s):
            return workers
        return {"capacity_halves": max(1, workers // 2), "capacity_doubles": 2 * workers}.get(self.name, workers)

    def factor(self, now_s: float, served: int, waiting: int, workers: int) -> float:
        """Factor by which a request takes longer than usual. `served`: requests so far; `waiting`: requests in the queue."""
        if self.name == "batch_job":  # a job that runs every 20 s slows the requests
            return BATCH_FACTOR if now_s % BATCH_EVERY_S < BATCH_S else 1.0
        if self.name == "warm_up":
            return 1.0 + (WARM_UP_FACTOR - 1.0) * max(0.0, 1.0 - now_s / WARM_UP_S)
        if self.name == "cold_cache":
            return COLD_FACTOR if served < COLD_REQUESTS else 1.0
        if self.name == "retry_storm":  # clients repeat requests that wait long, so a part of the work is wasted
            return STORM_FACTOR if waiting > STORM_QUEUE * workers else 1.0
        return 1.0

    def pause_s(self, now_s: float) -> float:
        """Seconds for which the whole service stalls, from now on."""
        if self.name != "pauses":
            return 0.0
        return max(0.0, PAUSE_S - now_s % PAUSE_EVERY_S) if now_s >= PAUSE_EVERY_S else 0.0

    def status(self, now_s: float) -> int | None:
        """The status of a reply that is sent at once; None: the request is served."""
        return 502 if self.name == "upstream_dies" and self.is_on(now_s) else None

    def hangs(self, now_s: float) -> bool:
        """Whether work that begins now never ends."""
        return self.name == "upstream_hangs" and self.is_on(now_s)
