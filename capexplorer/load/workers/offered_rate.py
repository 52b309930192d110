"""Messages to workers about an offered rate, and the sum of the iterations that they report."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from ...model.histogram import merged
from ...model.load import OfferedRate
from ...model.offered import NO_DROPS, Drops, OfferedTick

RATE, RATE_BEGAN, RATE_ENDED = "capexplorer_rate", "capexplorer_rate_began", "capexplorer_rate_ended"
"""Kinds of messages: offer this rate; the worker's schedule has the rate; end the rate."""

COUNTS = ("planned", "started", "finished", "failed", "from_plan_sum_ms")
LATENESS = ("late_p50_ms", "late_p99_ms", "late_max_ms")


class WorkerRate(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's part of an offered rate. The sum of independent Poisson processes is one, of the summed rate."""

    turn: int
    """Number of the message, which the answer repeats."""
    offered: OfferedRate


def split(whole: WorkerRate, workers: int) -> list[WorkerRate]:
    """One part for each worker: equal rates, and shares of the users that add up, at least one each."""
    per_s, most = whole.offered.per_s / workers, whole.offered.max_users
    shares = [most * (at + 1) // workers - most * at // workers for at in range(workers)]
    parts = [replace(whole.offered, per_s=per_s, max_users=max(1, share)) for share in shares]
    return [WorkerRate(turn=whole.turn, offered=part) for part in parts]


def to_message(rate: WorkerRate) -> dict[str, Any]:
    """The data of a message."""
    plain: dict[str, Any] = msgspec.to_builtins(rate)
    return plain


def from_message(data: object) -> WorkerRate:
    """The rate in a message's data. Raises msgspec.ValidationError."""
    return msgspec.convert(data, WorkerRate)


class MergedRate:
    """The sum over workers; call `tick` once a tick. Iterations of workers that left count as dropped with the reason
    `stopped`.
    """

    def __init__(self) -> None:
        self._in_flight: dict[str, tuple[int, int]] = {}
        """(queued, running) of each worker by its latest report."""

    def tick(self, reported: Iterable[tuple[str, OfferedTick | None]], workers: Collection[str]) -> OfferedTick | None:
        """The sum of reported seconds, given in the order of receipt. `workers`: those that have joined now. None: no rate is
        offered and nothing is in flight.
        """
        stopped = sum(queued + running for worker, (queued, running) in self._in_flight.items() if worker not in workers)
        self._in_flight = {worker: counts for worker, counts in self._in_flight.items() if worker in workers}
        ticks, rates = [], dict.fromkeys(self._in_flight, 0.0)
        for worker, tick in reported:
            if tick is None:
                continue
            ticks.append(tick)
            rates[worker] = tick.offered_per_s
            if worker in workers:
                self._in_flight[worker] = (tick.queued, tick.running)
            else:
                stopped += tick.in_flight
        if not ticks and not stopped and not any(map(sum, self._in_flight.values())):
            return None
        return self._sum(ticks, sum(rates.values()), stopped)

    def _sum(self, ticks: list[OfferedTick], offered_per_s: float, stopped: int) -> OfferedTick:
        dropped = sum((tick.dropped for tick in ticks), Drops(stopped=stopped))
        queued, running = (sum(each) for each in zip(*self._in_flight.values(), strict=True)) if self._in_flight else (0, 0)
        miscounted = sum(abs((tick.in_flight_counted or 0) - tick.in_flight) for tick in ticks if tick.is_miscounted)
        histogram = merged([tick.from_plan for tick in ticks if tick.from_plan])
        late = {name: [value for tick in ticks if (value := getattr(tick, name)) is not None] for name in LATENESS}
        latest: dict[str, Any] = {name: max(values, default=None) for name, values in late.items()}
        return OfferedTick(
            offered_per_s=offered_per_s,
            **{name: sum(getattr(tick, name) for tick in ticks) for name in COUNTS},
            dropped=dropped if dropped.total else NO_DROPS,
            queued=queued,
            running=running,
            in_flight_counted=queued + running + miscounted if ticks else None,
            from_plan=histogram.encode() if histogram.count else None,
            **histogram.of_tick(),
            **latest,  # of the latest worker
        )
