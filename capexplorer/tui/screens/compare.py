"""The screen of a comparison: verdict and warnings, capacity and latency curves, table of levels, conditions that differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.events import DescendantFocus, Resize
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Static

from ...configuration import Markers
from ...model.intervals import Z95
from ...report.compare import sentences
from ...report.compare.comparison import Comparison, Curve, MatchedLoad, Pair
from ...report.compare.difference import FIGURES, Difference
from ...report.compare.environment import Differing
from ...report.compare.estimates import Estimate
from ...wording import quantities
from ...wording.quantities import latency_title
from ..base_app import SignalledApp, palette_of
from ..display_options import Palette
from ..keybar import LIKE_LESS, KeyLine, clickable
from ..panes.pane import StripsWidget
from ..preferences import Preferences
from ..render.axis import Axis, count_axis, latency_tick, linear_axis, log_axis
from ..render.chart import Band, Boundary, Chart, Legend, Point, Series, y_ticks
from ..render.draw import draw_chart, message
from ..render.raster import Pattern, Shape
from ..render.text import pad, safe, shorten, styled, wrap
from ..terminal import Terminal

# -- charts --------------------------------------------------------------------------------------------------------------------
# The curves of all sessions in one chart, distinguished by colour, shape and letter. Pure.


_SHAPES = ((Shape.FILLED, "■"), (Shape.HOLLOW, "□"), (Shape.CROSS, "+"))
_PATTERNS = (Pattern.SOLID, Pattern.DASHED, Pattern.DOTTED)

Points = list[tuple[int, Estimate]]


def colors(palette: Palette) -> tuple[str, ...]:
    """The colours of the curves, in order. They repeat after four; letters do not."""
    return palette.primary, palette.accent, palette.secondary, palette.error


def capacity_chart(comparison: Comparison, palette: Palette, size: Size) -> list[Strip]:
    """Goodput against users with 95% error bars, knees as vertical lines with their intervals."""
    points = [_curve_points(curve, "goodput") for curve in comparison.curves]
    if not any(points):
        return message("no session has a settled level", palette, size)
    knees = [(curve.letter, curve.knee["knee"].value) for curve in comparison.curves if curve.knee]
    tints = dict(zip((curve.letter for curve in comparison.curves), itertools.cycle(colors(palette)), strict=False))
    marked = tuple(Boundary(users, f"knee {letter}", tints[letter], solid=True) for letter, users in knees if users is not None)
    bands = tuple(Band(*curve.knee_users, tints[curve.letter]) for curve in comparison.curves if curve.knee_users is not None)
    highest = max(_top(one) for each in points for _, one in each)
    users = _users_axis(points, [boundary.x for boundary in marked], size)
    axis = linear_axis(highest, y_ticks(size.height))
    return draw_chart(_chart(comparison, points, users, axis, palette, size, quantities.rate_cell, marked, bands), palette, size)


def latency_chart(comparison: Comparison, palette: Palette, size: Size, *, log: bool = False) -> list[Strip]:
    """p95 in ms against users. `log`: on a logarithmic scale."""
    points = [_curve_points(curve, "p95") for curve in comparison.curves]
    values = [one.value or 0.0 for each in points for _, one in each]
    if not values:
        return message("no latency was measured", palette, size)
    highest = max(_top(one) for each in points for _, one in each)
    most = y_ticks(size.height)
    least = min((value for value in values if value > 0), default=1.0)
    axis = log_axis(least, highest, most, latency_tick) if log else linear_axis(highest, most, latency_tick)
    return draw_chart(
        _chart(comparison, points, _users_axis(points, (), size), axis, palette, size, quantities.latency_figure), palette, size
    )


def _curve_points(curve: Curve, name: str) -> Points:
    return [(point.load.users, point.figures[name]) for point in curve.points if point.figures[name].value is not None]


def _half(one: Estimate) -> float:
    return math.nan if one.se is None else Z95 * one.se


def _top(one: Estimate) -> float:
    return (one.value or 0.0) + (0.0 if one.se is None else Z95 * one.se)


def _users_axis(points: Sequence[Points], more: Sequence[float], size: Size) -> Axis:
    return count_axis(1.05 * max([*more, *(users for each in points for users, _ in each)]), max(size.width // 8, 2))


def _chart(
    comparison: Comparison,
    points: Sequence[Points],
    users: Axis,
    y: Axis,
    palette: Palette,
    size: Size,
    shown: Callable[[float | None], str],
    boundaries: tuple[Boundary, ...] = (),
    bands: tuple[Band, ...] = (),
) -> Chart:
    series, drawn, legend = [], [], []
    for index, (curve, each) in enumerate(zip(comparison.curves, points, strict=True)):
        color, (shape, key) = colors(palette)[index % 4], _SHAPES[index % 3]
        ys = [one.value or 0.0 for _, one in each]
        series.append(Series([users for users, _ in each], ys, color, _PATTERNS[index % 3], letter=curve.letter))
        drawn += [_point(users, one, shape, color) for users, one in each]
        value = shown(max(ys, default=None))
        name = f"{safe(curve.named)} at most"
        legend.append(Legend(key, name, value, color, short=f"{curve.letter} at most", width=len(value)))
    return Chart(
        x=users,
        y=y,
        legend=tuple(legend),
        series=tuple(series),
        points=tuple(drawn),
        bands=bands,
        boundaries=boundaries,
    )


def _point(users: int, one: Estimate, shape: Shape, color: str) -> Point:
    value, half = one.value or 0.0, _half(one)
    return Point(users, value, shape, color, max(value - half, 0.0) if half == half else math.nan, value + half)


# -- compare text --------------------------------------------------------------------------------------------------------------
# The texts of a comparison: verdict and warnings, the table of levels, the conditions that differ. Pure; they pass through
# `safe`.


_COLUMNS = (
    ("users", 5, True),
    ("", 12, False),
    ("A", 8, True),
    ("B", 8, True),
    ("change", 8, True),
    ("%", 7, True),
    ("noise", 8, True),
)
_JUDGEMENT = 13
TABLE_CELLS = sum(width + 1 for _, width, _ in _COLUMNS) + _JUDGEMENT
"""Width of the table of levels: 76 cells, which fit a pane with border and scrollbar in a terminal of 80."""


def top(comparison: Comparison, palette: Palette, width: int, most: int) -> Text:
    """Warnings, then the verdict, in at most `most` lines. If some do not fit, the last line names the key that shows all."""
    found = [(line, styled(bold=True)) for line in wrap(safe(sentences.verdict_sentence(comparison)) + ".", width)][: most - 1]
    warned = styled(color=palette.warning, bold=True)
    warnings = [line for warning in sentences.warnings(comparison) for line in wrap(f"! {safe(warning)}", width)]
    left = most - len(found)
    if len(warnings) > left:
        more = "  ... press 4 for all warnings"
        warnings = [*warnings[: left - 1], shorten(warnings[left - 1], max(width - len(more), 2)) + more]
    return Text("\n").join(Text(line, style) for line, style in [*((line, warned) for line in warnings), *found])


def levels(comparison: Comparison, palette: Palette) -> Text:
    """One block per pair of sessions: for each load that both have, every figure with its difference."""
    blocks = [_pair(pair, palette) for pair in comparison.pairs]
    return Text("\n\n").join([*blocks, Text("\n").join(_muted(line, palette) for line in wrap(sentences.NOISE, TABLE_CELLS))])


def _pair(pair: Pair, palette: Palette) -> Text:
    titles = [{"A": pair.before.letter, "B": pair.after.letter}.get(title, title) for title, _, _ in _COLUMNS]
    names = f"{pair.after.named} against {pair.before.named}"
    lines = [_muted(line, palette) for line in wrap(safe(names), TABLE_CELLS)] if pair.after.distinction else []
    lines.append(Text(_cells(titles), styled(bold=True)))
    for level in pair.loads:
        lines += _level(level, palette)
    lines += [_line("", one, palette) for one in pair.capacities]
    for letter, loads in pair.unmatched:
        lines += [_muted(line, palette) for line in wrap(f"settled only in {letter}: {loads}", TABLE_CELLS)]
    return Text("\n").join(lines)


def _level(level: MatchedLoad, palette: Palette) -> list[Text]:
    measured = [one for one in level.differences if one.before.value is not None or one.after.value is not None]
    return [_line(level.name if index == 0 else "", one, palette) for index, one in enumerate(measured)]


def _line(users: str, one: Difference, palette: Palette) -> Text:
    """One figure of both sessions with its difference. A difference that may be noise is grey, and so is a percentile of too few
    values.
    """
    heading = sentences.heading(one)
    cells = [users, heading if len(heading) <= _COLUMNS[1][1] else FIGURES[one.figure].title]
    cells += [sentences.before(one), sentences.after(one), sentences.change(one), sentences.ratio(one), sentences.noise(one)]
    muted = styled(color=palette.muted)
    text = Text()
    for index, (cell, (_, width, right)) in enumerate(zip(cells, _COLUMNS, strict=True)):
        quiet = index > 3 and not one.counts or (index == 2 and one.before.is_thin) or (index == 3 and one.after.is_thin)
        text.append(pad(cell, width, right=right) + " ", muted if quiet else styled())
    return text.append(judgement(one), _style(one, palette))


def judgement(one: Difference) -> str:
    """The judgement of a difference in a word, with a sign that is visible without colours."""
    if not one.counts:
        return sentences.judgement(one)
    return {True: "▲ better", False: "▼ worse", None: "≠ differs"}[one.better]


def _style(one: Difference, palette: Palette) -> Style:
    if not one.counts:
        return styled(color=palette.muted)
    return styled(color={True: palette.success, False: palette.error, None: palette.text}[one.better], bold=True)


def differing(comparison: Comparison, palette: Palette, width: int) -> Text:
    """The sessions, then all verdicts and warnings in full, then what differs between them."""
    lines: list[Text] = []
    for index, curve in enumerate(comparison.curves):
        color = styled(color=colors(palette)[index % 4], bold=True)
        title_lines = wrap(safe(sentences.curve(curve)), width - 2)
        lines.append(Text.assemble((f"{curve.letter} ", color), title_lines[0]))
        rest = wrap(f"client {sentences.overheads(curve)}; knee {sentences.knee(curve)}", width - 2)
        if curve.judged.marked:
            found = (curve.judged.sentence, f"marked: {sentences.marked(curve)}")
            rest += [line for each in found for line in wrap(safe(each), width - 2)]
        lines += [_muted(f"  {line}", palette) for line in (*title_lines[1:], *rest)]
    warned = styled(color=palette.warning)
    for warning in sentences.warnings(comparison):
        lines += [Text(line, warned) for line in wrap(f"! {safe(warning)}", width)]
    lines += _table("Conditions that differ", comparison.conditions, comparison, warned, width)
    lines += _table("What is compared", comparison.subject, comparison, styled(), width)
    if not comparison.conditions:
        same = "No condition differs: host, limits, versions and users are the same."
        lines += [Text(), *(_muted(line, palette) for line in wrap(same, width))]
    return Text("\n").join(lines)


def _table(title: str, rows: Sequence[Differing], comparison: Comparison, style: Style, width: int) -> list[Text]:
    """For each condition its name, and below it a line per session with the value, which may be long."""
    if not rows:
        return []
    lines = [Text(), Text(title, styled(bold=True))]
    for row in rows:
        lines.append(Text(shorten(safe(row.name), width), style))
        for curve, value in zip(comparison.curves, row.values, strict=True):
            lines += [Text(f"  {line}") for line in wrap(f"{curve.letter} {safe(value)}", max(width - 2, 10))]
    return lines


def _cells(cells: Sequence[str]) -> str:
    return " ".join(pad(cell, width, right=right) for cell, (_, width, right) in zip(cells, _COLUMNS, strict=True))


def _muted(line: str, palette: Palette) -> Text:
    return Text(line, styled(color=palette.muted))


WIDE = (120, 40)
"""Least (columns, lines) of a screen on which all four views are shown at once."""
VIEWS = ("capacity", "latency", "levels", "conditions")
_MOST_TOP = {True: 8, False: 6}
"""The most lines of verdict and warnings, by whether the screen is wide, so that charts have enough lines."""

Draw = Callable[[Palette, Size], list[Strip]]


def _titles() -> dict[str, str]:
    return {
        "capacity": "Capacity  goodput/s by users",
        "latency": f"Latency  {latency_title('p95')} by users",
        "levels": "Levels",
        "conditions": "Conditions",
    }


class CurvesView(StripsWidget, can_focus=True):
    """Shows a chart that `draw` makes for its size."""

    def __init__(self, draw: Draw, id: str) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id, classes="view")
        self._draw, self._palette = draw, Palette()

    def show(self, palette: Palette) -> None:
        """Draw in these colours."""
        self._palette = palette
        self.replace(self.drawn())

    def drawn(self) -> list[Strip]:
        """The chart."""
        return self._draw(self._palette, self.size) if self.size.area else []


class CompareScreen(Screen[None]):
    """Shows one view, chosen by its number, on small screens, and all four on large ones."""

    CSS_PATH = "compare.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(index + 1), f"show({index})", show=False) for index in range(len(VIEWS))),
        Binding("tab,right", "next(1)", show=False),
        Binding("shift+tab,left", "next(-1)", show=False),
        Binding("l", "log", show=False),
        Binding("escape,q", "close", show=False),
        *LIKE_LESS,
    ]

    def __init__(self, comparison: Comparison, markers: Markers | None = None) -> None:
        super().__init__()
        self.comparison, self._markers = comparison, markers
        self.shown = 0
        self.wide = False
        self.logarithmic = False

    def compose(self) -> ComposeResult:
        """Verdict and warnings, tabs, views, keys."""
        yield Static(id="top")
        yield Static(id="tabs")
        with Container(id="charts"):
            yield CurvesView(lambda palette, size: capacity_chart(self.comparison, palette, size), id="capacity")
            yield CurvesView(self._latency, id="latency")
        with Container(id="tables"):
            yield VerticalScroll(Static(), id="levels", classes="view")
            yield VerticalScroll(Static(), id="conditions", classes="view")
        yield KeyLine(clickable("1-4 Tab view  ↑↓ scroll  l latency log scale  q back"), id="keys")

    def _latency(self, palette: Palette, size: Size) -> list[Strip]:
        return latency_chart(self.comparison, palette, size, log=self.logarithmic)

    def on_mount(self) -> None:
        """Set the titles, and follow the theme."""
        for view in self.query(".view"):
            view.border_title = Text(_titles()[view.id or ""])
        self.app.theme_changed_signal.subscribe(self, lambda theme: self.lay_out())

    def on_resize(self, event: Resize) -> None:
        """Show one view or all, for the new size."""
        self.wide = event.size.width >= WIDE[0] and event.size.height >= WIDE[1]
        self.lay_out()

    def lay_out(self) -> None:
        """Draw everything for this size, theme and view."""
        palette = palette_of(self.app.current_theme, self._markers, colours=not self.app.no_color)
        width = max(self.size.width - 2, 20)
        self.set_class(self.wide, "-wide")
        self.query_one("#top", Static).update(top(self.comparison, palette, width, _MOST_TOP[self.wide]))
        self.query_one("#tabs", Static).update(self._tabs(palette))
        for index, name in enumerate(VIEWS):
            self.query_one(f"#{name}").display = self.wide or index == self.shown
        self.query_one("#charts").display = self.wide or self.shown < 2
        self.query_one("#tables").display = self.wide or self.shown >= 2
        self.query_one("#levels Static", Static).update(levels(self.comparison, palette))
        side = self.size.width - TABLE_CELLS - 11 if self.wide else width - 4
        self.query_one("#conditions Static", Static).update(differing(self.comparison, palette, max(side, 20)))
        self.query_one(f"#{VIEWS[self.shown]}").focus()
        for view in self.query(CurvesView):
            view.show(palette)

    def _tabs(self, palette: Palette) -> Text:
        text = Text(" ")
        for index, name in enumerate(VIEWS):
            shown = index == self.shown
            text.append(f" {index + 1} {name} ", f"reverse bold {palette.accent}" if shown else palette.muted)
            text.append(" ")
        return text

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Follow the focus, which a click or Tab has moved to a view."""
        if event.widget.id in VIEWS:
            self.shown = VIEWS.index(event.widget.id)

    def action_show(self, index: int) -> None:
        """Show this view."""
        self.shown = index
        self.lay_out()

    def action_next(self, step: int) -> None:
        """Show the next (1) or the previous (-1) view."""
        self.action_show((self.shown + step) % len(VIEWS))

    def action_log(self) -> None:
        """Draw latency on a logarithmic scale, or on a linear one again."""
        self.logarithmic = not self.logarithmic
        self.lay_out()

    def action_close(self) -> None:
        """Close this screen, or the app if there is no screen below."""
        if len(self.app.screen_stack) > 1:
            self.dismiss(None)
        else:
            self.app.exit()


class CompareApp(SignalledApp[None]):
    """The application of `capexplorer compare` on a screen."""

    CSS_PATH = "compare.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, comparison: Comparison, *, terminal: Terminal | None = None, preferences: Preferences | None = None
    ) -> None:
        super().__init__(terminal=terminal, preferences=preferences)
        self._compare = CompareScreen(comparison, self.preferences.markers)

    def run_to_end(self) -> None:
        """Run until the user leaves."""
        self.run_until_left()

    def get_default_screen(self) -> Screen[None]:
        """The comparison from the start."""
        return self._compare
