"""A worker's report on one second, which is sent in Locust's own `stats` message, as a value of bytes under KEY.

Bounded: endpoint names, failures and user errors are bounded where they are recorded. Decoding checks every type, since a report
comes from another process, or another machine.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import astuple, replace

from ...errors import InputError
from ...model import outside
from ...model.events import ClientTick, EndpointTick, FailureTick, OfferedTick
from ...model.histogram import merged
from ...model.kept_request import PlacedRequest
from ...model.readings import GeneratorReading, PortsReading

KEY = "capexplorer"
"""The key of the report in the message's dict."""

USER_ERRORS_MOST = 20
"""Kinds of exceptions in user code that one report names."""


class Activity(msgspec.Struct, frozen=True, array_like=True):
    """`ActivitySums` of one second."""

    waits: int = 0
    wait_sum_s: float = 0.0
    sleeps: int = 0
    sleep_sum_s: float = 0.0
    tasks: int = 0
    task_sum_s: float = 0.0
    users_stopped: int = 0


class UserErrorCount(msgspec.Struct, frozen=True, array_like=True):
    """Number of equal exceptions in user code."""

    type: str
    text: str
    line: str
    count: int


class WorkerSecond(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One worker's second. Times are `time.monotonic` of the worker's machine until the master converts them to its own."""

    began_s: float
    ended_s: float
    users: int
    """Users at its end."""
    warm_users: int | None = None
    endpoints: tuple[EndpointTick, ...] = ()
    """Without percentiles, which the master computes from the histograms."""
    failures: tuple[FailureTick, ...] = ()
    retried: tuple[FailureTick, ...] = ()
    all_requests: int = 0
    all_latency_sum_ms: float = 0.0
    clients: ClientTick | None = None
    connects: int = 0
    closed_by_service: int = 0
    closed_by_users: int = 0
    activity: Activity = Activity()
    offered: OfferedTick | None = None
    """Iterations of an offered rate."""
    user_errors: tuple[UserErrorCount, ...] = ()
    replaced: int = 0
    """Dead users replaced, since the worker began."""
    generator: GeneratorReading | None = None
    """Reading of the worker's process, with its loop lag."""
    kept: tuple[PlacedRequest, ...] = ()
    """Requests that are kept whole."""
    ports: PortsReading | None = None
    """Reading of its machine's ports, if that is not the master's machine."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(WorkerSecond).decode


def encode(second: WorkerSecond) -> bytes:
    """The bytes of a report."""
    return _encode(second)


def decode(found: object) -> WorkerSecond:
    """The second of a report's bytes. Raises InputError for anything that `encode` does not write."""
    if not isinstance(found, bytes):
        raise InputError("a worker's report is not of this version")
    try:
        second = _decode(found)
        _check(second)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise InputError(f"a worker's report cannot be read: {error}") from None
    return second


def _check(second: WorkerSecond) -> None:
    """Raises ValueError for numbers that no worker can have counted: the sums of all workers are made of them.

    Takes 0.27 ms for 20 endpoints, of which decoding their histograms takes 0.16.
    """
    _, refused = outside.struct(replace(second, endpoints=()))
    if refused:
        raise ValueError(f"no finite numbers: {', '.join(refused)}")
    counts = [second.users, second.warm_users or 0, second.all_requests, second.all_latency_sum_ms, *astuple(second.activity)]
    counts += [each.count for each in (*second.failures, *second.retried)] + [each.count for each in second.user_errors]
    for each in second.endpoints:  # the most: without a walk through each field by its name
        counts += [value for value in astuple(each) if value.__class__ in (int, float)]
        if each.failures > each.requests or each.warmup_failures > each.warmup_requests:
            raise ValueError(f"{each.name:.60}: more failures than requests")
    if not all(0 <= count < outside.GREATEST for count in counts):  # False for NaN
        raise ValueError("numbers that are negative or infinite")
    succeeded = sum(each.requests - each.failures for each in second.endpoints)
    if merged([each.latency for each in second.endpoints if each.latency]).count > succeeded:
        raise ValueError("its histograms have more requests than succeeded")
