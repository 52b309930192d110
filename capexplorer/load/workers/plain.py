"""Converts the reports of a plain Locust worker, with response times of two digits and failures only as texts, into seconds.

Such a worker reports every three seconds, by its own clock. A report is split into as many equal parts as it has seconds, and
each tick takes one of them. So its figures are up to four seconds late, and levels settle that much later.

Such a worker may report anything: what passes is typed and bounded here, before Locust or anything else takes it.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ...model import outside
from ...model.events import EndpointTick, FailureSignature, FailureTick
from ...model.histogram import LatencyHistogram
from ...model.readings import GeneratorReading
from ..signature import fold
from .second import WorkerSecond

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


def check(kind: str, data: object) -> None:
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
