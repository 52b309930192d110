"""Requests and finished work per second, with users or offered rate."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from ...model.load import Rate
from ...model.timeline import Timeline
from ...wording import quantities
from ..display_options import DisplayOptions, Palette
from ..render.axis import count_axis, duration_axis, linear_axis
from ..render.chart import BARS, DOTTED, SOLID, STAIRCASE, Chart, Legend, Series, y_ticks
from ..render.raster import Pattern
from ..render.timepage import NOTHING, TimePage, boundaries, offered_staircase, page_of, phases, staircase, tags
from .pane import ChartPane

Steps = tuple[Sequence[float], Sequence[float]]
"""(times, loads)."""

OFFERED_HEADROOM = 1.1
"""Ratio of the scale to the highest offered rate, so that its line is below the labels of levels."""

USERS_HEADROOM = 1.2
"""Ratio of the right scale to the greatest number of users, so that their line is below the throughput and the labels of levels.
"""


class ThroughputPane(ChartPane):
    """Throughput, goodput, failures and the offered rate, each per second; users on the right scale."""

    TITLE = "Throughput  req/s"

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """One page of seconds up to the cursor."""
        shown = page_of(timeline, cursor, options)
        if shown is None:
            return NOTHING
        unsettled, settled = phases(shown)
        steps, offered = staircase(shown), offered_staircase(shown)
        most = y_ticks(size.height)
        return Chart(
            x=duration_axis(shown.start_s, shown.end_s, max(size.width // 12, 2)),
            y=linear_axis(
                max(shown.highest("throughput_rps", "goodput_rps", "failures_rps"), OFFERED_HEADROOM * _most(offered[1])), most
            ),
            right=count_axis(USERS_HEADROOM * max(shown.highest("users"), _most(steps[1])), most),
            legend=_legend(shown, options.palette),
            series=_series(shown, steps, offered, options.palette),
            boundaries=boundaries(shown, options.palette),
            tags=tags(shown, options.palette, words=options.large),
            unsettled=unsettled,
            settled=settled,
            cursor=shown.inspected_s,
            cursor_label=shown.inspected_label,
        )


def _most(values: Sequence[float]) -> float:
    return max((value for value in values if value == value), default=0.0)


def _series(shown: TimePage, steps: Steps, offered: Steps, palette: Palette) -> tuple[Series, ...]:
    times, gap_s = shown.column("t_s"), shown.gap_s
    return (
        Series(times, shown.column("failures_rps"), palette.error, bars=True, gap=gap_s),
        Series(times, shown.column("users"), palette.accent, Pattern.DASHED, right=True, gap=gap_s, letter="u"),
        Series(*steps, palette.accent, Pattern.DASHED, staircase=True, right=True),
        Series(*offered, palette.text, Pattern.DASHED, staircase=True, letter="o"),
        *((Series(times, shown.column("offered_per_s"), palette.text, Pattern.DASHED, gap=gap_s),) if _ramps(shown) else ()),
        Series(times, shown.column("throughput_rps"), palette.primary, Pattern.DOTTED, gap=gap_s, letter="t"),
        Series(times, shown.column("goodput_rps"), palette.secondary, gap=gap_s, letter="g"),
    )


def _legend(shown: TimePage, palette: Palette) -> tuple[Legend, ...]:
    """The legend, which has failures only if this page has some."""
    users, wanted = shown.latest("users"), shown.latest("wanted")
    count = f"{users:.0f}" if users == wanted else f"{users:.0f}/{wanted:.0f}"
    failures, offered = shown.latest("failures_rps"), shown.latest("offered_per_s")
    failing = Legend(BARS, "failures", quantities.rate_cell(failures), palette.error, short="fail")
    return (
        Legend(
            SOLID,
            work_name(shown.timeline),
            quantities.rate_cell(shown.latest("goodput_rps")),
            palette.secondary,
            short="good",
            letter="g",
        ),
        *((failing,) if shown.highest("failures_rps") > 0 else ()),
        *(
            (Legend(STAIRCASE, "offered", quantities.rate_cell(offered), palette.text, short="rate", letter="o"),)
            if offered == offered
            else ()
        ),
        Legend(STAIRCASE, "users", count, palette.accent, width=3, letter="u"),
        Legend(
            DOTTED, "throughput", quantities.rate_cell(shown.latest("throughput_rps")), palette.primary, short="total", letter="t"
        ),
    )


def _ramps(shown: TimePage) -> bool:
    """Whether a ramp of rates is among the levels."""
    return any(level.opened.ramp and isinstance(level.load, Rate) for level in shown.timeline.levels)


def work_name(timeline: Timeline) -> str:
    """The name of finished work: "goodput", or "finished" if the profile counts it by one of the target's own metrics."""
    work = timeline.header.profile.get("work") if timeline.header else None
    return "finished" if isinstance(work, dict) and work.get("metric") else "goodput"
