"""What master and workers tell each other beside Locust's own messages: the kinds of messages, and the data that they carry.
Senders and receivers take both from here.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Collection, Iterable
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import astuple, replace

from ...errors import InputError
from ...model import outside
from ...model.events import EndpointTick, FailureSignature, FailureTick
from ...model.experiments import Experiment
from ...model.histogram import LatencyHistogram, merged
from ...model.load import NO_DROPS, Drops, OfferedRate, OfferedTick
from ...model.readings import GeneratorReading, PortsReading
from ...model.stages import RequestLimits
from ...profile import MAX_BODY_MB, Users, locustfiles
from ..recorder import SUMMED, RecordedTick
from ..signature import fold
from ..variables import DrawnTogether

PREFIX = "capexplorer_"

HELLO = PREFIX + "hello"
"""To the master, over a connection of its own: a process asks for a job."""
JOB = PREFIX + "job"
"""The answer: what to run."""
REFUSED = PREFIX + "refused"
"""The other answer: why not; also to a worker that has connected."""

WHO = PREFIX + "worker"
"""To the master: who the worker is, before it reports that it is ready."""
CLOCK = PREFIX + "clock"
"""There and back: a round trip, with the worker's time."""
GRID = PREFIX + "grid"
"""To a worker: a boundary between ticks, by its own clock."""
LEVEL = PREFIX + "level"
"""To a worker: the level that begins."""
ENDED = PREFIX + "ended"
"""To the master: the worker's user code has called `stop` or `quit`."""


# -- job -----------------------------------------------------------------------------------------------------------------------
# The job that a worker gets when it joins, which describes its users, and the checks of its version and its locustfile.
#
# A locustfile is not sent: a worker runs only code of its own machine. Its digest is compared with that of the run's file.


T = TypeVar("T")

VERSIONED = ("capexplorer", "locust")
"""Packages that must have the same version on both sides."""


HOST_MOST = 255
"""Characters of the name of a worker's machine, which events show."""


class WorkerHello(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker identifies itself."""

    versions: dict[str, str]
    host: Annotated[str, Meta(max_length=HOST_MOST)]
    pid: int
    cpus: int
    token: str = ""
    """The token of a worker that this run started itself; empty for others."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The users that a worker runs."""

    users: Users | None = None
    """The users of a profile; None: those of a locustfile."""
    values: tuple[DrawnTogether, ...] = ()
    """The values that the requests of a profile draw."""
    locustfile: str | None = None
    """The locustfile's path on the machine of the run."""
    digest: str | None = None
    """SHA-256 of the locustfile."""
    arguments: tuple[str, ...] = ()
    """Options and user classes for the locustfile."""
    url: str | None = None
    """The host for the users; None: they have their own."""
    max_body_mb: float = MAX_BODY_MB
    traceparent: bool = False
    """Whether each request has a trace."""
    limits: RequestLimits | None = None
    """Which successes count as goodput; None: all."""
    metrics: tuple[str, ...] = ()
    """Patterns of events of a locustfile that are no requests."""


class BeginsLevel(msgspec.Struct, frozen=True, kw_only=True):
    """The level that begins."""

    index: int
    experiment: Experiment | None = None


def versions() -> dict[str, str]:
    """Versions of Python and of the packages in VERSIONED, in this process."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in VERSIONED}}


def digest_of(path: Path) -> str:
    """SHA-256 of a locustfile, or of all of several. Raises InputError."""
    try:
        return hashlib.sha256(b"".join(each.read_bytes() for each in locustfiles(path))).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def why_refused(hello: WorkerHello) -> str | None:
    """Why a worker of these versions may not join, in one line; None if it may."""
    own = versions()
    for name in VERSIONED:
        theirs = hello.versions.get(name, "none")
        if theirs != own[name]:
            return f"it has {name} {theirs}, the run has {own[name]}: install the same version on both"
    return None


def check_locustfile(job: Job, path: Path) -> None:
    """Raises InputError if the worker's locustfile differs from the run's."""
    found = digest_of(path)
    if found != job.digest:
        theirs = (job.digest or "")[:12]
        raise InputError(f"{path}: differs from the run's {job.locustfile} (SHA-256 {found[:12]}, not {theirs}): copy that file")


packed = msgspec.msgpack.Encoder().encode
"""The bytes of a message."""


def unpacked(found: object, kind: type[T]) -> T:
    """The value of a message's bytes. Raises InputError for anything that `packed` does not write."""
    try:
        return msgspec.msgpack.decode(found if isinstance(found, bytes) else b"", type=kind)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise InputError(f"a message that is not of this version of capexplorer: {error}") from None


# -- offered rate


RATE, RATE_BEGAN, RATE_ENDED = "capexplorer_rate", "capexplorer_rate_began", "capexplorer_rate_ended"
"""Kinds of messages: offer this rate; the worker's schedule has the rate; end the rate."""

COUNTS = ("planned", "started", "finished", "failed", "beyond_limits", "from_plan_sum_ms")
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


# -- second --------------------------------------------------------------------------------------------------------------------
# A worker's report on one second, which is sent in Locust's own `stats` message, as a value of bytes under KEY.
#
# Bounded: endpoint names, failures and user errors are bounded where they are recorded. Decoding checks every type, since a
# report comes from another process, or another machine.


KEY = "capexplorer"
"""The key of the report in the message's dict."""

USER_ERRORS_MOST = 20
"""Kinds of exceptions in user code that one report names."""


class UserErrorCount(msgspec.Struct, frozen=True, array_like=True):
    """Number of equal exceptions in user code."""

    type: str
    text: str
    line: str
    count: int


class WorkerSecond(RecordedTick, frozen=True, kw_only=True):
    """One worker's second: what its users did, and readings of its process. `t_s` and the times of kept requests are by the clock
    of the worker's machine until the master converts them to its own.
    """

    user_errors: tuple[UserErrorCount, ...] = ()
    replaced: int = 0
    """Dead users replaced, since the worker began."""
    generator: GeneratorReading | None = None
    """Reading of the worker's process, with its loop lag."""
    ports: PortsReading | None = None
    """Reading of its machine's ports, if that is not the master's machine."""

    @property
    def began_s(self) -> float:
        """When counting began."""
        return self.t_s - self.duration_s


def reported_second(found: object) -> WorkerSecond:
    """The second of a report's bytes. Raises InputError for anything that a worker of this version does not send."""
    second = unpacked(found, WorkerSecond)
    try:
        _check_numbers(second)
    except ValueError as error:
        raise InputError(f"a worker's report cannot be used: {error}") from None
    return second


def _check_numbers(second: WorkerSecond) -> None:
    """Raises ValueError for numbers that no worker can have counted: the sums of all workers are made of them.

    Takes 0.27 ms for 20 endpoints, of which decoding their histograms takes 0.16.
    """
    _, refused = outside.struct(replace(second, endpoints=(), metrics=()))
    if refused:
        raise ValueError(f"no finite numbers: {', '.join(refused)}")
    counts = [getattr(second, name) or 0 for name in SUMMED]
    counts += [each.count for each in (*second.failures, *second.retried)] + [each.count for each in second.user_errors]
    for each in (*second.endpoints, *second.metrics):  # the most: without a walk through each field by its name
        counts += [value for value in astuple(each) if value.__class__ in (int, float)]
        if each.failures > each.requests or each.warmup_failures > each.warmup_requests:
            raise ValueError(f"{each.name:.60}: more failures than requests")
    if not all(0 <= count < outside.GREATEST for count in counts):  # False for NaN
        raise ValueError("numbers that are negative or infinite")
    for ticks in (second.endpoints, second.metrics):
        succeeded = sum(each.requests - each.failures for each in ticks)
        if merged([each.latency for each in ticks if each.latency]).count > succeeded:
            raise ValueError("its histograms have more requests than succeeded")


# -- plain ---------------------------------------------------------------------------------------------------------------------
# Converts the reports of a plain Locust worker, with response times of two digits and failures only as texts, into seconds.
#
# Such a worker reports every three seconds, by its own clock. A report is split into as many equal parts as it has seconds, and
# each tick takes one of them. So its figures are up to four seconds late, and levels settle that much later.
#
# Such a worker may report anything: what passes is typed and bounded here, before Locust or anything else takes it.


PARTS_MOST = 10

COUNT_MOST = 10_000_000
"""Greatest count in one report: three million requests a second."""

_Count = Annotated[int, Meta(ge=0, le=COUNT_MOST)]
_Amount = Annotated[float, Meta(ge=0, lt=outside.GREATEST)]
"""Also refuses NaN."""
_Name = str | int | float | None
"""User code may name a request by a number."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint's `StatsEntry`."""

    name: _Name
    method: _Name
    num_requests: _Count
    num_failures: _Count
    total_response_time: _Amount
    total_content_length: Annotated[int, Meta(ge=0, le=1 << 53)]
    response_times: dict[_Amount, _Count]


class _Error(msgspec.Struct, frozen=True, kw_only=True):
    """Equal failures of one endpoint."""

    name: _Name
    method: _Name
    error: str
    occurrences: _Count


class _Users(msgspec.Struct, frozen=True, kw_only=True):
    """How many users run, in reports of all workers."""

    user_count: _Count
    user_classes_count: dict[str, _Count]


class _Report(msgspec.Struct, frozen=True, kw_only=True):
    """A report of a plain worker."""

    user_count: _Count
    stats: tuple[_Entry, ...]
    errors: dict[str, _Error]


class _Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    state: str
    current_cpu_usage: _Amount
    current_memory_usage: _Amount = 0.0


_LOCUSTS_OWN: dict[str, type[msgspec.Struct]] = {"stats": _Users, "spawning_complete": _Users, "heartbeat": _Heartbeat}


def check_locusts_own(kind: str, data: object) -> None:
    """Raises ValueError if a message of Locust's own protocol, which Locust would take as it is, has other data than a worker
    sends."""
    if kind in _LOCUSTS_OWN:
        msgspec.convert(data, _LOCUSTS_OWN[kind])  # its ValidationError is a ValueError


class PlainStats:
    """One worker's reports."""

    def __init__(self) -> None:
        self._reported_s: float | None = None

    def seconds(self, data: Any, cpu_ratio: float | None, now_s: float) -> list[WorkerSecond]:
        """The parts of one report, one for each of the next ticks. Empty for the worker's first report, whose length is not
        known. Raises ValueError for anything but a report.
        """
        report = msgspec.convert(data, _Report)
        began_s, self._reported_s = self._reported_s, now_s
        if began_s is None:
            return []
        parts = min(PARTS_MOST, max(1, round(now_s - began_s)))
        length_s = (now_s - began_s) / parts
        found = []
        for part in range(parts):
            endpoints = tuple(_endpoint(entry, part, parts) for entry in report.stats)
            failures = tuple(_failure(error, part, parts) for error in report.errors.values())
            found.append(
                WorkerSecond(
                    t_s=began_s + (part + 1) * length_s,
                    duration_s=length_s,
                    users=report.user_count,
                    endpoints=tuple(each for each in endpoints if each.requests),
                    failures=tuple(each for each in failures if each.count),
                    all_latency_sum_ms=sum(each.latency_sum_ms + each.failure_latency_sum_ms for each in endpoints),
                    closed_by_service=0,
                    closed_by_users=0,
                    sleep_sum_s=0.0,
                    generator=GeneratorReading(cpu_ratio=cpu_ratio),
                )
            )
        return found


def _share(count: int, part: int, parts: int) -> int:
    """The share of `count` in this part, a whole number; the shares of all parts add up to `count`."""
    return count * (part + 1) // parts - count * part // parts


def _endpoint(entry: _Entry, part: int, parts: int) -> EndpointTick:
    """One endpoint's part. Locust does not separate response times of failures and successes; they are split in proportion."""
    requests, failures = _share(entry.num_requests, part, parts), _share(entry.num_failures, part, parts)
    failures = min(failures, requests)
    succeeded = (requests - failures) / requests if requests else 0.0
    histogram, left, counts = LatencyHistogram(), requests - failures, []
    for count in entry.response_times.values():
        counts.append(min(left, _share(count, part, parts)))
        left -= counts[-1]
    histogram.record_us([ms * 1000 for ms in entry.response_times], counts)
    total_ms = entry.total_response_time / parts
    return EndpointTick(
        name=_text(entry.name),
        method=_text(entry.method),
        requests=requests,
        failures=failures,
        received_bytes=_share(entry.total_content_length, part, parts),
        latency=histogram.encode() if histogram.count else None,
        latency_sum_ms=total_ms * succeeded,
        failure_latency_sum_ms=total_ms * (1 - succeeded),
    )


def _failure(error: _Error, part: int, parts: int) -> FailureTick:
    signature = FailureSignature(types=("Locust",), text=fold(error.error))
    count = _share(error.occurrences, part, parts)
    return FailureTick(name=_text(error.name), method=_text(error.method), signature=signature, count=count)


def _text(name: _Name) -> str:
    return outside.text("" if name is None else str(name), outside.NAME_MOST)
