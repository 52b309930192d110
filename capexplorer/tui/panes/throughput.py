"""Requests and finished work per second, with users or offered rate."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from ...model.level import Level
from ...model.load import Rate
from ...model.timeline import Timeline
from ...wording import quantities
from ..display_options import DisplayOptions, Palette
from ..render.axis import count_axis, linear_axis
from ..render.chart import BARS, DOTTED, SOLID, STAIRCASE, Chart, Legend, Series, y_ticks
from ..render.raster import Pattern
from ..render.timepage import NOTHING, TimePage, offered_staircase, over_time, page_of, staircase
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
        steps, offered = staircase(shown), offered_staircase(shown)
        most = y_ticks(size.height)
        highest = max(shown.highest("throughput_rps", "goodput_rps", "failures_rps"), OFFERED_HEADROOM * _most(offered[1]))
        right = count_axis(USERS_HEADROOM * max(shown.highest("users"), _most(steps[1])), most)
        series = _series(shown, steps, offered, options.palette)
        return over_time(
            shown, options, size.width, linear_axis(highest, most), _legend(shown, options.palette), series, right=right
        )


def _most(values: Sequence[float]) -> float:
    return max((value for value in values if value == value), default=0.0)


def _series(shown: TimePage, steps: Steps, offered: Steps, palette: Palette) -> tuple[Series, ...]:
    return (
        shown.line("failures_rps", palette.error, bars=True),
        shown.line("users", palette.accent, Pattern.DASHED, right=True, letter="u"),
        Series(*steps, palette.accent, Pattern.DASHED, staircase=True, right=True),
        Series(*offered, palette.text, Pattern.DASHED, staircase=True, letter="o"),
        *((shown.line("offered_per_s", palette.text, Pattern.DASHED),) if _ramps(shown) else ()),
        shown.line("throughput_rps", palette.primary, Pattern.DOTTED, letter="t"),
        shown.line("goodput_rps", palette.secondary, letter="g"),
    )


def _legend(shown: TimePage, palette: Palette) -> tuple[Legend, ...]:
    """The legend, which has failures only if this page has some."""
    users, wanted = shown.latest("users"), shown.latest("wanted")
    count = f"{users:.0f}" if users == wanted else f"{users:.0f}/{wanted:.0f}"
    name, offered = work_name(shown.timeline), shown.latest("offered_per_s")

    def rate(key: str, name: str, column: str, color: str, short: str, letter: str = "") -> Legend:
        return Legend(key, name, quantities.rate_cell(shown.latest(column)), color, short=short, letter=letter)

    failing = (rate(BARS, "failures", "failures_rps", palette.error, "fail"),)
    offering = (rate(STAIRCASE, "offered", "offered_per_s", palette.text, "rate", "o"),)
    return (
        rate(SOLID, name, "goodput_rps", palette.secondary, "good", "g"),
        *((_tokens(shown.level, palette),) if shown.timeline.stages else ()),
        *(failing if shown.highest("failures_rps") > 0 else ()),
        *(offering if offered == offered else ()),
        Legend(STAIRCASE, "users", count, palette.accent, width=3, letter="u"),
        rate(DOTTED, "throughput", "throughput_rps", palette.primary, "total", "t"),
    )


def _tokens(level: Level | None, palette: Palette) -> Legend:
    """Those of the level: of single seconds they vary with the ends of streams."""
    per_s = None if level is None else level.figures.tokens_per_s
    return Legend("", "level's tokens/s", quantities.rate_cell(per_s), palette.text, short="tok/s")


def _ramps(shown: TimePage) -> bool:
    """Whether a ramp of rates is among the levels."""
    return any(level.opened.ramp and isinstance(level.load, Rate) for level in shown.timeline.levels)


def work_name(timeline: Timeline) -> str:
    """The name of finished work: "goodput", "finished" if the profile counts it by one of the target's own metrics, or "within
    limits" if it has limits on a single request.
    """
    if timeline.limits is not None:
        return "within limits"
    work = timeline.header.profile.get("work") if timeline.header else None
    return "finished" if isinstance(work, dict) and work.get("metric") else "goodput"
