"""`compare --format html`: one self-contained page without scripts; light and dark, printable. Text from sessions is escaped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup
from msgspec.structs import asdict

from ...model.intervals import Z95
from ...wording import quantities
from ...wording.numbers import tick
from ...wording.quantities import Digits
from .. import svg
from ..escaping import html, page
from ..svg import latency_label
from . import sentences
from .comparison import Comparison, Curve, Pair
from .estimates import Estimate
from .markdown import SESSION_TITLES, conditions, of_figure, of_loads, session

# -- curves --------------------------------------------------------------------------------------------------------------------
# The curves of a comparison in one SVG, distinguished by colour, shape and letter.


_WIDTH, _HEIGHT = 960, 380
_LEFT, _TOP, _BOTTOM = 70, 46, 52
_SERIES = 4
"""Number of colours (classes e0 to e3) and shapes, which repeat; letters do not."""
_CHARACTER_PX = 8
"""Width of a character of the legend, rounded up."""
_KNEE_LINE_PX = 15
"""Distance of the names of knees, one above the other."""


class LogPanel(svg.Panel, frozen=True):
    """A panel whose y axis is logarithmic, from the first tick to the last."""

    def y(self, value: float) -> float:
        """The y coordinate; values below the first tick are drawn at the tick."""
        low, high = math.log(self.y_ticks[0]), math.log(self.y_ticks[-1])
        return self.top + self.height * (1 - (math.log(max(value, self.y_ticks[0])) - low) / (high - low))


def capacity(curves: Sequence[Curve]) -> str:
    """Goodput against users, with 95% error bars and the knees that were marked."""
    points = [_points(curve, "goodput") for curve in curves]
    knees = [(curve, curve.knee["knee"].value) for curve in curves if curve.knee]
    panel = _panel(points, [users for _, users in knees if users is not None])
    parts, placed = list(panel.axes("goodput, finished work per second", "users")), 0
    for curve, users in knees:
        if curve.knee_users is not None:
            low, high = (panel.x(min(max(each, 0.0), panel.x_most)) for each in curve.knee_users)
            parts.append(svg.rectangle("band", low, panel.top, max(high - low, 1.0), panel.height))
        if users is not None:
            parts.append(svg.line("knee", (panel.x(users), panel.top), (panel.x(users), panel.bottom)))
            foot = panel.bottom - 8 - _KNEE_LINE_PX * placed
            parts.append(svg.text(panel.x(users) + 4, foot, f"knee of {curve.letter}", kind="alarm"))
            placed += 1
    return _picture("Goodput against users", [*parts, *_drawn(panel, curves, points, _plain)], curves)


def latency(curves: Sequence[Curve], *, log: bool = False) -> str:
    """p95 (solid lines) and p50 (dashed) against users."""
    tails, middles = [_points(curve, "p95") for curve in curves], [_points(curve, "p50") for curve in curves]
    panel = _panel([*tails, *middles], [])
    values = [one.value for each in (*tails, *middles) for _, one in each if one.value]
    if log and values:
        panel = LogPanel(**(asdict(panel) | {"y_ticks": _log_ticks(min(values), max(values))}))
    title = quantities.latency_title("p95 (solid) and p50 (dashed)", ", ") + (", logarithmic" if log else "")
    parts = list(panel.axes(title, "users", latency_label))
    for index, each in enumerate(middles):
        parts.append(svg.polyline(f"thin e{index % _SERIES}", [(panel.x(u), panel.y(one.value or 0)) for u, one in each]))
    return _picture("Latency against users", [*parts, *_drawn(panel, curves, tails, quantities.latency_below_title)], curves)


Points = list[tuple[int, Estimate]]
Shown = Callable[[float, Digits], str]


def _points(curve: Curve, figure: str) -> Points:
    return [(point.load.users, point.figures[figure]) for point in curve.points if point.figures[figure].value is not None]


def _panel(points: Iterable[Points], more_users: Sequence[float]) -> svg.Panel:
    all_points = [point for each in points for point in each]
    users = max([1.0, *more_users, *(float(users) for users, _ in all_points)])
    highest = max([1e-9, *((one.value or 0.0) + Z95 * (one.se or 0.0) for _, one in all_points)])
    return svg.panel(_LEFT, _TOP, _WIDTH - _LEFT - 30, _HEIGHT - _TOP - _BOTTOM, 1.05 * users, highest)


def _log_ticks(low: float, high: float) -> list[float]:
    """1 2 5 in each decade from the one below `low` to the one above `high`."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]
    start = max([tick for tick in every if tick <= low * (1 + 1e-9)], default=every[0])
    end = min([tick for tick in every if tick >= high * (1 - 1e-9) and tick > start], default=every[-1])
    return [float(f"{tick:.6g}") for tick in every if start <= tick <= end]


def _plain(value: float, digits: Digits) -> str:
    return digits(value)


def _drawn(panel: svg.Panel, curves: Sequence[Curve], points: Sequence[Points], shown: Shown) -> Iterable[str]:
    for index, (curve, each) in enumerate(zip(curves, points, strict=True)):
        color = f"e{index % _SERIES}"
        yield svg.polyline(color, [(panel.x(users), panel.y(one.value or 0)) for users, one in each])
        for users, one in each:
            yield from _point(panel, curve, index, users, one, shown)


def _point(panel: svg.Panel, curve: Curve, index: int, users: int, one: Estimate, shown: Shown) -> Iterable[str]:
    """One point with its 95% error bar and a tooltip; hollow if its noise is unknown."""
    x, y, color = panel.x(users), panel.y(one.value or 0), f"e{index % _SERIES}"
    sentence = f"{curve.letter}: {tick(users)} users, {shown(one.value, '{:.4g}'.format)}" if one.value is not None else ""
    if one.se is not None and one.value is not None:
        low, high = panel.y(max(one.value - Z95 * one.se, 0.0)), panel.y(one.value + Z95 * one.se)
        yield svg.line(color, (x, low), (x, high))
        sentence += f" ± {shown(Z95 * one.se, '{:.2g}'.format)}"
    kind = "dot" if one.se is not None else "hollow"
    yield f"<g><title>{html(sentence)}</title>{marker(index, f'{color} {kind}', x, y)}</g>"


def marker(index: int, kind: str, x: float, y: float) -> str:
    """The marker of a curve by its index: circle, square, triangle, diamond. `kind`: its CSS classes."""
    size = 4.5
    if index % 4 == 0:
        return svg.circle(kind, (x, y), size)
    if index % 4 == 1:
        return svg.rectangle(kind, x - size, y - size, 2 * size, 2 * size)
    corners = [(0, -1.3), (1.2, 1), (-1.2, 1)] if index % 4 == 2 else [(0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)]
    places = " ".join(f"{x + size * across:.1f},{y + size * down:.1f}" for across, down in corners)
    return f'<polygon class="{kind}" points="{places}"/>'


def _picture(title: str, parts: Iterable[str], curves: Sequence[Curve]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html(title)}">'
    return "".join([head, *parts, *_legend(curves), "</svg>"])


def _legend(curves: Sequence[Curve]) -> Iterable[str]:
    step = (_WIDTH - _LEFT) / len(curves)
    for index, curve in enumerate(curves):
        x = _LEFT + index * step
        yield marker(index, f"e{index % _SERIES} dot", x + 5, _HEIGHT - 10)
        yield svg.text(x + 16, _HEIGHT - 6, shortened(curve, int(step / _CHARACTER_PX)))


def shortened(curve: Curve, width: int) -> str:
    """Letter, what distinguishes the curve, and title or id, in at most `width` characters."""
    sentence = f"{curve.named}  {curve.title or curve.name}"
    return sentence if len(sentence) <= width else sentence[: max(1, width - 1)] + "…"


_COLORS = ("background", "text", "muted", "grid", "alarm")
VARIABLES = svg.Colors(
    background="var(--background)",
    text="var(--text)",
    muted="var(--muted)",
    grid="var(--grid)",
    series=("var(--s0)", "var(--s1)", "var(--s2)", "var(--s3)"),
    alarm="var(--alarm)",
)
"""Of drawings in a page with comparison.css."""


def render(comparison: Comparison) -> bytes:
    """The whole page."""
    curves = comparison.curves
    return page(
        "comparison.html",
        title="Comparison of " + ", ".join(curve.name for curve in curves),
        light=Markup(variables(svg.LIGHT)),
        dark=Markup(variables(svg.DARK)),
        svg=Markup(svg.rules(VARIABLES)),
        verdict=sentences.verdict(comparison),
        warnings=sentences.warnings(comparison),
        letters=[curve.letter for curve in curves],
        differing=conditions(comparison),
        session_titles=(*SESSION_TITLES, "verdict"),
        sessions=[[*session(curve), curve.judged.sentence] for curve in curves],
        capacity=Markup(capacity(curves)),  # each text in a drawing is escaped by svg.text
        latency=Markup(latency(curves)),
        latency_logarithmic=Markup(latency(curves, log=True)),
        pairs=[_pair(pair) for pair in comparison.pairs],
        noise=sentences.NOISE,
    )


def variables(colors: svg.Colors) -> str:
    """Style of the page that gives VARIABLES these colours."""
    named = "".join(f"--{name}:{getattr(colors, name)};" for name in _COLORS)
    return named + "".join(f"--s{index}:{color};" for index, color in enumerate(colors.series))


def _pair(pair: Pair) -> dict[str, object]:
    return {
        "title": f"{pair.after.named} against {pair.before.named}",
        "before": pair.before.letter,
        "after": pair.after.letter,
        "rows": [*of_loads(pair.loads), *map(of_figure, pair.capacities)],
        "overall": sentences.overall(pair),
        "unmatched": pair.unmatched,
    }
