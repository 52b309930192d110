"""Reads Locust's stats histories as levels, independently of the product's importer, so that tests can compare both."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from capexplorer.analysis.ladder import LadderLevel
from capexplorer.model.slice import batch_error

WARM_UP_TICKS = 10
HOLD_LEAST_TICKS = 20
"""Ticks of about a second: so many at one user count are a hold; shorter runs are parts of a ramp."""

RAMP_BINS = 24


@dataclass(frozen=True)
class Tick:
    users: int
    seconds: float
    requests: int
    failures: int
    response_sum_ms: float


def ticks(path: Path) -> Iterator[Tick]:
    """Differences of the totals of each two rows, since `Requests/s` is a mean over ten seconds."""
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["Name"] == "Aggregated"]
    for before, after in zip(rows, rows[1:], strict=False):
        then, now = (int(row["Total Request Count"]) for row in (before, after))
        sums = [float(row["Total Average Response Time"]) * int(row["Total Request Count"]) for row in (before, after)]
        yield Tick(
            users=int(after["User Count"]),
            seconds=float(after["Timestamp"]) - float(before["Timestamp"]),
            requests=now - then,
            failures=int(after["Total Failure Count"]) - int(before["Total Failure Count"]),
            response_sum_ms=sums[1] - sums[0],
        )


def levels(path: Path) -> list[LadderLevel]:
    """A level for each hold, without its warm-up; the ramps between holds as bins of users."""
    found: list[LadderLevel] = []
    moving: list[Tick] = []
    for _, same in groupby(ticks(path), key=lambda tick: tick.users):
        run = list(same)
        if len(run) >= HOLD_LEAST_TICKS:
            found += [*_ramp(moving), _level(run[WARM_UP_TICKS:])]
            moving = []
        else:
            moving += run
    return found + _ramp(moving)


def _ramp(moving: list[Tick]) -> list[LadderLevel]:
    if len(moving) < RAMP_BINS:
        return []
    arrivals = (moving[-1].users - moving[0].users) / sum(tick.seconds for tick in moving[1:])
    width = max(1.0, moving[-1].users / RAMP_BINS)
    return [_level(list(part), arrivals) for _, part in groupby(moving, key=lambda tick: int((tick.users - 1) / width))]


def _level(part: Iterable[Tick], arrivals_per_s: float = 0.0) -> LadderLevel:
    run = list(part)
    seconds, requests = sum(tick.seconds for tick in run), sum(tick.requests for tick in run)
    failures, response = sum(tick.failures for tick in run), sum(tick.response_sum_ms for tick in run)
    return LadderLevel(
        users=sum(tick.users * tick.seconds for tick in run) / seconds,
        goodput_rps=(requests - failures) / seconds,
        goodput_se_rps=batch_error([(float(tick.requests - tick.failures), tick.seconds) for tick in run]),
        throughput_rps=requests / seconds,
        response_ms=response / requests if requests else None,
        latency_ms=response / requests if requests and not failures else None,
        failure_ratio=failures / requests if requests else None,
        requests=requests,
        seconds=seconds,
        ramp=bool(arrivals_per_s),
        arrivals_per_s=arrivals_per_s,
    )
