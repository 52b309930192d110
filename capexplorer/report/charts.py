"""The charts of an HTML page and their data: titles, units, series, levels, marks. They are drawn by `page.js`."""

from __future__ import annotations

from ..model import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import wording
from ..model.events import Mark, Note, Target
from ..model.timeline import Timeline
from ..wording.quantities import latency_title
from .escaping import visible
from .listed_findings import marked_s
from .rows import level_rows

# -- series --------------------------------------------------------------------------------------------------------------------
# The timeline's columns for an HTML page, rounded, and reduced in length without losing peaks.
#
# A bucket of ticks becomes two points: the bucket's least and greatest value of each column, in their order of time (min-max
# aggregation, which keeps what a plot with that many pixels would show).


MOST_POINTS = 7_200
"""Most points of a column. Two hours of seconds are not reduced; a page of 20 columns has 0.9 MB at most."""


Values = list[float | None]


def points(timeline: Timeline, columns: dict[str, int], most: int = MOST_POINTS) -> tuple[list[float], dict[str, Values]]:
    """(times in s, values by column name), all of equal length; None: not measured. `columns`: decimals by column name."""
    times = np.asarray(timeline.columns["t_s"][: len(timeline)])
    size = -(-2 * len(times) // most) if len(times) > most else 1
    series = {
        name: _plain(_reduced(np.asarray(timeline.columns[name][: len(times)]), size), digits) for name, digits in columns.items()
    }
    return np.round(_times(times, size), 1).tolist(), series


def _times(times: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The times of each bucket's two points: its first tick and its middle tick."""
    if size == 1:
        return times
    firsts = np.arange(0, len(times), size)
    middles = np.minimum(firsts + size // 2, len(times) - 1)
    return np.ravel(np.column_stack((times[firsts], times[middles])))


def _reduced(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    if size == 1:
        return values
    padded = np.full(-(-len(values) // size) * size, np.nan)
    padded[: len(values)] = values
    buckets = padded.reshape(-1, size)
    known = ~np.isnan(buckets)
    least = np.where(known, buckets, np.inf).argmin(axis=1)
    greatest = np.where(known, buckets, -np.inf).argmax(axis=1)
    rows = np.arange(len(buckets))
    return np.ravel(np.column_stack((buckets[rows, np.minimum(least, greatest)], buckets[rows, np.maximum(least, greatest)])))


def _plain(values: NDArray[np.float64], digits: int) -> Values:
    with np.errstate(over="ignore"):  # a damaged figure near the greatest float has no digits to round
        rounded = np.round(values, digits)
    rounded = np.where(np.isinf(rounded), values, rounded)
    listed = (rounded.astype(object) if np.isnan(rounded).any() else rounded).tolist()
    whole = digits <= 0
    return [None if value != value else int(value) if whole or value == int(value) else value for value in listed]


@dataclass(frozen=True, slots=True)
class Line:
    """One series of a chart."""

    column: str
    label: str
    color: int
    """Index of the page's series colours."""
    decimals: int = 2
    step: bool = False
    dashed: bool = False
    right: bool = False
    """Drawn on an axis of its own, as an area behind the other lines."""
    hidden: bool = False
    """Hidden until its name in the legend is clicked."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Charts share one time axis."""

    id: str
    title: str
    unit: str
    """`bytes`, `bytes/s` and `ms` are written in the chosen units."""
    lines: tuple[Line, ...]
    logarithmic: bool = False
    """Whether its axis may be switched to logarithmic."""


_USERS = Line("users", "users", 3, 0, step=True, right=True)

CHARTS = (
    Chart("throughput", "Requests per second, and users", "/s", (
        _USERS,
        Line("goodput_rps", "goodput", 0),
        Line("throughput_rps", "throughput", 1, dashed=True),
        Line("failures_rps", "failures", 4),
    )),
    Chart("latency", "Latency of successes in each second", "ms", (
        Line("p50_ms", "p50", 1, 3),
        Line("p95_ms", "p95", 0, 3),
        Line("p99_ms", "p99", 2, 3),
        Line("max_ms", "max", 3, 3, hidden=True),
        Line("loop_lag_p99_ms", "generator lag p99", 4, 3, dashed=True),
    ), logarithmic=True),
    Chart("cpu", "CPU, cores busy", "cores", (
        Line("target_cpu_ratio", "target", 1, 3),
        Line("host_cpu_ratio", "host", 0, 3),
        Line("generator_cpu_ratio", "generator", 2, 3),
        Line("load_average_1m", "load average 1 min", 3, 2, dashed=True, hidden=True),
    )),
    Chart("memory", "Memory", "bytes", (
        Line("target_rss_bytes", "target RSS", 1, -3),
        Line("host_memory_bytes", "host used", 0, -3, hidden=True),
    )),
    Chart("ports", "Ephemeral ports", "ports", (
        Line("ports_used", "used", 1, 0),
        Line("ports_time_wait", "TIME_WAIT", 2, 0),
        Line("ports_capacity", "capacity", 4, 0, dashed=True, hidden=True),
    )),
    Chart("network", "Network, all interfaces, per second", "bytes/s", (
        Line("received_bytes_per_s", "received", 1, -1),
        Line("sent_bytes_per_s", "sent", 0, -1, dashed=True),
    )),
)  # fmt: skip


def data(timeline: Timeline) -> dict[str, Any]:
    """The data of all charts as plain values. The same timeline gives the same values."""
    decimals = {line.column: line.decimals for chart in CHARTS for line in chart.lines}
    times, series = points(timeline, decimals)
    return {
        "times_s": times,
        "series": series,
        "charts": [_chart(chart) for chart in CHARTS],
        "levels": _levels(timeline),
        "marks": _marks(timeline),
        "interval_s": timeline.header.interval_s if timeline.header else 1.0,
    }


def _chart(chart: Chart) -> dict[str, Any]:
    return {**asdict(chart), "title": latency_title(chart.title, ", ") if chart.unit == "ms" else chart.title}


def _levels(timeline: Timeline) -> list[dict[str, Any]]:
    """One entry for each level, so that the bins of a ramp are one band."""
    levels = {row.opened.index: row for row in level_rows(timeline)}
    return [
        {
            "index": row.opened.index,
            "users": row.opened.users,
            "epoch": row.opened.epoch,
            "ramp": row.opened.ramp,
            "started_s": round(row.started_s, 2),
            "shift": row.opened.by == "shift",
            "settled_s": None if row.settled_s is None else round(row.settled_s, 2),
            "ended_s": round(row.ended_s, 2),
        }
        for row in levels.values()
    ]


def _marks(timeline: Timeline) -> list[dict[str, Any]]:
    """Current marks, notes, and deaths and restarts of the target."""
    found: list[dict[str, Any]] = []
    ready, since_s, current = False, marked_s(timeline), wording.current_marks(timeline)
    for entry in timeline.journal:
        if isinstance(entry, Note):
            found.append(_mark(entry.t_s, "note", entry.text))
        elif isinstance(entry, Mark) and entry.key in current and timeline.marks[entry.key] is entry:
            epoch_name = wording.epoch_name(timeline, entry.epoch)
            sentence = wording.mark(current[entry.key], timeline.header)
            found.append(_mark(since_s[entry.key], entry.severity, f"{epoch_name}: {sentence}" if epoch_name else sentence))
        elif isinstance(entry, Target):
            if ready and entry.state not in ("stopping", "stopped", "building"):
                found.append(_mark(entry.t_s, "error" if entry.state in ("died", "failed") else "target", wording.target(entry)))
            ready = ready or entry.state == "ready"
    return sorted(found, key=lambda each: float(each["t_s"]))


def _mark(t_s: float, kind: str, sentence: str) -> dict[str, Any]:
    return {"t_s": round(t_s, 2), "kind": kind, "said": visible(sentence)[:500]}
