"""A service whose endpoints need one station that limits goodput: a lock, a pool, a rate limit. Its CPU idles.

A request first waits for the station, in order of arrival, and then takes a time of its own, as much as come. Users follow the
experiments of `model.experiments` but for `reconnect`, which changes nothing here; of the parameters the pool follows `pool`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush, heapreplace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .queues import Request, Run, Spread, System, draws

IDLE_BUSY_S = 0.05
"""CPU that the service uses in a second."""


class Endpoint(NamedTuple):
    name: str
    weight: float
    hold_s: float
    """Mean time for which a request needs the station; 0: it does not."""
    other_s: float
    """Mean of the rest of its response."""


class Station(NamedTuple):
    kind: Literal["lock", "pool", "rate_limit"]
    slots: int = 1
    per_s: float = math.inf
    burst: float = 1.0
    """Of a rate limit, which delays requests that come earlier."""
    after_reply: bool = False
    """Whether a request is answered once it has the station, which it then goes on using."""
    growth: float = 0.0
    """By how much holds are longer while eight requests or more wait."""
    changes_s: float = math.inf
    speed: float = 1.0
    """From that time on the station is so many times as fast."""


class Drawn:
    """Random numbers, drawn in blocks."""

    BLOCK = 4096

    def __init__(self, draw: Callable[[], NDArray[np.float64]]) -> None:
        self._draw, self._left = draw, list[float]()

    def next(self) -> float:
        if not self._left:
            self._left = self._draw().tolist()
        return self._left.pop()


class StationRun(Run):
    """As of `Run`."""

    def __init__(
        self, endpoints: Sequence[Endpoint], station: Station, think_s: float, spread: Spread, rng: np.random.Generator
    ) -> None:
        hold_s = sum(each.weight * each.hold_s for each in endpoints) / sum(each.weight for each in endpoints)
        super().__init__(System(service_s=max(hold_s, 0.001), think_s=think_s, servers=1), rng)
        self.endpoints, self.station, self._spread = endpoints, station, spread
        self._slots = [0.0] * station.slots
        self._released_s = 0.0
        self._waiting: list[float] = []
        self._names: list[str] = []
        self._times = Drawn(lambda: draws(rng, 1.0, spread, Drawn.BLOCK))
        self._uniforms = Drawn(lambda: rng.random(Drawn.BLOCK))

    def busy_s(self, second: int) -> float:
        return IDLE_BUSY_S

    @property
    def _requested(self) -> list[Endpoint]:
        """What users request now."""
        experiment = self.experiment
        match experiment.name if experiment is not None else None:
            case "alone" if experiment is not None:
                return [each for each in self.endpoints if f"GET {each.name}" == experiment.endpoint]
            case "without" if experiment is not None:
                return [each for each in self.endpoints if f"GET {each.name}" != experiment.endpoint]
        return list(self.endpoints)

    def _sent_since(self, first: int) -> Iterator[Request]:
        for request, name in zip(super()._sent_since(first), self._names[first:], strict=True):
            yield request._replace(name=name)

    def until(self, end_s: float) -> None:
        sends, asked = self._sends, self._requested
        self._resize()
        shares = (np.cumsum([each.weight for each in asked]) / sum(each.weight for each in asked)).tolist()
        shares[-1] = 1.0
        ratio = self.experiment.pause_ratio if self.experiment is not None else 1.0
        while sends and sends[0] < end_s:
            if self._leaving:
                heappop(sends)
                self._leaving -= 1
                continue
            sent_s, endpoint = sends[0], asked[bisect_left(shares, self._uniforms.next())]
            ended_s = self._served(sent_s, endpoint) + self._time(endpoint.other_s)
            think_s = ratio * self._time(self.system.think_s)
            self._record(sent_s, ended_s, think_s, ok=True)
            self._names.append(endpoint.name)
            heapreplace(sends, ended_s + think_s)
        self.now_s = end_s

    def _resize(self) -> None:
        """As many slots as the parameter says now."""
        experiment, wanted = self.experiment, self.station.slots
        if experiment is not None and experiment.param == "pool" and self.station.kind == "pool":
            wanted = experiment.after or wanted
        while len(self._slots) < wanted:
            heappush(self._slots, self.now_s)
        while len(self._slots) > wanted:
            heappop(self._slots)

    def _time(self, mean_s: float) -> float:
        return mean_s * self._times.next() if mean_s else 0.0

    def _served(self, sent_s: float, endpoint: Endpoint) -> float:
        """When the station lets go of a request, or gets it if it is then answered."""
        station = self.station
        if not endpoint.hold_s:
            return sent_s
        speed = station.speed if sent_s >= station.changes_s else 1.0
        if station.kind == "rate_limit":
            gap_s = 1 / (station.per_s * speed)
            self._released_s = max(self._released_s, sent_s - (station.burst - 1) * gap_s) + gap_s
            return max(sent_s, self._released_s - gap_s)
        while self._waiting and self._waiting[0] <= sent_s:
            heappop(self._waiting)
        began_s = max(sent_s, self._slots[0])
        hold_s = self._time(endpoint.hold_s) * (1 + station.growth * min(1.0, len(self._waiting) / 8)) / speed
        heapreplace(self._slots, began_s + hold_s)
        heappush(self._waiting, began_s)
        return began_s if station.after_reply else began_s + hold_s
