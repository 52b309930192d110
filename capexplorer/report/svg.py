"""SVG elements of pictures: panels with axes, lines, dots and text. The same input gives the same bytes. Knows no levels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from string import Template

import msgspec

from ..wording.numbers import tick
from ..wording.quantities import latency_below_title
from .escaping import html

# -- axis ----------------------------------------------------------------------------------------------------------------------
# Round ticks for the axes of a picture.


def ticks(top: float, most: int) -> list[float]:
    """0 and round steps (1, 2, 5 times a power of ten) up to the first at or above `top`, at most `most` intervals."""
    if top <= 0 or not math.isfinite(top):
        return [0.0, 1.0]
    raw = top / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= raw * (1 - 1e-9))
    count = math.ceil(top / step - 1e-9)
    return [round(index * step, 12) for index in range(count + 1)]


def latency_label(value_ms: float) -> str:
    """The text of a tick of latency: as `numbers.tick`, in the chosen unit; with it if the axis has no unit of its own."""
    return latency_below_title(value_ms, tick)


Point = tuple[float, float]


class Colors(msgspec.Struct, frozen=True):
    """CSS colours of a picture: literal ones, or a page's `var(--...)`."""

    background: str
    text: str
    muted: str
    grid: str
    series: tuple[str, ...]
    alarm: str


LIGHT = Colors("#fbfbf9", "#22272b", "#6b7177", "#dcddd8", ("#2c7a34", "#0b66a8", "#a85400", "#7b3fa0"), "#b92525")
DARK = Colors("#14171a", "#d5d9de", "#8b9197", "#2c3237", ("#7fc784", "#5fb3e6", "#f0a860", "#c39be0"), "#f26d6d")
"""The colours of the screen's themes."""
PAGE = Colors(
    background="var(--paper)",
    text="var(--text)",
    muted="var(--muted)",
    grid="var(--grid)",
    series=tuple(f"var(--series-{n})" for n in range(4)),
    alarm="var(--alarm)",
)
"""Colours for a drawing in a page that defines these variables."""

_RULES = Template(
    ".paper{fill:$background}text{fill:$text;font:12px system-ui,'Segoe UI','DejaVu Sans',sans-serif}"
    ".value{fill:$text;stroke:$background;stroke-width:4px;paint-order:stroke}"
    ".muted{fill:$muted}.title{font-weight:600}.grid{stroke:$grid}.frame{stroke:$muted}"
    ".linear{stroke:$muted;stroke-dasharray:2 4}"
    ".band{fill:$alarm;opacity:.12}.knee{stroke:$alarm;stroke-width:1.5}.soft{stroke-dasharray:2 3}.alarm{fill:$alarm}"
    ".capacity{stroke:$alarm;stroke-dasharray:6 3}.usl{stroke:$muted;stroke-width:1.5;opacity:.9}.grey{opacity:.35}"
    "polyline,line{fill:none}polyline{stroke-width:2;stroke-linejoin:round}.thin{stroke-width:1.25;stroke-dasharray:5 3}"
    ".hit{fill:transparent;stroke:none}"
)
_SERIES = Template(".e$n{stroke:$color}.e$n.dot{fill:$color}.e$n.hollow{fill:$background}.e$n.legend{stroke:none;fill:$color}")


def rules(colors: Colors) -> str:
    """The style sheet of a picture in these colours."""
    named = {name: getattr(colors, name) for name in ("background", "text", "muted", "grid", "alarm")}
    series = (_SERIES.substitute(n=n, color=each, background=colors.background) for n, each in enumerate(colors.series))
    return _RULES.substitute(named) + "".join(series)


class Panel(msgspec.Struct, frozen=True):
    """One plot: its position and size in px, and its axes, which both begin at 0."""

    left: float
    top: float
    width: float
    height: float
    x_most: float
    x_ticks: list[float]
    y_ticks: list[float]

    def x(self, value: float) -> float:
        """The x coordinate of a value, px."""
        return self.left + self.width * value / self.x_most

    def y(self, value: float) -> float:
        """The y coordinate of a value, px."""
        return self.top + self.height * (1 - value / self.y_ticks[-1])

    @property
    def bottom(self) -> float:
        """The y coordinate of the value 0, px."""
        return self.top + self.height

    def axes(self, title: str, x_title: str | None = None, y_label: Callable[[float], str] = tick) -> Iterable[str]:
        """Grid, ticks and titles. `y_label`: the text of a tick of the y axis."""
        right = self.left + self.width
        for value in self.y_ticks:
            y = self.y(value)
            yield line("grid" if value else "frame", (self.left, y), (right, y))
            yield text(self.left - 8, y + 4, y_label(value), anchor="end", kind="muted")
        for value in self.x_ticks:
            yield text(self.x(value), self.bottom + 17, tick(value), anchor="middle", kind="muted")
        yield text(self.left, self.top - 10, title, kind="title")
        if x_title:
            yield text(right, self.bottom + 34, x_title, anchor="end", kind="muted")


def panel(left: float, top: float, width: float, height: float, x_most: float, y_most: float) -> Panel:
    """A panel whose x axis ends at exactly `x_most`, and whose y axis ends at the round tick at or above `y_most`."""
    x_ticks = [value for value in ticks(x_most, 8) if value <= x_most]
    return Panel(left, top, width, height, x_most, x_ticks, ticks(y_most, max(2, int(height / 40))))


def line(kind: str, begin: Point, end: Point) -> str:
    """A straight line. `kind`: classes of the style sheet, here and below."""
    return f'<line class="{kind}" x1="{_px(begin[0])}" y1="{_px(begin[1])}" x2="{_px(end[0])}" y2="{_px(end[1])}"/>'


def polyline(kind: str, points: Iterable[Point]) -> str:
    """A line through points."""
    return f'<polyline class="{kind}" points="{" ".join(f"{_px(x)},{_px(y)}" for x, y in points)}"/>'


def circle(kind: str, at: Point, radius: float) -> str:
    """A dot."""
    return f'<circle class="{kind}" cx="{_px(at[0])}" cy="{_px(at[1])}" r="{_px(radius)}"/>'


def rectangle(kind: str, left: float, top: float, width: float, height: float) -> str:
    """A filled rectangle."""
    return f'<rect class="{kind}" x="{_px(left)}" y="{_px(top)}" width="{_px(width)}" height="{_px(height)}"/>'


def triangle(kind: str, at: Point, size: float) -> str:
    """A triangle whose corners are `size` or a little more from its middle."""
    corners = ((0.0, -1.2), (1.1, 0.9), (-1.1, 0.9))
    points = " ".join(f"{_px(at[0] + size * x)},{_px(at[1] + size * y)}" for x, y in corners)
    return f'<polygon class="{kind}" points="{points}"/>'


def text(x: float, y: float, sentence: str, *, anchor: str = "start", kind: str = "") -> str:
    """One line of text, which is escaped here."""
    return f'<text x="{_px(x)}" y="{_px(y)}" text-anchor="{anchor}" class="{kind}">{html(sentence)}</text>'


def _px(value: float) -> str:
    return f"{round(value, 1):g}"
