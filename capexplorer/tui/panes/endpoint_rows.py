"""The rows of endpoint tables: requests, failures and latency of each endpoint at the current level. Pure.

While a level settles they are those of the last second, which their label states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ... import wording
from ...model.events import EndpointTick
from ...model.level import Level
from ...model.merged import tick_latency
from ...model.timeline import Timeline
from ...model.verdicts import EndpointDegradation
from ...wording import quantities
from ...wording.numbers import counted
from ..render import text


@dataclass(frozen=True, slots=True)
class Row:
    """One endpoint, or all of them."""

    name: str
    requests: int
    failures: int
    rate_rps: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    mean_bytes: float | None
    endpoint: tuple[str, str] | None = None
    """(method, name); None: the row of all endpoints."""

    @property
    def successes(self) -> int:
        """Number of values from which the percentiles are computed."""
        return self.requests - self.failures

    @property
    def failure_ratio(self) -> float | None:
        """Share of requests that failed; None without requests."""
        return self.failures / self.requests if self.requests else None


def rows_shown(timeline: Timeline) -> tuple[str, list[Row]]:
    """(label on what the figures cover, rows with the total first). Without rows there is nothing to show."""
    level, last = timeline.level, timeline.last
    if level is None:
        return "", []
    if level.figures.settled and (timeline.phase == "settled" or level.closed is not None):
        return _settled(level)
    if timeline.ended is not None:
        settled = next((each for each in reversed(timeline.levels) if each.figures.settled), None)
        if settled is not None:
            return _settled(settled)
    words = f"{_named(level)}: the last second, {timeline.phase}"
    return words, last_rows(timeline) if last is not None and last.endpoints else []


def _settled(level: Level) -> tuple[str, list[Row]]:
    return f"{_named(level)}: settled {text.span(level.figures.settled_seconds)}", settled_rows(level)


def _named(level: Level) -> str:
    load = counted(level.users) if level.offered_per_s is None else quantities.offered_rate(level.offered_per_s)
    return f"level {level.opened.index}, {load}"


def first_to_degrade(timeline: Timeline) -> EndpointDegradation | None:
    """The endpoint of the level's epoch that degrades first, at levels of users or of offered rates, as this level is."""
    level = timeline.level
    verdict = None if level is None else wording.reported(timeline).get(level.opened.epoch)
    return None if level is None or verdict is None else verdict.first_to_degrade(at_rates=level.offered_per_s is not None)


def settled_rows(level: Level) -> list[Row]:
    """The rows over the settled seconds of the level."""
    figures, latency = level.figures, level.figures.latency_ms
    seconds = figures.settled_seconds
    rows = [
        Row(
            f"{each.method} {each.name}",
            each.requests,
            each.failures,
            each.requests / seconds if seconds else None,
            each.latency_ms.p50,
            each.latency_ms.p95,
            each.latency_ms.p99,
            each.latency_ms.max,
            each.mean_bytes,
            (each.method, each.name),
        )
        for each in level.endpoints
    ]
    total = Row(
        "all",
        figures.requests,
        figures.failures,
        figures.throughput_rps,
        latency.p50,
        latency.p95,
        latency.p99,
        latency.max,
        _mean_bytes(rows),
    )
    return [total, *rows]


def last_rows(timeline: Timeline) -> list[Row]:
    """The rows over the last tick, without warm-up requests."""
    last = timeline.last
    if last is None:
        return []
    rows = [_last_row(each, last.duration_s) for each in last.endpoints]
    requests, failures = sum(row.requests for row in rows), sum(row.failures for row in rows)
    rate_rps = requests / last.duration_s if last.duration_s else None
    total = Row("all", requests, failures, rate_rps, last.p50_ms, last.p95_ms, last.p99_ms, last.max_ms, _mean_bytes(rows))
    return [total, *rows]


def _last_row(tick: EndpointTick, duration_s: float) -> Row:
    latency = tick_latency(tick)
    return Row(
        f"{tick.method} {tick.name}",
        tick.requests,
        tick.failures,
        tick.requests / duration_s if duration_s else None,
        latency.p50,
        latency.p95,
        latency.p99,
        latency.max,
        tick.received_bytes / tick.requests if tick.requests else None,
        (tick.method, tick.name),
    )


def _mean_bytes(rows: Sequence[Row]) -> float | None:
    requests = sum(row.requests for row in rows)
    return sum((row.mean_bytes or 0.0) * row.requests for row in rows) / requests if requests else None
