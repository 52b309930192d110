"""The seconds that workers report: on one clock, assigned to ticks, and merged into one tick. Pure: times are passed in, and are
seconds of the master's `time.monotonic`. In the pump's thread.

A tick that is not whole (a worker is missing, or reported another second) is recorded as it is, and counts in no level's figures,
so that late reports distort none.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ...model.events import ClientTick, EndpointTick
from ...model.histogram import LatencyHistogram, merged
from ...model.load import OfferedTick
from ...model.reading_means import number_fields
from ...model.readings import WORKER_ROWS, GeneratorReading, WorkerReading, WorkersReading
from ...model.stages import STAGES, StageTick
from ..bounded_keys import EndpointNames, FailureStream
from ..recorder import SUMMED, RecordedTick
from .messages import PlainStats, WorkerHello, WorkerSecond

# -- clock: as in NTP, the offset of the shortest round trip is taken, whose error is at most half of that trip


TRIPS = 8
"""Number of latest round trips among which the shortest is taken: clocks drift by some microseconds a second."""


class ClockOffset:
    """The seconds to add to a worker's time for the master's time."""

    def __init__(self) -> None:
        self._trips: deque[tuple[float, float]] = deque(maxlen=TRIPS)
        """(duration, offset) of each trip, in seconds."""

    def trip(self, sent_s: float, worker_s: float, received_s: float) -> None:
        """A message that left at `sent_s` came back at `received_s`, with the worker's time."""
        self._trips.append((received_s - sent_s, (sent_s + received_s) / 2 - worker_s))

    @property
    def is_known(self) -> bool:
        """Whether a trip was made."""
        return bool(self._trips)

    @property
    def offset_s(self) -> float:
        """The offset of the shortest trip; 0 before the first trip."""
        return min(self._trips)[1] if self._trips else 0.0

    @property
    def error_s(self) -> float | None:
        """The largest possible error: half of the shortest trip; None before the first trip."""
        return min(self._trips)[0] / 2 if self._trips else None


class KnownWorker(msgspec.Struct):
    """A worker that has joined."""

    name: str
    hello: WorkerHello | None
    """None: a plain Locust worker."""
    is_here: bool
    """Whether it is on this machine."""
    heard_s: float
    """`time.monotonic` of its latest message."""
    clock: ClockOffset = msgspec.field(default_factory=ClockOffset)
    trips: int = 0
    asked_s: float = 0.0
    """`time.monotonic` of the latest question for its clock."""
    started_users: int = 0
    """Users that it had when it last finished a step, before any of them died: Locust's count in later reports lacks those."""
    rate_turn: int = 0
    """`WorkerRate.turn` of the rate that its schedule has."""
    plain: PlainStats = msgspec.field(default_factory=PlainStats)
    """What a plain Locust worker has reported so far."""

    @property
    def is_plain(self) -> bool:
        """Whether it is a plain Locust worker."""
        return self.hello is None


# -- gathering


WITHIN_S = 0.3
"""Seconds by which the end of a worker's second may differ from a tick's boundary: a busy machine wakes the worker late, and
clock offsets are exact to some ms."""

KEPT = 60
"""Most seconds of one worker that wait to be taken: those of a minute in which the master was suspended."""

IN_TURN_MOST = 6
"""Most seconds of a plain Locust worker that wait: those of two reports. If more wait, its clock is faster, and a tick takes
two."""


class Gathered(msgspec.Struct, frozen=True):
    """The workers' seconds of one tick."""

    seconds: tuple[tuple[str, WorkerSecond], ...]
    """By worker, in the order in which they are expected; placed on the master's clock."""
    late: frozenset[str]
    """Expected workers that have not reported the second that ends with this tick."""
    is_whole: bool
    """Whether each expected worker reported exactly the second of this tick."""


class Gathering:
    """Call `add` for each reported second, and `take` once a tick."""

    def __init__(self) -> None:
        self._expected: tuple[str, ...] = ()
        self._since_s = 0.0
        self._waiting: dict[str, deque[WorkerSecond]] = {}
        self._in_turn: set[str] = set()
        """Plain Locust workers, whose seconds arrive late and with boundaries of their own: each tick takes the next one."""

    def expect(self, workers: Iterable[str], at_s: float) -> None:
        """Set the workers that make the load from `at_s` on. A tick that began before is not whole. Seconds of other workers are
        dropped.
        """
        self._expected, self._since_s = tuple(workers), at_s
        self._waiting = {worker: self._waiting.get(worker, deque(maxlen=KEPT)) for worker in self._expected}

    def add(self, worker: str, second: WorkerSecond, *, in_turn: bool = False) -> None:
        """Add one second, by the master's clock. That of a worker which is not expected is dropped. `in_turn`: the worker's
        seconds do not have the boundaries of ticks.
        """
        if worker in self._waiting:
            self._waiting[worker].append(second)
            if in_turn:
                self._in_turn.add(worker)

    def is_complete(self, boundary_s: float) -> bool:
        """Whether every expected worker has reported the second that ends at this boundary."""
        return all(
            worker in self._in_turn or (waiting and waiting[-1].t_s >= boundary_s - WITHIN_S)
            for worker, waiting in self._waiting.items()
        )

    def take(self, boundary_s: float) -> Gathered:
        """The seconds that ended by this boundary."""
        seconds: list[tuple[str, WorkerSecond]] = []
        late = set()
        for worker, waiting in self._waiting.items():
            own = _next(waiting) if worker in self._in_turn else _until(waiting, boundary_s)
            if not own or (worker not in self._in_turn and own[-1].t_s < boundary_s - WITHIN_S):
                late.add(worker)
            seconds += [(worker, second) for second in own]
        is_whole = not late and len(seconds) == len(self._expected) > 0
        is_whole = is_whole and all(second.began_s >= self._since_s - WITHIN_S for _, second in seconds)
        return Gathered(tuple(seconds), frozenset(late), is_whole)


def _next(waiting: deque[WorkerSecond]) -> list[WorkerSecond]:
    return [waiting.popleft() for _ in range(min(len(waiting), 1 + (len(waiting) > IN_TURN_MOST)))]


def _until(waiting: deque[WorkerSecond], boundary_s: float) -> list[WorkerSecond]:
    found = []
    while waiting and waiting[0].t_s <= boundary_s + WITHIN_S:
        found.append(waiting.popleft())
    return found


# -- readings: that of the busiest worker represents the generator, and a bounded number of workers has rows


def busiest(seconds: Mapping[str, WorkerSecond]) -> GeneratorReading | None:
    """The reading of the worker whose load thread used or waited for a core most; None if no worker gave one."""
    found = _busiest(seconds)
    return seconds[found].generator if found is not None else None


def _busiest(seconds: Mapping[str, WorkerSecond]) -> str | None:
    known = {worker: busy for worker, second in seconds.items() if (busy := _busy(second)) is not None}
    return max(known, key=lambda worker: known[worker]) if known else None


def _busy(second: WorkerSecond) -> float | None:
    reading = second.generator
    if reading is None or reading.cpu_ratio is None:
        return None
    return reading.cpu_ratio + (reading.run_delay_ratio or 0.0)


def workers_reading(known: Mapping[str, KnownWorker], gathered: Gathered) -> WorkersReading:
    """All workers in one tick."""
    seconds = dict(gathered.seconds)
    name = _busiest(seconds)
    here = [seconds[worker].generator for worker, each in known.items() if each.is_here and worker in seconds]
    return WorkersReading(
        count=len(known),
        fullest=known[name].name if name is not None and name in known else None,
        late=len(gathered.late),
        plain=sum(each.is_plain for each in known.values()),
        cpu_ratio=_total(second.generator.cpu_ratio if second.generator else None for second in seconds.values()),
        here_cpu_ratio=_total(each.process_cpu_ratio if each else None for each in here),
        rows=tuple(_row(known[worker], seconds.get(worker), worker in gathered.late) for worker in _kept(known, seconds)),
    )


def _kept(known: Mapping[str, KnownWorker], seconds: Mapping[str, WorkerSecond]) -> list[str]:
    """The at most WORKER_ROWS workers that have rows, in the order in which they joined: those without a report, then the
    busiest.
    """
    busy = {worker: math.inf if worker not in seconds else _busy(seconds[worker]) or 0.0 for worker in known}
    most = set(sorted(busy, key=lambda worker: -busy[worker])[:WORKER_ROWS])
    return [worker for worker in known if worker in most]


def _row(worker: KnownWorker, second: WorkerSecond | None, is_late: bool) -> WorkerReading:
    if second is None:
        return WorkerReading(name=worker.name, is_late=is_late)
    generator = second.generator or GeneratorReading()
    return WorkerReading(
        name=worker.name,
        users=second.users,
        requests=second.all_requests,
        cpu_ratio=generator.cpu_ratio,
        run_delay_ratio=generator.run_delay_ratio,
        loop_lag_p99_ms=generator.loop_lag_p99_ms,
        fds=generator.fds,
        fds_limit=generator.fds_limit,
        ports_used=second.ports.used if second.ports is not None else None,
        is_late=is_late,
    )


def _total(values: Iterable[float | None]) -> float | None:
    given = list(values)
    known = [value for value in given if value is not None]
    return math.fsum(known) if known and len(known) == len(given) else None


S = TypeVar("S", bound=msgspec.Struct)


class Merging:
    """The merging of one session. It bounds endpoint names and failures of all workers together; each worker bounds its own."""

    def __init__(self) -> None:
        self.names, self._metric_names = EndpointNames(), EndpointNames()
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
            endpoints=_endpoints(self.names, [each for tick in ticks for each in tick.endpoints], everything),
            metrics=_endpoints(self._metric_names, [each for tick in ticks for each in tick.metrics], LatencyHistogram()),
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

    def _count_failures(self, tick: RecordedTick) -> None:
        for retried, failures in ((False, tick.failures), (True, tick.retried)):
            for each in failures:
                method, name = self.names.canonical(each.method, each.name)
                self.failures.add(name, method, each.signature, each.example or "", retried=retried, count=each.count)


def _endpoints(names: EndpointNames, ticks: Iterable[EndpointTick], everything: LatencyHistogram) -> tuple[EndpointTick, ...]:
    """Those of the same name as one, in order; their latencies are added to `everything`."""
    found: dict[tuple[str, str], list[EndpointTick]] = {}
    for each in ticks:
        found.setdefault(names.canonical(each.method, each.name), []).append(each)
    return tuple([_endpoint(key, own, everything) for key, own in sorted(found.items())])


def _endpoint(key: tuple[str, str], ticks: Sequence[EndpointTick], everything: LatencyHistogram) -> EndpointTick:
    method, name = key
    texts = [tick.latency for tick in ticks if tick.latency]
    histogram = merged(texts)
    everything.add(histogram)
    latency = None if not histogram.count else texts[0] if len(texts) == 1 else histogram.encode()
    stages = {
        stage: _stage(found) for stage in STAGES if (found := [tick.stages[stage] for tick in ticks if stage in tick.stages])
    }
    return msgspec.structs.replace(_added(EndpointTick(name=name), ticks), method=method, latency=latency, stages=stages)


def _stage(ticks: Sequence[StageTick]) -> StageTick:
    histogram = merged([tick.latency for tick in ticks if tick.latency])  # a text that is no histogram is left out
    return msgspec.structs.replace(_added(StageTick(), ticks), latency=histogram.encode() if histogram.count else None)


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
