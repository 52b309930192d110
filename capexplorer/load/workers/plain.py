"""Converts the reports of a plain Locust worker, with response times of two digits and failures only as texts, into seconds.

Such a worker reports every three seconds, by its own clock. A report is split into as many equal parts as it has seconds, and
each tick takes one of them. So its figures are up to four seconds late, and levels settle that much later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model.events import EndpointTick, FailureSignature, FailureTick
from ...model.histogram import LatencyHistogram
from ...model.readings import GeneratorReading
from ..signature import fold
from .second import WorkerSecond

PARTS_MOST = 10


class PlainStats:
    """One worker's reports."""

    def __init__(self) -> None:
        self._reported_s: float | None = None

    def seconds(self, data: Mapping[str, Any], cpu_ratio: float | None, now_s: float) -> list[WorkerSecond]:
        """The parts of one report, one for each of the next ticks. Empty for the worker's first report, whose length is not
        known.
        """
        began_s, self._reported_s = self._reported_s, now_s
        if began_s is None:
            return []
        parts = min(PARTS_MOST, max(1, round(now_s - began_s)))
        length_s = (now_s - began_s) / parts
        found = []
        for part in range(parts):
            endpoints = tuple(_endpoint(entry, part, parts) for entry in data["stats"])
            failures = tuple(_failure(error, part, parts) for error in data["errors"].values())
            found.append(
                WorkerSecond(
                    began_s=began_s + part * length_s,
                    ended_s=began_s + (part + 1) * length_s,
                    users=int(data["user_count"]),
                    endpoints=tuple(each for each in endpoints if each.requests),
                    failures=tuple(each for each in failures if each.count),
                    all_requests=sum(each.requests for each in endpoints),
                    all_latency_sum_ms=sum(each.latency_sum_ms + each.failure_latency_sum_ms for each in endpoints),
                    generator=GeneratorReading(cpu_ratio=cpu_ratio),
                )
            )
        return found


def _share(count: int, part: int, parts: int) -> int:
    """The share of `count` in this part, a whole number; the shares of all parts add up to `count`."""
    return count * (part + 1) // parts - count * part // parts


def _endpoint(entry: Mapping[str, Any], part: int, parts: int) -> EndpointTick:
    """One endpoint's part. Locust does not separate response times of failures and successes; they are split in proportion."""
    requests, failures = _share(entry["num_requests"], part, parts), _share(entry["num_failures"], part, parts)
    failures = min(failures, requests)
    succeeded = (requests - failures) / requests if requests else 0.0
    histogram = LatencyHistogram()
    times_us = [float(ms) * 1000 for ms, count in entry["response_times"].items() for _ in range(_share(count, part, parts))]
    histogram.record_us(times_us[: requests - failures])
    total_ms = entry["total_response_time"] / parts
    return EndpointTick(
        name=entry["name"],
        method=entry["method"] or "",
        requests=requests,
        failures=failures,
        received_bytes=_share(entry["total_content_length"], part, parts),
        latency=histogram.encode() if histogram.count else None,
        latency_sum_ms=total_ms * succeeded,
        failure_latency_sum_ms=total_ms * (1 - succeeded),
    )


def _failure(error: Mapping[str, Any], part: int, parts: int) -> FailureTick:
    signature = FailureSignature(types=("Locust",), text=fold(str(error["error"])))
    return FailureTick(
        name=error["name"], method=error["method"] or "", signature=signature, count=_share(error["occurrences"], part, parts)
    )
