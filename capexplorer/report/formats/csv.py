"""`export --format csv`: a folder of tables, whose columns docs/exports.md describes.

levels.csv has a line per level or bin of a ramp, endpoints.csv a line per endpoint of each of these, seconds.csv a line per tick,
causes.csv a line per cause, bottleneck or leak, and, with watched parts, parts.csv a line per part of each level or bin; with
metrics of a locustfile, metrics.csv has a line per metric of each. An empty cell was not measured. Numbers have a decimal point
and no separators; lines end in CR LF (RFC 4180).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ... import wording
from ...model.columns import OF_STREAMS, PERCENTILES, WRITTEN, percentile_column
from ...model.events import Header, Mark
from ...model.figures import LevelEndpoint
from ...model.reading_means import READ_RATIO, readings_of_parts
from ...model.stages import Stage
from ...model.timeline import Timeline
from ...wording import units
from .. import summary
from ..escaping import cell
from ..rows import EndpointAtLevel, ReportedLevel, endpoint_levels, level_rows, metric_levels, value_of
from ..statements import findings
from ..values import rounded
from . import Format


@units.fixed()
def render(timeline: Timeline) -> dict[str, bytes]:
    """All files: name to contents."""
    return {
        "levels.csv": levels(timeline),
        "endpoints.csv": endpoints(timeline),
        "seconds.csv": seconds(timeline),
        "causes.csv": causes(timeline),
        **({"metrics.csv": metrics(timeline)} if any(level.metrics for level in timeline.levels) else {}),
        **({"parts.csv": parts(timeline)} if timeline.parts else {}),
    }


def levels(timeline: Timeline) -> bytes:
    """The summary's levels as flat columns: `latency_ms.p50` is `latency_p50_ms`."""
    titles = (*LEVEL_COLUMNS, *_of_streams(timeline))
    return table(titles, ([flat.get(name) for name in titles] for flat in map(_flat, summary.level_entries(timeline))))


LEVEL_COLUMNS = (
    "index", "epoch", "users", "by", "kind", "started_s", "settled_s", "ended_s", "settled",
    "requests", "failures", "failure_ratio", "failures_while_unsettled",
    "throughput_rps", "goodput_rps", "goodput_se_rps",
    "latency_min_ms", "latency_mean_ms", "latency_p50_ms", "latency_p90_ms", "latency_p95_ms", "latency_p99_ms",
    "latency_p999_ms", "latency_max_ms",
    "target_cpu_ratio", "target_rss_bytes", "host_cpu_ratio", "load_average_1m", "generator_cpu_ratio", "loop_lag_p99_ms",
    "received_bytes_per_s", "sent_bytes_per_s", "open_sockets", "disk_busy_ratio", "ports_used", "ports_capacity",
    "others_cpu_ratio", "target_run_delay_ratio", "generator_run_delay_ratio", "cpu_pressure_ratio", "steal_ratio", "held",
    "warm_ratio", "think_s", "requests_per_task", "task_s", "void", "service_state",
    *summary.COLUMNS,
)  # fmt: skip


def _flat(level: dict[str, object]) -> dict[str, object]:
    latency = level["latency_ms"]
    assert isinstance(latency, dict)
    known: Any = level["offered"]
    stages: Any = level.get("stages", {})
    of_stages = {percentile_column(stage, name): each[name] for stage, each in stages.items() for name in PERCENTILES}
    flat = {f"latency_{name}_ms": value for name, value in latency.items()}
    return {**level, **flat, **summary.columns(known), **of_stages}


def _of_streams(timeline: Timeline) -> tuple[str, ...]:
    """The columns of levels and endpoints that only a session with streams has."""
    percentiles = (percentile_column(stage, name) for stage in timeline.stages for name in PERCENTILES)
    return ("tokens_per_s", *percentiles) if timeline.stages else ()


ENDPOINT_COLUMNS = (
    "level", "epoch", "users", "method", "name", "requests", "failures", "failure_ratio", "goodput_rps",
    "latency_mean_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "leaves_first", "offered_per_s",
)  # fmt: skip


def endpoints(timeline: Timeline) -> bytes:
    """The figures of each endpoint over the settled seconds of each level."""
    stages = timeline.stages
    return table(
        (*ENDPOINT_COLUMNS, *_of_streams(timeline)),
        ([*_endpoint(row), *(_endpoint_streams(row, stages) if stages else ())] for row in endpoint_levels(timeline)),
    )


def _endpoint_streams(row: EndpointAtLevel, stages: Sequence[Stage]) -> Iterator[object]:
    yield rounded(row.tokens_per_s, 6)
    for stage in stages:
        yield from (rounded(getattr(row.stage_ms(stage), name), 6) for name in PERCENTILES)


def _endpoint(row: EndpointAtLevel) -> list[object]:
    level, each, latency = row.level, row.endpoint, row.latency_ms
    figures = [row.failure_ratio, row.goodput_rps, latency.mean, latency.p50, latency.p95, latency.p99]
    return [level.opened.index, level.opened.epoch, level.users, each.method, each.name, each.requests, each.failures,
            *(rounded(value, 6) for value in figures),
            row.degrades_first, level.offered_per_s]  # fmt: skip


METRIC_COLUMNS = (
    "level", "epoch", "users", "method", "name", "events", "failures", "mean", "p50", "p95", "p99", "max", "mean_length",
    "offered_per_s",
)  # fmt: skip


def metrics(timeline: Timeline) -> bytes:
    """What a locustfile fired beside its requests, over the settled seconds of each level or bin of a ramp."""
    return table(METRIC_COLUMNS, (_metric(*each) for each in metric_levels(timeline)))


def _metric(row: ReportedLevel, each: LevelEndpoint) -> list[object]:
    value = value_of(each)
    figures = (value.mean, value.p50, value.p95, value.p99, value.max, each.mean_bytes)
    return [row.opened.index, row.opened.epoch, row.users, each.method, each.name, each.requests, each.failures,
            *(rounded(figure, 6) for figure in figures), row.offered_per_s]  # fmt: skip


def seconds(timeline: Timeline) -> bytes:
    """The timeline's columns, unchanged. Rates count all requests that were sent, including warm-up."""
    columns = {name: timeline.columns[name][: len(timeline)] for name in WRITTEN}
    shown = [name for name, values in columns.items() if name not in OF_STREAMS or not all(map(math.isnan, values))]
    whole = [WRITTEN[name] == "whole" for name in shown]
    ticks = zip(*(columns[name] for name in shown), strict=True)
    return table(shown, ([_tick(value, exact) for value, exact in zip(tick, whole, strict=True)] for tick in ticks))


PART_READINGS = {
    "cpu_ratio": "target.cpu_ratio", "busiest_thread_ratio": "target.busiest_thread_ratio",
    "run_delay_ratio": "target.run_delay_ratio", "throttled_ratio": "target.throttled_ratio", "rss_bytes": "target.rss_bytes",
    "processes": "target.processes", "threads": "target.threads", "fds_fullest": "target.fds_fullest",
    "fds_limit": "target.fds_limit", "listen_queue": "target.listen_queue", "listen_backlog": "target.listen_backlog",
    "read_bytes_per_s": "target.read_bytes_per_s", "written_bytes_per_s": "target.written_bytes_per_s",
    "host_cpu_ratio": "host.cpu_ratio", "disk_busy_ratio": "host.disk_busy_ratio", "others_cpu_ratio": "neighbours.cpu_ratio",
    "connections": "server.connections", "connections_limit": "server.connections_limit", "active": "server.active",
    "lock_waits": "server.lock_waits",
}  # fmt: skip
"""Readings of parts by their column in parts.csv."""


def parts(timeline: Timeline) -> bytes:
    """The readings of each watched part over the settled seconds of each level or bin of a ramp."""
    titles = ("level", "epoch", "users", "part", READ_RATIO, *PART_READINGS)
    return table(titles, _parts(timeline))


def _parts(timeline: Timeline) -> Iterator[list[object]]:
    for row in level_rows(timeline):
        for name, own in readings_of_parts(row.figures.readings).items():
            values = (rounded(own.get(key), 6) for key in (READ_RATIO, *PART_READINGS.values()))
            yield [row.opened.index, row.opened.epoch, row.users, name, *values]


CAUSE_COLUMNS = (
    "kind", "id", "part", "where", "severity", "confidence", "state", "epoch", "users", "offered_per_s", "count", "rate_per_s",
    "first_s", "last_s", "endpoints", "readings", "doubts", "example", "advice",
)  # fmt: skip


def causes(timeline: Timeline) -> bytes:
    """The current marks of causes, bottlenecks and leaks, in the order of `statements`."""
    return table(CAUSE_COLUMNS, (_cause(each.mark, timeline.header) for each in findings(timeline) if each.where))


def _cause(mark: Mark, header: Header | None) -> list[object]:
    known = mark.finding.figures()
    numbers = [known.get(name) for name in ("count", "rate_per_s", "first_s", "last_s")]
    words = [sentence(mark.finding) for sentence in (wording.endpoints, wording.readings, wording.doubts, wording.example)]
    place = wording.where(mark.id)
    return [mark.kind, mark.id, known.get("part"), place, mark.severity, mark.confidence, mark.state, mark.epoch, mark.users,
            mark.offered_per_s, *numbers, *words, wording.advice(mark.finding, header)]  # fmt: skip


def _tick(value: float, whole: bool) -> float | int | None:
    if math.isnan(value):
        return None
    return int(value) if whole or value == int(value) else round(value, 6)


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    """A CSV file, in which no text is taken for a formula by a spreadsheet."""
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(titles)
    writer.writerows(
        [cell(each) if isinstance(each, str) else int(each) if isinstance(each, bool) else each for each in row] for row in rows
    )
    return written.getvalue().encode("utf-8", "replace")


FORMAT = Format(
    name="csv",
    place=3,
    description="a folder of tables: levels, endpoints, seconds, causes, parts, metrics",
    text=levels,
    text_lacks="the levels only; -o FOLDER writes all tables",
    files=lambda timeline, _: render(timeline),
)
