"""A worker's report on one second, which is sent in Locust's own `stats` message, as a value of bytes under KEY.

Bounded: endpoint names, failures and user errors are bounded where they are recorded. Decoding checks every type, since a report
comes from another process, or another machine.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import astuple, replace

from ...errors import InputError
from ...model import outside
from ...model.histogram import merged
from ...model.readings import GeneratorReading, PortsReading
from ..recorder import SUMMED, RecordedTick

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
    counts = [getattr(second, name) or 0 for name in SUMMED]
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
