"""The endpoint table of the current level, with as many columns as fit. Percentiles of too few values are grey."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.columns import EndpointKey
from ...model.events import EndpointTick, Sample
from ...model.figures import LevelEndpoint, LevelFigures, latency_of_kind
from ...model.histogram import percentiles_ms
from ...model.intervals import Latency
from ...model.level import Level
from ...model.load import Rate
from ...model.slice import tick_latency
from ...model.stages import STAGES, TABLED, LatencyKind, Stage, texts
from ...model.timeline import Timeline
from ...model.verdicts import EndpointDegradation
from ...wording import numbers, quantities
from ...wording.quantities import latency_title
from ..display_options import DisplayOptions, Palette
from ..render import text
from ..render.text import styled
from .latency import kind_titles
from .pane import Lines, ListPane, ScrollingPane

# -- endpoint rows -------------------------------------------------------------------------------------------------------------
# The rows of endpoint tables: requests, failures and latency of each endpoint at the current level. Pure.
#
# While a level settles they are those of the last second, which their label states.


class Row(msgspec.Struct, frozen=True):
    """One endpoint, or all of them."""

    name: str
    requests: int
    failures: int
    rate_rps: float | None
    latency: Latency
    """The chosen one."""
    stages: Mapping[Stage, Latency] = {}
    """Of streams."""
    tokens_per_s: float | None = None
    mean_bytes: float | None = None
    endpoint: EndpointKey | None = None
    """None: the row of all endpoints."""

    @property
    def successes(self) -> int:
        """Number of values from which the percentiles are computed."""
        return self.requests - self.failures

    @property
    def failure_ratio(self) -> float | None:
        """Share of requests that failed; None without requests."""
        return self.failures / self.requests if self.requests else None


def rows_shown(timeline: Timeline, kind: LatencyKind = "total") -> tuple[str, list[Row]]:
    """(label on what the figures cover, rows with the total first). Without rows there is nothing to show."""
    level, last, settled = timeline.level, timeline.last, _settled(timeline)
    if level is None:
        return "", []
    if settled is not None:
        return f"{_named(settled)}: settled {text.span(settled.figures.settled_seconds)}", settled_rows(settled, kind)
    words = f"{_named(level)}: the last second, {timeline.phase}"
    return words, last_rows(timeline, kind) if last is not None and last.endpoints else []


def metrics_shown(timeline: Timeline) -> list[Row]:
    """The rows of metrics of user code, over the same time."""
    settled, last = _settled(timeline), timeline.last
    if settled is not None:
        rows = rows_of(settled.metrics, settled.figures.settled_seconds, "total")
    else:
        rows = [] if last is None else [_of_tick(tick, last.duration_s) for tick in last.metrics]
    return [row if row.latency.mean else msgspec.structs.replace(row, latency=Latency()) for row in rows]  # all 0: no times


def _settled(timeline: Timeline) -> Level | None:
    """The level whose settled seconds are shown; None: it is the last second."""
    level = timeline.level
    if level is not None and level.figures.settled and (timeline.phase == "settled" or level.closed is not None):
        return level
    return None if timeline.ended is None else next((each for each in reversed(timeline.levels) if each.figures.settled), None)


def _named(level: Level) -> str:
    load = quantities.requested(level.load)
    return f"level {level.opened.index}, {load}"


def first_to_degrade(timeline: Timeline) -> EndpointDegradation | None:
    """The endpoint of the level's epoch that degrades first, at levels of users or of offered rates, as this level is."""
    level = timeline.level
    verdict = None if level is None else wording.reported(timeline).get(level.opened.epoch)
    return None if level is None or verdict is None else verdict.first_to_degrade(at_rates=isinstance(level.load, Rate))


def settled_rows(level: Level, kind: LatencyKind) -> list[Row]:
    """The rows over the settled seconds of the level."""
    figures = level.figures
    rows = rows_of(level.endpoints, figures.settled_seconds, kind)
    whole = Row(
        "all",
        figures.requests,
        figures.failures,
        figures.throughput_rps,
        **_latencies(figures, kind),
        tokens_per_s=figures.tokens_per_s,
        mean_bytes=_mean_bytes(rows),
    )
    return [whole, *rows]


def _latencies(found: LevelFigures | LevelEndpoint, kind: LatencyKind) -> dict[str, Any]:
    return {"latency": latency_of_kind(found, kind), "stages": {stage: each.ms for stage, each in found.stages.items()}}


def rows_of(endpoints: Iterable[LevelEndpoint], seconds: float, kind: LatencyKind) -> list[Row]:
    """The rows of a level or of a ramp's bin with this many settled seconds."""
    return [
        Row(
            name_of(each),
            each.requests,
            each.failures,
            _rate(each.requests, seconds),
            **_latencies(each, kind),
            tokens_per_s=_rate(each.tokens, seconds),
            mean_bytes=each.mean_bytes,
            endpoint=(each.method, each.name),
        )
        for each in endpoints
    ]


def _rate(requests: int, seconds: float) -> float | None:
    return requests / seconds if seconds else None


def name_of(each: LevelEndpoint | EndpointTick | EndpointDegradation) -> str:
    """`GET /cpu`."""
    return f"{each.method} {each.name}"


def last_rows(timeline: Timeline, kind: LatencyKind) -> list[Row]:
    """The rows over the last tick, without warm-up requests."""
    last = timeline.last
    if last is None:
        return []
    rows = [_of_tick(tick, last.duration_s, kind) for tick in last.endpoints]
    requests, failures = sum(row.requests for row in rows), sum(row.failures for row in rows)
    latency = Latency(p50=last.p50_ms, p95=last.p95_ms, p99=last.p99_ms, max=last.max_ms)
    stages = {stage: _latency_of_all(last, stage) for stage in STAGES if any(stage in row.stages for row in rows)}
    whole = Row(
        "all",
        requests,
        failures,
        _rate(requests, last.duration_s),
        latency if kind == "total" else stages.get(kind, Latency()),
        stages,
        _rate(sum(tick.tokens for tick in last.endpoints), last.duration_s),
        _mean_bytes(rows),
    )
    return [whole, *rows]


def _latency_of_all(last: Sample, stage: Stage) -> Latency:
    found = percentiles_ms(texts(last.endpoints, stage), (0.50, 0.95, 0.99, 1.0))
    return Latency(**dict(zip(("p50", "p95", "p99", "max"), found, strict=True)))


def _of_tick(tick: EndpointTick, seconds: float, kind: LatencyKind = "total") -> Row:
    return Row(
        name_of(tick),
        tick.requests,
        tick.failures,
        _rate(tick.requests, seconds),
        tick_latency(tick, kind),
        {stage: tick_latency(tick, stage) for stage in tick.stages},
        _rate(tick.tokens, seconds),
        tick.received_bytes / tick.requests if tick.requests else None,
        (tick.method, tick.name),
    )


def _mean_bytes(rows: Sequence[Row]) -> float | None:
    requests = sum(row.requests for row in rows)
    return sum((row.mean_bytes or 0.0) * row.requests for row in rows) / requests if requests else None


ENOUGH_FOR_P95 = 200
ENOUGH_FOR_P99 = 1_000
"""Number of values from which p95 and p99 are not grey: ten values exceed the percentile then."""

DEGRADES = "▸ "
"""The sign before the endpoint that degrades first."""

LEGEND = f"{DEGRADES}degrades first"
"""The meaning of that sign, in the line of titles."""

METRICS = "metrics of the locustfile, in no figure of requests"

NAME_CELLS = 16
"""Least width of the name in cells; columns for which there is then no space are left out."""


class Column(msgspec.Struct, frozen=True):
    """A column of figures."""

    title: str
    shown: Callable[[Row], str]
    cells: int | None = 6
    """None: those of a latency in the chosen unit."""
    rank: int = 0
    """In a narrow terminal the columns with the highest rank are left out first; those with 0 stay."""
    least: int = 0
    """Number of values from which the figure is not grey."""
    color: Literal["failed", "muted"] | None = None

    @property
    def width(self) -> int:
        """Its cells, with a space before them."""
        return (quantities.latency_cells() if self.cells is None else self.cells) + 1

    def cell(self, words: str) -> str:
        """A figure, or the title."""
        return " " + text.pad(words, self.width - 1, right=True)


def _latency(name: str, rank: int = 0, least: int = 0) -> Column:
    return Column(name, lambda row: quantities.latency_cell(getattr(row.latency, name)), None, rank, least)


COLUMNS = (
    Column("requests", lambda row: numbers.count(row.requests), 8, rank=1),
    Column("req/s", lambda row: quantities.rate_cell(row.rate_rps)),
    Column("failed", lambda row: numbers.count(row.failures), rank=2, color="failed"),
    Column("%", lambda row: text.percent(row.failure_ratio), 5, color="failed"),
    _latency("p50"),
    _latency("p95", least=ENOUGH_FOR_P95),
    _latency("p99", least=ENOUGH_FOR_P99),
    _latency("max", rank=3),
    Column("bytes", lambda row: quantities.size_cell(row.mean_bytes), 5, rank=4, color="muted"),
)
"""All columns from left to right."""


def _p95_of(stage: Stage) -> Column:
    return Column(stage, lambda row: quantities.latency_cell(row.stages.get(stage, Latency()).p95), None, least=ENOUGH_FOR_P95)


def columns_of(rows: Iterable[Row], kind: LatencyKind) -> list[Column]:
    """The columns of these rows: with streams also tokens a second and the p95 of stages, for which others make room."""
    if not any(row.stages for row in rows):
        return list(COLUMNS)
    ranks = {"requests": 3, "failed": 4, "p50": 1, "p99": 1, "max": 5, "bytes": 6}
    found = [replace(each, rank=ranks.get(each.title, 0)) for each in COLUMNS]
    place = [each.title for each in found].index("req/s") + 1
    found.insert(place, Column("tok/s", lambda row: quantities.rate_cell(row.tokens_per_s), rank=2))
    place = [each.title for each in found].index("p99") + 1
    found[place:place] = [_p95_of(stage) for stage in TABLED if stage != kind]
    return found


def stages_label(columns: Sequence[Column]) -> str:
    """What the columns of stages have; empty without them."""
    names = ", ".join(each.title for each in columns if each.title in TABLED)
    return f"; {names}: p95" if names else ""


class EndpointsPane(ScrollingPane):
    """Requests, failures and latency per endpoint."""

    TITLE = "Endpoints"

    @property
    def full_title(self) -> str:
        """With the unit of its latencies."""
        return quantities.latency_title(self.TITLE, "  ")

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw this moment; with streams the title names the latency."""
        self.retitle(*kind_titles(self.TITLE, ("",), timeline, options))
        super().show(timeline, cursor, options)

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """Label and titles at the top, the total at the end, and between them as many rows as fit."""
        palette, width = options.palette, size.width
        label, rows = rows_shown(timeline, options.latency_kind)
        first, muted = first_to_degrade(timeline), styled(color=palette.muted)
        if not rows:
            words = "  no level yet" if timeline.level is None else f"  {label}: no requests yet"
            return [text.line([(words, muted)], width)]
        shown = fitting(columns_of(rows, options.latency_kind), width)
        head = [
            text.line([(f" {label}{stages_label(shown)}", muted)], width),
            _titles(shown, palette, width, one_degrades=first is not None),
        ]
        first_name = None if first is None else name_of(first)
        body = [row_line(row, shown, palette, width, first=row.name == first_name) for row in rows[1:]]
        body.append(row_line(rows[0], shown, palette, width, total=True))
        if metrics := metrics_shown(timeline):
            body.append(text.line([(f" {METRICS}", muted)], width))
            body += [row_line(row, shown, palette, width) for row in metrics]
        begin, end = self.window(len(body), max(0, size.height - len(head)))
        return [*head, *body[begin:end]][: size.height]


def fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns that fit next to the name."""
    found = list(columns)
    while _name_cells(found, width) < NAME_CELLS and (worst := max(found, key=lambda column: column.rank)).rank:
        found.remove(worst)
    return found


def _name_cells(columns: Sequence[Column], width: int) -> int:
    return width - 2 - sum(column.width for column in columns)


def _titles(columns: Sequence[Column], palette: Palette, width: int, *, one_degrades: bool) -> Strip:
    """The line of titles. `one_degrades`: the title of the names explains the sign before one of them."""
    titles = "".join(column.cell(column.title) for column in columns)
    legend = " " + text.pad(LEGEND * one_degrades, _name_cells(columns, width))
    return text.line([(legend, _degrades_style(palette)), (titles, styled(color=palette.muted))], width)


def _degrades_style(palette: Palette) -> Style:
    return styled(color=palette.warning, bold=True)


def row_line(
    row: Row, columns: Sequence[Column], palette: Palette, width: int, *, total: bool = False, first: bool = False
) -> Strip:
    """`first`: the endpoint degrades first."""
    plain, grey = styled(color=palette.text, bold=total), styled(color=palette.muted, bold=total)
    styles = {"failed": styled(color=palette.error, bold=True) if row.failures else grey, "muted": grey}
    name = " " + text.pad(DEGRADES * first + text.safe(row.name), _name_cells(columns, width))
    cells = [
        (each.cell(each.shown(row)), styles[each.color] if each.color else plain if row.successes >= each.least else grey)
        for each in columns
    ]
    return text.line([(name, _degrades_style(palette) if first else plain), *cells], width)


# -- endpoint table ------------------------------------------------------------------------------------------------------------


SORTS: Mapping[str, Callable[[Row], float | str]] = {
    "name": lambda row: row.name,
    "req/s": lambda row: _sort_value(row.rate_rps),
    "p50": lambda row: _sort_value(row.latency.p50),
    "p95": lambda row: _sort_value(row.latency.p95),
    "p99": lambda row: _sort_value(row.latency.p99),
    "failed": lambda row: row.failures,
}
"""Sort keys by column title; figures are sorted in descending order."""


def _sort_value(value: float | None) -> float:
    return -math.inf if value is None else value


class EndpointTable(ListPane):
    """The list. `sort`: one of SORTS; `filter_text`: only rows whose name contains it are shown."""

    TITLE = "Endpoints"
    NOTHING = "no endpoint to show"

    @property
    def full_title(self) -> str:
        """With the unit of its latencies."""
        return latency_title(self.TITLE, "  ")

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw this moment; with streams the title names the latency."""
        self.retitle(*kind_titles(self.TITLE, ("",), timeline, options))
        super().show(timeline, cursor, options)

    def __init__(self) -> None:
        super().__init__()
        self.sort, self.reverse, self.filter_text = "req/s", False, ""
        self.rows: Sequence[Row] = ()

    @property
    def row(self) -> Row | None:
        """The chosen endpoint; None: there is none."""
        return self.rows[self.chosen] if self.chosen < len(self.rows) else None

    def lines(self, timeline: Timeline, options: DisplayOptions, width: int) -> Lines:
        """The rows that pass the filter, sorted."""
        kind = options.latency_kind
        label, found = rows_shown(timeline, kind)
        first, before = first_to_degrade(timeline), self.row
        self.rows = in_order(found[1:], self.sort, self.filter_text, reverse=self.reverse)
        if before is not None:  # the chosen endpoint stays chosen wherever it is now
            names = [row.name for row in self.rows]
            self.chosen = names.index(before.name) if before.name in names else self.chosen
        palette, shown = options.palette, fitting(columns_of(found, kind), width)
        titles = [
            text.line([(f" {label}{stages_label(shown)}", styled(color=palette.muted))], width),
            self._sort_keys(palette, width),
            _titles(shown, palette, width, one_degrades=first is not None),
        ]
        marked = None if first is None else name_of(first)
        return titles, [row_line(row, shown, palette, width, first=row.name == marked) for row in self.rows]

    def _sort_keys(self, palette: Palette, width: int) -> Strip:
        """The keys that sort, with the present order in bold."""
        muted, bold = styled(color=palette.muted), styled(color=palette.text, bold=True)
        words = [
            (f"  {number} {name}{' reversed' * (self.reverse and name == self.sort)}", bold if name == self.sort else muted)
            for number, name in enumerate(SORTS, 1)
        ]
        return text.line([(" sort", muted), *words], width)

    def choose(self, index: int) -> None:
        """Choose this row."""
        rows, self.rows = self.rows, ()
        super().choose(min(index, max(0, len(rows) - 1)))


def in_order(rows: Sequence[Row], sort: str, filter_text: str = "", *, reverse: bool = False) -> list[Row]:
    """The rows whose name contains `filter_text`, ignoring case, sorted by a column of SORTS."""
    found = [row for row in rows if filter_text.lower() in row.name.lower()]
    return sorted(found, key=SORTS[sort], reverse=(sort != "name") is not reverse)
