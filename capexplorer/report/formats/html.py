"""`export --format html`: one self-contained page, which needs neither network nor libraries nor a server.

The page's content security policy (CSP) allows only the script whose digest it has, and no request: a browser would not execute
text of a target even if it was not escaped. Charts are drawn by our own `page.js` of 300 lines: Vega's bundle has 0.9 MB, needs
`eval`, and held the GIL for 2 s while it was made, during which a live screen makes no load.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources

import msgspec
from markupsafe import Markup

from ... import wording
from ...model import one_blas_thread  # noqa: F401  before numpy is loaded
from ...model.columns import percentile_column
from ...model.figures import LevelFigures
from ...model.intervals import PERCENTILE_VALUES_LEAST
from ...model.stages import TABLED, Stage
from ...model.timeline import FailureCount, Timeline, version_of
from ...wording import numbers, quantities, units
from ...wording.quantities import LATENCY_NAMES, latency_title
from .. import capacity, stacks, tables
from ..escaping import page
from ..rows import (
    SIGNS,
    STAGES_NOTE,
    EndpointAtLevel,
    ReportedLevel,
    by_endpoint,
    endpoint_levels,
    epochs,
    experiments_in_order,
    sign_notes,
    user_rows,
)
from ..statements import changes, findings, notes, opening
from ..summary import endpoint_totals
from ..svg import PAGE, rules
from ..sweep.drawing import drawing as drawing_of_sweep
from ..sweep.findings import findings as findings_of_sweep
from ..sweep.texts import sentence
from ..sweep.texts import table as table_of_sweep
from ..tables import environment

# isort: split
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.events import Mark, Note, Target
from ..escaping import visible
from ..rows import level_rows
from ..statements import marked_s
from . import Format

# -- html tables ---------------------------------------------------------------------------------------------------------------
# The tables of the HTML page: levels, endpoints, endpoints by level, failures. Each cell has an exact value to sort by.


LEVEL_TITLES = (
    ("epoch", ""), ("level", ""), ("users", ""), ("settled", "s"),
    ("requests", ""), ("goodput", "/s"), ("±", "/s"), ("throughput", "/s"), ("p50", "ms"),
    ("p95", "ms"), ("p99", "ms"), ("max", "ms"), ("failed", "%"), ("target CPU", "cores"), ("target RSS", "bytes"),
    ("host CPU", "cores"), ("generator CPU", "cores"), ("generator lag p99", "ms"), ("ports used", ""),
)  # fmt: skip
"""Titles of columns with their units; `in_units` replaces `bytes` and `ms` by the user's."""


def _level_titles(timeline: Timeline) -> Sequence[tuple[str, str]]:
    """Those of levels; with columns of streams, and under limits on a single request the share beyond each."""
    titles = with_streams(LEVEL_TITLES, timeline)
    if timeline.limits is None:
        return titles
    return [*((title.replace("goodput", "within limits"), unit) for title, unit in titles), ("beyond limits", "")]


_MEGABYTES = 2
"""Index in `units.byte_names` of the unit of bytes in the table of levels."""
ENDPOINT_TITLES = (("endpoint", ""), ("requests", ""), ("failed", ""), ("failed", "%"))
_ENDPOINT_LEVEL_TITLES = (
    ("endpoint", ""), ("epoch", ""), ("users", ""), ("requests", ""), ("goodput", "/s"), ("mean", "ms"), ("p50", "ms"),
    ("p95", "ms"), ("p99", "ms"), ("failed", "%"),
)  # fmt: skip
_STREAM_TITLES = (("tokens", "/s"), *((f"{stage} p95", "ms") for stage in TABLED))
"""Only of sessions with streams, behind p99."""
_LEAVES_TITLE = ("degrades first", "")
FAILURE_TITLES = (("failure", ""), ("endpoint", ""), ("count", ""), ("first", ""), ("last", ""))


def _megabytes() -> str:
    return units.byte_names()[_MEGABYTES]


def with_streams(titles: Sequence[tuple[str, str]], timeline: Timeline) -> Sequence[tuple[str, str]]:
    """The titles, with those of streams if there are some."""
    behind = titles.index(("p99", "ms")) + 1
    return (*titles[:behind], *_STREAM_TITLES, *titles[behind:]) if timeline.stages else titles


def in_units(titles: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Titles of columns with the chosen units in place of `bytes` and `ms`."""
    named = {"bytes": _megabytes(), "ms": latency_title("", "")}
    return [(title, named.get(unit, unit)) for title, unit in titles]


class _Cell(msgspec.Struct, frozen=True):
    """A figure as it is shown, and its exact value for sorting."""

    shown: str
    exact: str
    """Empty without a figure."""
    few: bool
    """Whether it is based on too few values."""


def _cell(value: float | None, sentence: str | None = None, *, few: bool = False, digits: int = 3) -> _Cell:
    shown = numbers.significant(value, digits) if sentence is None else sentence
    return _Cell(shown, "" if value is None else f"{round(value, 6):g}", few and value is not None)


def _latency(value_ms: float | None, *, few: bool = False) -> _Cell:
    return _cell(value_ms, quantities.latency_in_column(value_ms), few=few)


def _tails(row: ReportedLevel | EndpointAtLevel) -> Iterator[_Cell]:
    """p95 and p99."""
    yield _latency(row.latency_ms.p95, few=row.has_few("p95"))
    yield _latency(row.latency_ms.p99, few=row.has_few("p99"))


def _streams(row: ReportedLevel | EndpointAtLevel, tokens_per_s: float | None) -> Iterator[_Cell]:
    """Tokens a second, and the p95 of stages."""
    yield _cell(tokens_per_s)
    yield from (_latency(row.stage_ms(stage).p95, few=row.has_few("p95")) for stage in TABLED)


def levels(timeline: Timeline) -> dict[str, object] | None:
    """The capacity curve and one row for each level; None without levels of users."""
    rows, drawn = user_rows(timeline), capacity.drawing(timeline)
    if not rows:
        return None
    return {
        "drawing": None if drawn is None else Markup(drawn),  # each text in it is escaped by svg.text
        "rows": [
            {"level": row.opened.index, "bin": "" if row.bin is None else row.bin, "cells": _row(row, timeline)} for row in rows
        ],
        "epochs": len(epochs(rows)) > 1,
        "notes": [
            *sign_notes(row.kind for row in rows),
            *experiments_in_order(rows),
            *([STAGES_NOTE] if timeline.stages else []),
        ],
    }


def _row(row: ReportedLevel, timeline: Timeline) -> list[_Cell]:
    shown, latency = row.figures, row.figures.latency_ms
    rss = None if shown.target_rss_bytes is None else units.bytes_in(shown.target_rss_bytes, _megabytes())
    percent = None if shown.failure_ratio is None else 100 * shown.failure_ratio
    users = f"{SIGNS[row.kind][0]}{quantities.load_in_column(row.users, row.offered_per_s)}"
    return [
        _cell(row.opened.epoch), _cell(row.opened.index), _cell(row.users, users),
        _cell(row.settled_seconds), _cell(row.requests), _cell(shown.goodput_rps), _cell(row.goodput_error_rps, digits=2),
        _cell(shown.throughput_rps), _latency(latency.p50), *_tails(row),
        *(_streams(row, shown.tokens_per_s) if timeline.stages else ()), _latency(latency.max),
        _cell(percent), _cell(shown.target_cpu_ratio), _cell(rss), _cell(shown.host_cpu_ratio), _cell(shown.generator_cpu_ratio),
        _latency(shown.loop_lag_p99_ms), _cell(shown.ports_used),
        *([] if timeline.limits is None else [_beyond_limits(shown)]),
    ]  # fmt: skip


def _beyond_limits(figures: LevelFigures) -> _Cell:
    """Sorted by the greatest share."""
    if figures.served_rps is None:
        return _cell(None)
    return _cell(max(figures.beyond_limits.values(), default=0.0), quantities.beyond_limits(figures))


def endpoint(each: Mapping[str, Any]) -> tuple[str, list[_Cell]]:
    """Name and cells of an endpoint of the summary."""
    ratio = 100 * each["failures"] / each["requests"] if each["requests"] else None
    return f"{each['method']} {each['name']}", [_cell(each["requests"]), _cell(each["failures"]), _cell(ratio)]


def levels_of_endpoints(timeline: Timeline) -> dict[str, object] | None:
    """None if there is only one endpoint, whose figures are in the table of levels."""
    rows = endpoint_levels(timeline)
    endpoints = by_endpoint(rows)
    if len(endpoints) < 2:
        return None
    leaves = any(row.degrades_first for row in rows)
    return {
        "titles": (*in_units(with_streams(_ENDPOINT_LEVEL_TITLES, timeline)), *[_LEAVES_TITLE] * leaves),
        "rows": [
            {
                "name": f"{row.endpoint.method} {row.endpoint.name}".strip(),
                "cells": _endpoint_level(row, leaves, has_streams=bool(timeline.stages)),
                "kinds": " ".join(["begins"] * (index == 0) + ["leaves"] * row.degrades_first),
            }
            for own in endpoints
            for index, row in enumerate(own)
        ],
        "leaves": leaves,
        "epochs": len(epochs([row.level for row in rows])) > 1,
        "notes": sign_notes(row.level.marked_as for row in rows),
    }


def _endpoint_level(row: EndpointAtLevel, leaves: bool, *, has_streams: bool) -> list[_Cell]:
    level, latency = row.level, row.latency_ms
    percent = None if row.failure_ratio is None else 100 * row.failure_ratio
    return [
        _cell(level.opened.epoch),
        _cell(level.users, f"{SIGNS[level.marked_as][0]}{quantities.load_in_column(level.users, level.offered_per_s)}"),
        _cell(row.endpoint.requests), _cell(row.goodput_rps), _latency(latency.mean), _latency(latency.p50),
        *_tails(row), *(_streams(row, row.tokens_per_s) if has_streams else ()), _cell(percent),
        *[_cell(None, "yes" if row.degrades_first else "")] * leaves,
    ]  # fmt: skip


def failures(timeline: Timeline) -> list[tuple[tuple[str, str], list[_Cell]]]:
    """(texts, cells) of each failure of the whole session, the most frequent first."""
    counts = sorted(timeline.failures.values(), key=lambda each: -each.count)
    return [_failure(each, timeline.examples.get(each.signature)) for each in counts]


def _failure(each: FailureCount, example: str | None) -> tuple[tuple[str, str], list[_Cell]]:
    sentence = wording.failure(each.signature)
    seen = [_cell(t_s, wording.session_time(t_s)) for t_s in (each.first_s, each.last_s)]
    return (f"{sentence}; e.g. {example}" if example else sentence, f"{each.method} {each.name}"), [_cell(each.count), *seen]


def render(timeline: Timeline) -> bytes:
    """The whole page."""
    flames = stacks.flames(timeline)
    script = f"const UNITS = {_units()};\n{_resource('page.js')}" + (_resource("flames.js") if flames else "")
    return page(
        "session.html",
        policy=Markup(_policy(script)),
        name=f"{timeline.header.target.name} {timeline.header.id}" if timeline.header else "session",
        style=Markup(_resource("page.css") + (_resource("flames.css") if flames else "") + rules(PAGE)),
        title=_title(timeline),
        sweep=_sweep(timeline),
        settings=tables.settings(timeline),
        marks=_rows_of_marks(timeline),
        telemetry=wording.telemetry(timeline),
        telemetry_title=wording.TELEMETRY_TITLE,
        levels=levels(timeline),
        least={name: f"{least:,}" for name, least in PERCENTILE_VALUES_LEAST.items()},
        rates=tables.rates(timeline),
        about_rates=tables.about_rates(timeline),
        metrics=tables.metrics(timeline),
        about_metrics=tables.ABOUT_METRICS,
        level_titles=in_units(_level_titles(timeline)),
        charts=len(timeline) > 0,
        endpoints=[endpoint(each) for each in endpoint_totals(timeline)],
        endpoint_titles=ENDPOINT_TITLES,
        endpoint_levels=levels_of_endpoints(timeline),
        failures=failures(timeline),
        failure_titles=FAILURE_TITLES,
        notes=[(wording.session_time(note.t_s), note.text) for note in notes(timeline)],
        conventions=wording.CONVENTIONS,
        environment=environment(timeline),
        stacks=stacks.sections(timeline),
        flames=_json(flames) if flames else None,
        data=_json(data(timeline)),
        script=Markup(script),
    )


def _units() -> str:
    """For the script: the units of bytes; of latencies the common unit or, if each has its own, all of them, as [name, ms]."""
    common = units.common_latency_unit()
    latencies = (units.MICROSECOND, units.MILLISECOND, units.SECOND) if common is None else (common,)
    found = {"bytes": {"base": units.byte_base(), "names": units.byte_names()}, "latencies": [each[:2] for each in latencies]}
    return msgspec.json.encode(found).decode()


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    sources = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _resource(name: str) -> str:
    return resources.files("capexplorer.report").joinpath(name).read_text("utf-8")


def _json(data: object) -> Markup:
    """The data of the charts as JSON, which is not executed. `<` and `&` are escaped, so that it cannot end its element."""
    text = msgspec.json.encode(data).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _title(timeline: Timeline) -> dict[str, object] | None:
    header = timeline.header
    if header is None:
        return None
    return {
        "target": header.target.name,
        "profile": str(header.profile.get("title") or header.profile.get("name") or header.target.name),
        "began": wording.wall_time(header.started_at),  # empty where the session was imported without a date
        "span": numbers.span(timeline.last_s, in_full=True),
        "label": header.label,
        "ended": timeline.ended is not None,
        "kept_requests": wording.kept_requests(timeline),
        "judgements": wording.judgements(timeline).values(),
        "opening": opening(timeline),
        "version": version_of(timeline),
    }


def _sweep(timeline: Timeline) -> dict[str, object] | None:
    found = findings_of_sweep(timeline)
    if found is None:
        return None
    return {"sentence": sentence(found), "drawing": Markup(drawing_of_sweep(found)), "table": table_of_sweep(found)}


def _rows_of_marks(timeline: Timeline) -> dict[str, object] | None:
    found, event = findings(timeline), timeline.reanalysed
    if not found and not timeline.verdicts and event is None:
        return None
    reanalysed = wording.reanalysed(event) if event is not None else ""
    changed = [wording.change(each) for each in changes(timeline)]
    return {"knees": tables.knees(timeline), "findings": found, "reanalysed": reanalysed, "changes": changed}


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


# -- charts --------------------------------------------------------------------------------------------------------------------
# The charts of an HTML page and their data: titles, units, series, levels, marks. They are drawn by `page.js`.


class Line(msgspec.Struct, frozen=True):
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


class Chart(msgspec.Struct, frozen=True):
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


def charts_of(timeline: Timeline) -> list[Chart]:
    """All charts; with streams also one of each stage, and of tokens, behind that of latency."""
    if not timeline.stages:
        return list(CHARTS)
    behind = [chart.id for chart in CHARTS].index("latency") + 1
    tokens = Chart("tokens", "Tokens per second of streams, as these end", "/s", (Line("tokens_per_s", "tokens", 0),))
    return [*CHARTS[:behind], *map(_stage_chart, timeline.stages), tokens, *CHARTS[behind:]]


def _stage_chart(stage: Stage) -> Chart:
    name, colors = LATENCY_NAMES[stage], {"p50": 1, "p95": 0, "p99": 2}
    lines = tuple(Line(percentile_column(stage, each), each, color, 3) for each, color in colors.items())
    return Chart(stage, f"{name[0].upper()}{name[1:]} ({stage}) in each second", "ms", lines, logarithmic=True)


def data(timeline: Timeline) -> dict[str, Any]:
    """The data of all charts as plain values. The same timeline gives the same values."""
    charts = charts_of(timeline)
    decimals = {line.column: line.decimals for chart in charts for line in chart.lines}
    times, series = points(timeline, decimals)
    return {
        "times_s": times,
        "series": series,
        "charts": [
            {**msgspec.to_builtins(chart), "title": latency_title(chart.title, ", ") if chart.unit == "ms" else chart.title}
            for chart in charts
        ],
        "levels": _levels(timeline),
        "marks": _marks(timeline),
        "interval_s": timeline.header.interval_s if timeline.header else 1.0,
    }


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


FORMAT = Format(name="html", place=2, description="a page with interactive charts, in one file", suffix=".html", text=render)
