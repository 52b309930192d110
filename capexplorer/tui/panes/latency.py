"""Latency of the successes of each second, with the generator's lag and the client overhead for comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.geometry import Size

from ...model.timeline import Timeline
from ...wording.quantities import latency_title
from ..display_options import DisplayOptions, LatencyForm, Palette
from ..render.axis import Axis, duration_axis, latency_tick, linear_axis, log_axis
from ..render.chart import Chart, Series, y_ticks
from ..render.legend import DASHED, DOTTED, SOLID, Legend, latency_legend
from ..render.raster import Pattern
from ..render.timepage import NOTHING, TimePage, boundaries, page_of, phases, tags
from .chart_pane import ChartPane
from .latency_heatmap import heatmap
from .latency_levels import LETTERS, latency_by_level

FROM_PLAN = "from_plan_"
"""Prefix of columns with the time from plan: from the moment at which an iteration was due to its end."""

ENOUGH = {"p50": 1, "p95": 200, "p99": 1_000}
"""Number of successes in a level from which its percentiles are shown plainly; with fewer they are grey."""

TITLES: Mapping[LatencyForm, tuple[str, Sequence[str]]] = {
    "lines": ("Latency", ("",)),
    "heatmap": ("Latency heatmap", ("",)),
    "levels": ("Latency by users", ("",)),
}
RATE_TITLES: Mapping[LatencyForm, tuple[str, Sequence[str]]] = {
    "lines": ("Latency", (", time from plan (grey: service time)", ", time from plan", " from plan")),
    "heatmap": ("Latency heatmap", (", service time",)),
    "levels": ("Latency by rate", (", time from plan", " from plan", "")),
}
"""While a rate is offered. What stands before the unit, and behind it: from the longest to the shortest."""


class LatencyPane(ChartPane):
    """p50, p95 and p99, linear or logarithmic. While a rate is offered, those of the time from plan and of requests."""

    TITLE = "Latency"

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw this moment; the title names the form and the scale."""
        by_offered_rate = timeline.offered_per_s is not None
        before, behind = (RATE_TITLES if by_offered_rate else TITLES)[options.latency_form]
        titles = [latency_title(before, "  ") + each for each in behind]
        is_log = options.log_latency and options.latency_form != "heatmap"
        self.retitle(*(f"{title}, log scale" for title in titles) if is_log else titles)
        self.by_load = options.latency_form == "levels"
        super().show(timeline, cursor, options)

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """One page of seconds up to the cursor, or one point a level."""
        if options.latency_form == "heatmap":
            return heatmap(timeline, cursor, options, size)
        if options.latency_form == "levels":
            return latency_by_level(timeline, cursor, options, size)
        shown = page_of(timeline, cursor, options)
        if shown is None:
            return NOTHING
        unsettled, settled = phases(shown)
        times, palette = shown.column("t_s"), options.palette
        by_offered_rate = has_offered_rate(shown)
        prefix = FROM_PLAN if by_offered_rate else ""
        return Chart(
            x=duration_axis(shown.start_s, shown.end_s, max(size.width // 12, 2)),
            y=_axis(shown, prefix, options.log_latency, y_ticks(size.height)),
            legend=_legend(shown, palette),
            series=(
                *(
                    (Series(times, shown.column("p99_ms"), palette.muted, gap=shown.gap_s, letter="s"),)
                    if by_offered_rate
                    else ()
                ),
                # a cell shows the colour of the last line in it: p95, the least important one, is first
                Series(
                    times,
                    shown.column(f"{prefix}p95_ms"),
                    palette.secondary,
                    Pattern.DASHED,
                    gap=shown.gap_s,
                    letter=LETTERS["p95"],
                ),
                Series(times, shown.column(f"{prefix}p50_ms"), palette.primary, gap=shown.gap_s, letter=LETTERS["p50"]),
                Series(
                    times, shown.column(f"{prefix}p99_ms"), palette.accent, Pattern.DOTTED, gap=shown.gap_s, letter=LETTERS["p99"]
                ),
            ),
            boundaries=boundaries(shown, options.palette),
            tags=tags(shown, palette, words=options.large),
            unsettled=unsettled,
            settled=settled,
            cursor=shown.inspected_s,
            cursor_label=shown.inspected_label,
        )


def has_offered_rate(shown: TimePage) -> bool:
    """Whether a rate is offered in the second whose values are shown: then the chart has both time from plan and service time."""
    return shown.latest("offered_per_s") == shown.latest("offered_per_s")


def _axis(shown: TimePage, prefix: str, log: bool, most_ticks: int) -> Axis:
    names = [f"{prefix}{name}_ms" for name in ENOUGH]
    highest, lowest = shown.highest(*names), shown.lowest(*names)
    if log and lowest is not None:
        return log_axis(lowest, highest, most_ticks, latency_tick)
    return linear_axis(highest, most_ticks, latency_tick)


def _legend(shown: TimePage, palette: Palette) -> tuple[Legend, ...]:
    successes, by_offered_rate = _successes(shown), has_offered_rate(shown)
    prefix = FROM_PLAN if by_offered_rate else ""

    def percentile(name: str, key: str, color: str, aspect: str = "") -> Legend:
        value, few = shown.latest(f"{prefix}{name}_ms"), successes < ENOUGH[name]
        return latency_legend(key, f"{aspect}{name}", value, color, short=name, letter=LETTERS[name], quiet=few)

    return (
        percentile("p50", SOLID, palette.primary, "from plan " if by_offered_rate else ""),
        percentile("p95", DASHED, palette.secondary),
        percentile("p99", DOTTED, palette.accent),
        *(
            (latency_legend(SOLID, "service p99", shown.latest("p99_ms"), palette.muted, short="svc", letter="s"),)
            if by_offered_rate
            else ()
        ),
        latency_legend("", "loop lag p99", shown.latest("loop_lag_p99_ms"), palette.muted, short="loop lag", aside=True),
        *_client_overhead(shown.timeline, palette),
    )


def _successes(shown: TimePage) -> int:
    """Successes in the settled seconds of the level whose values are shown."""
    level = shown.level
    return level.figures.requests - level.figures.failures if level is not None else 0


def _client_overhead(timeline: Timeline, palette: Palette) -> tuple[Legend, ...]:
    """The median of the client overhead, ms; of the slowest client if several are in use."""
    overheads = timeline.header.client_overhead_ms.values() if timeline.header else ()
    slowest = max((floor.p50_ms for floor in overheads), default=None)
    return (
        (latency_legend("", "client overhead", slowest, palette.muted, short="client", aside=True),)
        if slowest is not None
        else ()
    )
