"""One level in full: its figures, the histogram of its latencies, endpoints, resources, marks and notes.

`LevelPage` shows the level at the inspection cursor; of a ramp, the bin whose load is nearest. The figures are those of the
level's settled seconds up to now.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.events import Mark, Note, Target
from ...model.figures import LevelFigures, latency_of_kind
from ...model.histogram import LatencyHistogram
from ...model.intervals import PERCENTILE_VALUES_LEAST, Z95
from ...model.level import Level, histogram_of
from ...model.level_use import level_use
from ...model.load import Rate, Users
from ...model.stages import LATENCY_KINDS, LatencyKind
from ...model.timeline import Timeline
from ...model.verdicts import Why
from ...wording import numbers, quantities
from ...wording.numbers import counted
from ...wording.quantities import LATENCY_NAMES, latencies
from ..display_options import DisplayOptions, Palette, next_kind
from ..render import text
from ..render.axis import Axis, compact, latency_tick, linear_axis, log_axis
from ..render.chart import Boundary, Chart, Series, layout, y_ticks
from ..render.draw import draw_chart
from ..render.raster import DOTS_X
from ..render.text import styled
from .endpoints import Column, columns_of, rows_of
from .journal import JournalEntry, entry_lines
from .level_parts import LevelPart, at_tick, parts_of
from .pane import ScrollingPane
from .resource_rows import packed

# -- latency histogram ---------------------------------------------------------------------------------------------------------
# A latency histogram: a chart with the share of values in each column on a logarithmic axis of latency, then the shares in
# words.


ROWS = 10
"""Height of the chart in rows of cells."""
DOTS_PER_BAR = 4
"""Width of a bar in dots: two cells."""

ROUND = (1, 2, 5)
"""Multipliers of 10^k that are bounds of the ranges whose shares are given in words."""


def histogram_lines(histogram: LatencyHistogram, options: DisplayOptions, width: int) -> list[Strip]:
    """ROWS lines of chart, then the shares in words."""
    if not histogram.count:
        return [text.line([(" no latency was recorded", styled(color=options.palette.muted))], width)]
    low_ms, high_ms = max(histogram.min_ms or 0.001, 0.001), histogram.max_ms or 1.0
    size = Size(width, ROWS)
    axis = log_axis(low_ms, high_ms, max(width // 10, 2), latency_tick)
    chart = _chart(histogram, axis, options, size)
    plain = styled(color=options.palette.text)
    words = text.flow(shares(histogram, low_ms, high_ms), width - 2)
    return [*draw_chart(chart, options.palette, size), *(text.line([(f" {line}", plain)], width) for line in words)]


def _chart(histogram: LatencyHistogram, axis: Axis, options: DisplayOptions, size: Size) -> Chart:
    palette = options.palette
    dots = layout(Chart(axis, linear_axis(100.0, y_ticks(size.height))), size).columns * DOTS_X
    bars = max(dots // DOTS_PER_BAR, 1)
    edges_ms = [axis.low * (axis.high / axis.low) ** (bar / bars) for bar in range(bars + 1)]
    counts = histogram.counts_between([1000 * edge for edge in edges_ms])
    percent = 100 * np.append(counts[1:-2], counts[-2] + counts[-1]) / histogram.count
    steps = range(bars * DOTS_PER_BAR)
    xs = [axis.low * (axis.high / axis.low) ** ((step + 0.5) / len(steps)) for step in steps]
    p50, p95, p99 = histogram.percentiles_ms((0.5, 0.95, 0.99))
    colors = (palette.primary, palette.secondary, palette.accent)
    named = zip(("p50", "p95", "p99"), (p50, p95, p99), colors, strict=True)
    highest = float(percent.max())
    y = linear_axis(highest, y_ticks(size.height))
    return Chart(
        x=axis,
        y=Axis(y.low, y.high, tuple((tick, f"{label}%") for tick, label in y.ticks)),
        series=(Series(xs, [float(percent[step // DOTS_PER_BAR]) or math.nan for step in steps], palette.muted, bars=True),),
        boundaries=tuple(Boundary(value, name, color, solid=True) for name, value, color in named if value is not None),
    )


def shares(histogram: LatencyHistogram, low_ms: float, high_ms: float) -> list[str]:
    """`10–20 ms 12%` for each range between round bounds that contains values."""
    bounds = _bounds(low_ms, high_ms)
    counts = histogram.counts_between([1000 * bound for bound in bounds])
    ranges = zip(bounds, bounds[1:], counts[1:], strict=False)
    return [
        f"{latencies((low, high), '–', compact)} {text.percent(count / histogram.count)}" for low, high, count in ranges if count
    ]


def _bounds(low_ms: float, high_ms: float) -> list[float]:
    """Bounds of 1, 2 or 5 times 10^k from below the least value to above the greatest."""
    powers = range(math.floor(math.log10(low_ms)), math.ceil(math.log10(high_ms)) + 2)
    found = [digit * 10.0**power for power in powers for digit in ROUND]
    first = max(index for index, bound in enumerate(found) if bound <= low_ms * (1 + 1e-9))
    last = min(index for index, bound in enumerate(found) if bound > high_ms)
    return found[first : last + 1]


_LATENCY_CELLS = 6


def _failed(column: Column) -> Column:
    """The column of the share of failures by the name of its figures, since that of counts is left out."""
    return replace(column, title="failed", cells=6) if column.title == "%" else column


_STATES: dict[Why | None, str] = {
    "stacks": "the target's stacks were sampled in this level, which costs CPU: it is in no curve",
    "experiment": "an experiment: something was changed beside the load, so it is in no curve",
    "other_service": "the service was in another state than the one that the verdict is about",
    "changed": "the service changed during the level: its figures mix two states",
}


class LevelPage(ScrollingPane):
    """The page of one level, which scrolls, since it is longer than most terminals."""

    TITLE = "Level"

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw this moment; the title names the level."""
        part = part_at(timeline, options.inspected)
        self.retitle("Level" if part is None else f"Level {part.index}: {_named(part)}")
        super().show(timeline, cursor, options)

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """The lines from the scroll position on."""
        part = part_at(timeline, options.inspected)
        if part is None:
            return [text.line([("  no level at the cursor", styled(color=options.palette.muted))], size.width)]
        lines = list(_lines(timeline, part, options, size.width))
        first, last = self.window(len(lines), size.height)
        return lines[first:last]


def part_at(timeline: Timeline, tick: int | None) -> LevelPart | None:
    """The level at this tick; for a ramp, its bin with the nearest load."""
    level = None if tick is None else timeline.level_at(tick)
    return None if level is None else at_tick(timeline, tick, parts_of(level))


def _named(part: LevelPart) -> str:
    if not part.is_bin:
        return quantities.requested(part.level.load)
    load = quantities.offered_rate(part.load) if isinstance(part.level.load, Rate) else counted(round(part.load, 1))
    return f"{load} of a ramp"


def _histogram(part: LevelPart, kind: LatencyKind) -> LatencyHistogram:
    return histogram_of(part.figures, part.endpoints, kind) if part.is_bin else part.level.histogram_of(kind)


def _lines(timeline: Timeline, part: LevelPart, options: DisplayOptions, width: int) -> Iterator[Strip]:
    palette = options.palette
    plain, kind, stages = styled(color=palette.text), options.latency_kind, timeline.stages
    histogram = _histogram(part, kind)
    yield text.line([(f" {_when(timeline, part.level)}", styled(color=palette.muted))], width)
    why = level_use(part.level, timeline.verdicts.get(part.level.opened.epoch)).why
    if why in _STATES:
        yield text.line([(f" △ {_STATES[why]}", plain)], width)
    for line in _figures(part, has_streams=bool(stages)):
        yield from (text.line([(f" {each}", plain)], width) for each in text.flow(line.split("  "), width - 2))
    named = "Time from plan" if part.figures.offered is not None and kind == "total" else "Latency"
    named = named if kind == "total" else f"{LATENCY_NAMES[kind].capitalize()} ({kind})"
    values, key = "gaps" if kind == "itl" else "successes", f"; T: {next_kind(kind, stages)}" if stages else ""
    yield _heading(f"{quantities.latency_title(named, ', ')}: share of {histogram.count:,} {values}{key}", palette, width)
    yield from histogram_lines(histogram, options, width)
    of_total = "Endpoints, service time" if part.figures.offered is not None else "Endpoints"
    endpoints = of_total if kind == "total" else f"Endpoints, {kind}"
    yield _heading(quantities.latency_title(endpoints, ", "), palette, width)
    yield from _endpoints(part, kind, palette, width)
    yield _heading("Resources, means", palette, width)
    resources = list(_resources(part.figures))
    for line in packed(resources, width - 2, width - 2, more=len(resources)):
        yield text.line([(f" {line}", plain)], width)
    yield _heading("Marks and notes", palette, width)
    yield from _marks(timeline, part.level, palette, width)


def _heading(words: str, palette: Palette, width: int) -> Strip:
    return text.line([(f" {words}", styled(color=palette.accent, bold=True))], width)


def _when(timeline: Timeline, level: Level) -> str:
    """`01:25 to 01:36, by user; settled from 01:29 for 11 s`."""
    ended = "now" if level.ended_s is None else wording.session_time(level.ended_s)
    settled = "not settled"
    if level.settled_s is not None:
        settled = f"settled from {wording.session_time(level.settled_s)} for {text.span(level.figures.settled_seconds)}"
    return f"{wording.session_time(level.started_s)} to {ended}, by {level.opened.by}; {settled}"


def _figures(part: LevelPart, *, has_streams: bool) -> Iterator[str]:
    figures = part.figures
    if not figures.settled:
        yield f"no figures: the level has not settled; {figures.failures_while_unsettled:,} requests failed"
        return
    error_rps = None if figures.goodput_se_rps is None else Z95 * figures.goodput_se_rps
    yield (
        f"{quantities.goodput_name(figures)} {quantities.rate_and_error(figures.goodput_rps, error_rps)}, "
        f"throughput {quantities.rate_figure(figures.throughput_rps)}, "
        f"{figures.requests:,} requests, {text.percent(figures.failure_ratio)} failed"
    )
    if figures.served_rps is not None:
        yield f"beyond limits: {quantities.beyond_limits(figures)}"
    if has_streams:
        yield f"tokens {quantities.rate_figure(figures.tokens_per_s)} of streams that ended"
    if figures.offered is not None:
        offered = figures.offered
        yield (
            f"offered {quantities.offered_rate(offered.offered_per_s)}, "
            f"achieved {quantities.rate_figure(offered.finished_per_s)}, "
            f"{offered.dropped.total:,} dropped, {offered.in_flight_mean:.1f} in flight"
        )
    for kind in LATENCY_KINDS if has_streams else LATENCY_KINDS[:1]:
        yield _percentiles(part, kind, f"{kind}  " * has_streams)


_OF_STAGE = ("mean", "p50", "p95", "p99", "max")
"""Figures of a stage, on one line of 80 columns."""


def _percentiles(part: LevelPart, kind: LatencyKind, called: str) -> str:
    """Those of one latency; in total at an offered rate of the time from plan."""
    figures = part.figures
    latency = latency_of_kind(figures, kind)
    if figures.offered is not None and kind == "total":
        latency, called = figures.offered.from_plan_ms, "time from plan  "
    count = _histogram(part, kind).count or figures.requests - figures.failures
    few = {name for name, least in PERCENTILE_VALUES_LEAST.items() if figures.counted and count < least}
    named = (("min", latency.min), ("mean", latency.mean), ("p50", latency.p50), ("p90", latency.p90), ("p95", latency.p95))
    rest = (("p99", latency.p99), ("p99.9", latency.p999), ("max", latency.max))
    shown = [(name, value) for name, value in (*named, *rest) if kind == "total" or name in _OF_STAGE]
    return called + quantities.latency_list(((f"{name} (few)" * (name in few) or name, value) for name, value in shown), "  ")


def _endpoints(part: LevelPart, kind: LatencyKind, palette: Palette, width: int) -> Iterator[Strip]:
    """A table of the endpoints: name, and figures over the settled seconds."""
    muted, plain = styled(color=palette.muted), styled(color=palette.text)
    rows = rows_of(part.endpoints, part.figures.settled_seconds, kind)
    left_out = ("failed", "bytes", *(("requests", "max") if any(row.stages for row in rows) else ()))
    shown = (each for each in columns_of(rows, kind) if each.title not in left_out)
    columns = [(each, each.cells or _LATENCY_CELLS) for each in (_failed(each) for each in shown)]
    name_cells = max(width - 2 - sum(cells + 1 for _, cells in columns), 8)
    titles = "".join(" " + text.pad(each.title, cells, right=True) for each, cells in columns)
    yield text.line([(" " * (name_cells + 1) + titles, muted)], width)
    for row in rows:
        figures = "".join(" " + text.pad(each.shown(row), cells, right=True) for each, cells in columns)
        style = styled(color=palette.error) if row.failures else plain
        yield text.line([(f" {text.pad(text.safe(row.name), name_cells)}", plain), (figures, style)], width)
    if not part.endpoints:
        yield text.line([(" no endpoint has settled seconds", muted)], width)


def _resources(figures: LevelFigures) -> Iterator[str]:
    yield f"target cpu {numbers.three_digits(figures.target_cpu_ratio)} cores"
    yield f"target memory {quantities.size(figures.target_rss_bytes)}"
    yield f"host cpu {numbers.three_digits(figures.host_cpu_ratio)} cores"
    yield f"load average {numbers.three_digits(figures.load_average_1m)}"
    yield f"generator cpu {numbers.three_digits(figures.generator_cpu_ratio)} cores"
    yield f"generator run delay {numbers.three_digits(figures.generator_run_delay_ratio)}"
    yield f"loop lag p99 {quantities.latency_figure(figures.loop_lag_p99_ms)}"
    yield f"ports at most {numbers.count(figures.ports_used)} of {numbers.count(figures.ports_capacity)}"
    yield f"open sockets {numbers.count(figures.open_sockets)}"
    yield f"network in {quantities.byte_rate(figures.received_bytes_per_s)} out {quantities.byte_rate(figures.sent_bytes_per_s)}"
    yield f"disk {text.percent(figures.disk_busy_ratio)} busy"
    for name, ratio in figures.other_processes.items():
        yield f"other process {text.safe(name)} {numbers.three_digits(ratio)} cores"


def _marks(timeline: Timeline, level: Level, palette: Palette, width: int) -> Iterator[Strip]:
    """Current marks at this level's load or made in it, notes, and states of the target."""
    ended_s = level.ended_s if level.ended_s is not None else timeline.last_s
    current = wording.current_marks(timeline)
    found: list[Mark | Note | Target] = [
        mark for mark in current.values() if level.started_s < mark.t_s <= ended_s or _names(mark, level)
    ]
    found += [entry for entry in timeline.journal if isinstance(entry, Note | Target) and level.started_s < entry.t_s <= ended_s]
    if not found:
        yield text.line([(" none", styled(color=palette.muted))], width)
    for entry in sorted(found, key=lambda entry: entry.t_s):
        sentence = wording.journal_mark(entry) if isinstance(entry, Mark) else wording.journal(entry)
        yield from entry_lines(JournalEntry(entry, sentence), palette, width)


def _names(mark: Mark, level: Level) -> bool:
    """Whether the mark is about the users of this level."""
    return mark.users == level.users and isinstance(level.load, Users) and mark.epoch == level.opened.epoch
