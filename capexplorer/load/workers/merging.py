"""Merges the ticks of workers into one: adds counts and sums, and merges histograms. In the pump's thread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from ...model.events import ClientTick, EndpointTick, OfferedTick
from ...model.histogram import LatencyHistogram, merged
from ...model.reading_means import number_fields
from ..endpoints import EndpointNames
from ..failures import FailureStream
from ..recorder import SUMMED, RecordedTick

S = TypeVar("S", bound=msgspec.Struct)


class Merging:
    """The merging of one session. It bounds endpoint names and failures of all workers together; each worker bounds its own."""

    def __init__(self) -> None:
        self.names = EndpointNames()
        self.failures = FailureStream()

    def merge(self, ticks: Sequence[RecordedTick], ended_s: float, offered: OfferedTick | None = None) -> RecordedTick:
        """The ticks of all workers as one that ends at `ended_s`, without kept requests. A worker may have given several, or
        none. `offered`: the iterations of all workers, those that left included.
        """
        for tick in ticks:
            self._count_failures(tick)
        failures, retried = self.failures.drain()
        everything = LatencyHistogram()
        return RecordedTick(
            t_s=ended_s,
            duration_s=ended_s - min((tick.t_s - tick.duration_s for tick in ticks), default=ended_s),
            endpoints=tuple([_endpoint(key, each, everything) for key, each in sorted(self._by_endpoint(ticks).items())]),
            failures=failures,
            retried=retried,
            clients=_clients(ticks),
            offered=offered,
            **everything.of_tick(),
            **{name: _sum(getattr(tick, name) for tick in ticks) for name in SUMMED},
        )

    def drain_all_failures(self) -> None:
        """Let the next tick, which is the last, have all waiting failures without a bound."""
        self.failures.most_bytes = math.inf

    def _by_endpoint(self, ticks: Sequence[RecordedTick]) -> dict[tuple[str, str], list[EndpointTick]]:
        found: dict[tuple[str, str], list[EndpointTick]] = {}
        for tick in ticks:
            for each in tick.endpoints:
                found.setdefault(self.names.canonical(each.method, each.name), []).append(each)
        return found

    def _count_failures(self, tick: RecordedTick) -> None:
        for retried, failures in ((False, tick.failures), (True, tick.retried)):
            for each in failures:
                method, name = self.names.canonical(each.method, each.name)
                self.failures.add(name, method, each.signature, each.example or "", retried=retried, count=each.count)


def _endpoint(key: tuple[str, str], ticks: Sequence[EndpointTick], everything: LatencyHistogram) -> EndpointTick:
    method, name = key
    texts = [tick.latency for tick in ticks if tick.latency]
    histogram = merged(texts)
    everything.add(histogram)
    latency = None if not histogram.count else texts[0] if len(texts) == 1 else histogram.encode()
    return msgspec.structs.replace(_added(EndpointTick(name=name), ticks), method=method, latency=latency)


def _clients(ticks: Sequence[RecordedTick]) -> ClientTick | None:
    """Requests as all clients count them; None if a worker does not."""
    known = [tick.clients for tick in ticks if tick.clients is not None]
    return _added(ClientTick(), known) if len(known) == len(ticks) else None


def _added(nothing: S, each: Sequence[S]) -> S:
    """The struct with each of its numbers replaced by the sum of those in `each`."""
    sums = {name: _sum(getattr(one, name) for one in each) for name in number_fields(type(nothing))}
    return msgspec.structs.replace(nothing, **sums)


def _sum(values: Iterable[float | None]) -> Any:
    """Several ticks of one worker are all added: such a tick is not whole and counts in no figures."""
    given = list(values)
    known = [value for value in given if value is not None]
    return sum(known) if len(known) == len(given) else None
