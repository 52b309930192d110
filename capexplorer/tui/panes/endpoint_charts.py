"""Charts of one endpoint: its throughput and latency over time, and its figures at each level against the load."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import asdict
from textual.geometry import Size

from ...model.columns import EndpointKey
from ...model.figures import LevelEndpoint, latency_of_kind
from ...model.level import Level
from ...model.load import Rate
from ...model.stages import LatencyKind
from ...model.timeline import Timeline
from ...wording.numbers import counted
from ...wording.quantities import latency_title, offered_rate, rate_cell
from ..display_options import DisplayOptions, Palette
from ..render.axis import count_axis, latency_tick, linear_axis
from ..render.chart import BARS, DASHED, DOTTED, SOLID, STAIRCASE, Boundary, Chart, Legend, Point, Series, latency_legend, y_ticks
from ..render.raster import Pattern, Shape
from ..render.timepage import TimePage, over_time, page_of
from .endpoints import first_to_degrade
from .latency import kind_titles
from .level_parts import LevelPart, at_tick, levels_of_load, parts_of
from .pane import ChartPane

_NO_SECONDS = "no seconds of this endpoint are kept: only those of the first 50 endpoints are"


class EndpointPane(ChartPane):
    """The base of charts of one endpoint. `endpoint` is (method, name)."""

    def __init__(self, endpoint: EndpointKey) -> None:
        super().__init__()
        self.endpoint = endpoint

    def seconds(self, shown: TimePage | None, name: str) -> Sequence[float]:
        """The page's part of one of the endpoint's columns; empty if it has none."""
        columns = shown.timeline.endpoint_columns.of(self.endpoint) if shown is not None else None
        return columns[name][shown.first : shown.stop] if columns is not None and shown is not None else ()

    def read(self, shown: TimePage, name: str) -> float:
        """The value of the second that legends show; NaN if there is none."""
        columns = shown.timeline.endpoint_columns.of(self.endpoint)
        return math.nan if columns is None else columns[name][shown.read]


class EndpointThroughput(EndpointPane):
    """Requests and failures a second."""

    TITLE = "Throughput  req/s"

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """One page of seconds up to the cursor."""
        shown, palette = page_of(timeline, cursor, options), options.palette
        rates = self.seconds(shown, "throughput_rps")
        if shown is None or not rates:
            return _NO_SECONDS
        failures, times = self.seconds(shown, "failures_rps"), shown.column("t_s")
        legend = (
            Legend(SOLID, "throughput", rate_cell(self.read(shown, "throughput_rps")), palette.primary),
            Legend(BARS, "failures", rate_cell(self.read(shown, "failures_rps")), palette.error),
        )
        series = (
            Series(times, failures, palette.error, bars=True, gap=shown.gap_s),
            Series(times, rates, palette.primary, gap=shown.gap_s),
        )
        y = linear_axis(_most(rates), y_ticks(size.height))
        return over_time(shown, options, size.width, y, legend, series, tagged=False)


SECONDS_MOST = 600
"""The most seconds of a page whose p95 is drawn; of a longer page one second of n is. A replay reads each from the log in 0.2
ms.
"""


class EndpointLatency(EndpointPane):
    """Mean and p95 of each second, and the p95 of each level."""

    TITLE = "Latency"

    @property
    def full_title(self) -> str:
        """With the unit of its axis."""
        return latency_title(self.TITLE, "  ")

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw this moment; with streams the title names the latency."""
        self.retitle(*kind_titles(self.TITLE, ("",), timeline, options))
        super().show(timeline, cursor, options)

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """One page of seconds up to the cursor."""
        shown, palette, kind = page_of(timeline, cursor, options), options.palette, options.latency_kind
        means = self.seconds(shown, "mean_ms")
        if shown is None or not means:
            return _NO_SECONDS
        if kind != "total":  # of stages no mean is kept for each second
            means = ()
        ticks = range(shown.first, shown.stop, -(-(shown.stop - shown.first) // SECONDS_MOST))
        seconds, times = timeline.latency_seconds, timeline.columns["t_s"]
        p95s = [seconds.p95_ms(tick, self.endpoint, kind) if seconds is not None else math.nan for tick in ticks]
        starts, heights = _p95_steps(timeline, self.endpoint, shown, kind)
        read_p95_ms = seconds.p95_ms(shown.read, self.endpoint, kind) if seconds is not None else math.nan
        one_of, level_p95_ms = _of_seconds(ticks.step), _level_p95_ms(shown.level, self.endpoint, kind)
        read_mean_ms, p95_name = self.read(shown, "mean_ms"), "its p95" if means else "p95 of each second"
        mean = latency_legend(SOLID, "mean of each second", read_mean_ms, palette.primary, short="mean", letter="m")
        legend = (
            *((mean,) if means else ()),
            latency_legend(DOTTED, f"{p95_name}{one_of}", read_p95_ms, palette.accent, short="p95", letter="p"),
            latency_legend(STAIRCASE, "p95 of each level", level_p95_ms, palette.secondary, short="level p95", letter="l"),
        )
        at_s, gap_s = [times[tick] for tick in ticks], shown.gap_s * ticks.step
        series = (
            Series(at_s, p95s, palette.accent, Pattern.DOTTED, gap=gap_s, letter="p"),
            Series(starts, heights, palette.secondary, Pattern.DASHED, staircase=True, letter="l"),
            *((Series(shown.column("t_s"), means, palette.primary, gap=shown.gap_s, letter="m"),) if means else ()),
        )
        y = linear_axis(max(map(_most, (means, p95s, heights))), y_ticks(size.height), latency_tick)
        return over_time(shown, options, size.width, y, legend, series, tagged=False)


def _of_seconds(step: int) -> str:
    return f", one second of {step}" if step > 1 else ""


def _most(values: Sequence[float]) -> float:
    return max((value for value in values if math.isfinite(value)), default=0.0)


def _p95_steps(timeline: Timeline, endpoint: EndpointKey, shown: TimePage, kind: LatencyKind) -> tuple[list[float], list[float]]:
    """The p95 of each level on this page as a step function (times, ms)."""
    starts, heights = [], []
    for level in timeline.levels:
        ended_s = shown.now_s if level.ended_s is None else level.ended_s
        if level.started_s <= shown.now_s and ended_s >= shown.start_s:
            starts.append(max(level.started_s, shown.start_s))
            heights.append(_level_p95_ms(level, endpoint, kind))
    return ([*starts, shown.now_s], [*heights, heights[-1]]) if starts else ([], [])


def _level_p95_ms(level: Level | None, endpoint: EndpointKey, kind: LatencyKind) -> float:
    found = None if level is None else _figures_of(endpoint, level.endpoints)
    return math.nan if found is None else _p95_ms(found, kind)


def _p95_ms(found: LevelEndpoint, kind: LatencyKind) -> float:
    p95_ms = latency_of_kind(found, kind).p95
    return math.nan if p95_ms is None else p95_ms


def _figures_of(endpoint: EndpointKey, endpoints: Sequence[LevelEndpoint]) -> LevelEndpoint | None:
    return next((each for each in endpoints if (each.method, each.name) == endpoint), None)


# -- over levels


class EndpointPoint(LevelPart, frozen=True):
    """The point of one endpoint at a settled level, or bin of a ramp."""

    throughput_rps: float = math.nan
    goodput_rps: float = math.nan
    p95_ms: float = math.nan


class EndpointCurve(EndpointPane):
    """Throughput and p95 of each settled level against its load."""

    TITLE = "Over levels"

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """The settled levels of the current level's epoch that have the same kind of load."""
        palette, points = options.palette, level_points(timeline, self.endpoint, options.latency_kind)
        if not points:
            return "no settled level yet"
        inspected = at_tick(timeline, options.inspected, points)
        read = inspected or points[-1]
        loads = [point.load for point in points]
        by_offered_rate = isinstance(timeline.load, Rate)
        right = linear_axis(_most([point.p95_ms for point in points]), y_ticks(size.height), latency_tick)
        return Chart(
            x=count_axis(max(loads) * 1.05, max(size.width // 8, 2)),
            y=linear_axis(_most([point.throughput_rps for point in points]), y_ticks(size.height)),
            right=right,
            legend=(
                Legend("●", "goodput req/s", rate_cell(read.goodput_rps), palette.secondary, short="good", letter="g"),
                Legend(DOTTED, "throughput", rate_cell(read.throughput_rps), palette.primary, short="total", letter="t"),
                latency_legend(
                    DASHED, f"{latency_title(_p95_name(options.latency_kind))} (right)", read.p95_ms, palette.accent, letter="p"
                ),
                Legend("", f"at {offered_rate(read.load) if by_offered_rate else counted(read.load)}", "", palette.muted),
            ),
            series=(
                Series(loads, [point.p95_ms for point in points], palette.accent, Pattern.DASHED, right=True, letter="p"),
                Series(loads, [point.throughput_rps for point in points], palette.primary, Pattern.DOTTED, letter="t"),
                Series(loads, [point.goodput_rps for point in points], palette.secondary, letter="g"),
            ),
            points=tuple(Point(point.load, point.goodput_rps, Shape.FILLED, palette.secondary) for point in points),
            boundaries=_degradation(timeline, self.endpoint, palette),
            cursor=None if inspected is None else inspected.load,
            cursor_label="" if inspected is None else f"{inspected.load:g}",
        )


def _degradation(timeline: Timeline, endpoint: EndpointKey, palette: Palette) -> tuple[Boundary, ...]:
    """A boundary at the load from which this endpoint degrades, if it is the first that does."""
    first = first_to_degrade(timeline)
    if first is None or (first.method, first.name) != endpoint:
        return ()
    return (Boundary(first.users, "degrades first", palette.warning, solid=True),)


def _p95_name(kind: LatencyKind) -> str:
    return "p95" if kind == "total" else f"{kind} p95"


def level_points(timeline: Timeline, endpoint: EndpointKey, kind: LatencyKind = "total") -> list[EndpointPoint]:
    """The points sorted by load; equal loads stay in the order of the session."""
    levels, found = levels_of_load(timeline), []
    for part in (part for level in levels if level.opened.epoch == levels[-1].opened.epoch for part in parts_of(level)):
        measured, seconds = _figures_of(endpoint, part.endpoints), part.figures.settled_seconds
        if part.figures.settled and seconds and measured is not None:
            requests = measured.requests
            point = EndpointPoint(
                **asdict(part),
                throughput_rps=requests / seconds,
                goodput_rps=measured.good / seconds,
                p95_ms=_p95_ms(measured, kind),
            )
            found.append(point)
    return sorted(found, key=lambda point: point.load)
