"""The capacity by setting as a picture, and as lines of text for a terminal.

Values of one parameter are side by side at equal distances, whatever they are; each combination of the others has a colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ...model.sweep import Params, setting_name, typed
from ...wording import numbers, quantities
from ..escaping import html
from ..svg import DARK, LIGHT, Panel, circle, latency_label, line, panel, polyline, rectangle, rules, text, triangle
from .findings import Row, SweepFindings
from .texts import capacity, sentence

WIDTH, HEIGHT = 760, 500
_LEFT, _RIGHT = 64, 24
_LINE = 16
_LINE_CHARACTERS = 96
"""Most characters of a line below the panels."""
_SPREAD = 0.12
"""Distance of two colours at one value, as a share of the distance of two values."""


class _Point(msgspec.Struct, frozen=True):
    row: Row
    place: float
    """Where it is on the x axis: values are at 0.5, 1.5, 2.5."""
    series: int

    @property
    def color(self) -> str:
        """The class of its colour; colours repeat."""
        return f"e{self.series % len(LIGHT.series)}"


def picture(found: SweepFindings) -> bytes:
    """A separate file, light or dark by the reader's system setting."""
    style = f"<style>{rules(LIGHT)}@media(prefers-color-scheme:dark){{{rules(DARK)}}}</style>"
    head, body = drawing(found, foot=True).split("\n", 1)
    return f"{head}\n{style}\n{body}\n".encode()


def drawing(found: SweepFindings, *, foot: bool = False) -> str:
    """The picture without a style sheet, for a page that has one. `foot`: with the sentence below it."""
    axis = _axis(found.rows)
    values = list(dict.fromkeys(row.params[axis] for row in found.rows))
    others = list(dict.fromkeys(_others(row.params, axis) for row in found.rows))
    points = [_point(row, axis, values, others) for row in found.rows]
    width, count = WIDTH - _LEFT - _RIGHT, float(len(values))
    top = max((max((row.interval_per_s or (0.0, 0.0))[1], row.per_s) for row in found.rows), default=0.0)
    upper = msgspec.structs.replace(panel(_LEFT, 36, width, 250, count, 1.05 * top), x_ticks=[])
    lower = msgspec.structs.replace(_second(found, width, count), x_ticks=[])
    said = sentence(found)
    lines = _wrapped(said) if foot else []
    height = HEIGHT + _LINE * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html(said)}">',
        rectangle("paper", 0, 0, WIDTH, height),
        *upper.axes("Capacity (finished work per second) with its 90% interval"),
        *lower.axes(_second_title(found), axis, numbers.tick if not found.finds_rate else latency_label),
        *_best(found, upper),
        *(_curve([each for each in points if each.series == series], upper) for series in range(len(others))),
        *(part for each in points for part in _capacity(each, upper)),
        *(part for each in points for part in _below(each, lower, found)),
        *(text(lower.x(place + 0.5), lower.bottom + 17, typed(value), anchor="middle") for place, value in enumerate(values)),
        *_legend(others, lower),
        *(text(_LEFT, HEIGHT + _LINE * place, words, kind="muted") for place, words in enumerate(lines)),
        "</svg>",
    ]
    return "\n".join(parts)


def _axis(rows: Sequence[Row]) -> str:
    """The parameter with most values."""
    names = list(rows[0].params)
    return max(names, key=lambda name: len({typed(row.params[name]) for row in rows}))


def _others(params: Params, axis: str) -> str:
    return setting_name({name: value for name, value in params.items() if name != axis})


def _point(row: Row, axis: str, values: Sequence[object], others: Sequence[str]) -> _Point:
    index = others.index(_others(row.params, axis))
    aside = (index - (len(others) - 1) / 2) * min(_SPREAD, 0.7 / len(others))
    return _Point(row, values.index(row.params[axis]) + 0.5 + aside, index)


def _second(found: SweepFindings, width: float, count: float) -> Panel:
    """The panel of knees, or where rates were offered, of p95."""
    known = [value for row in found.rows if row.result is not None for value in _second_values(row, found)]
    return panel(_LEFT, 340, width, 100, count, max(known, default=1.0))


def _second_title(found: SweepFindings) -> str:
    return (
        quantities.latency_title("p95 from plan, served in full", ", ")
        if found.finds_rate
        else "Knee, users, with its 90% interval"
    )


def _second_values(row: Row, found: SweepFindings) -> list[float]:
    """(value, low end, high end) of the lower panel, or the value alone; empty if it is not known."""
    result = row.result
    if result is None:
        return []
    if found.finds_rate:
        return [] if result.p95_ms is None else [result.p95_ms]
    knee = result.knee
    if knee is None or knee.kind != "knee" or knee.users is None or knee.users_low is None or knee.users_high is None:
        return []
    return [knee.users, knee.users_low, knee.users_high]


def _best(found: SweepFindings, upper: Panel) -> Iterator[str]:
    if found.best is not None:
        y = upper.y(found.best.per_s)
        yield line("capacity", (upper.left, y), (upper.left + upper.width, y))


def _curve(points: Sequence[_Point], upper: Panel) -> str:
    """The line through the capacities of one colour."""
    known = [(upper.x(each.place), upper.y(each.row.per_s)) for each in points if each.row.is_known]
    return polyline(f"{points[0].color} thin", known)


def _capacity(point: _Point, upper: Panel) -> Iterator[str]:
    """The dot with its interval; hollow if it is not compared, a triangle if it is a least capacity, a cross if there is none."""
    row, x = point.row, upper.x(point.place)
    y = upper.y(row.per_s)
    yield f"<g><title>{html(f'{row.name}: {capacity(row)}')}</title>"
    if row.interval_per_s is not None:
        low, high = (upper.y(each) for each in row.interval_per_s)
        yield line(point.color, (x, low), (x, high))
        yield from (line(point.color, (x - 5, end), (x + 5, end)) for end in (low, high))
    if row.result is None or row.result.per_s is None:
        yield text(
            x,
            upper.bottom - 6,
            "failed" if row.result is not None and row.result.ended == "failed" else "?",
            anchor="middle",
            kind="alarm",
        )
    elif row.result.is_least:
        yield triangle(f"{point.color} hollow", (x, y), 5)
    else:
        yield circle(f"{point.color} {'dot' if row.is_compared else 'hollow'}", (x, y), 4)
    if row.per_s:
        yield text(x + 8, y - 7, numbers.number(row.per_s), kind="value")
    yield "</g>"


def _below(point: _Point, lower: Panel, found: SweepFindings) -> Iterator[str]:
    x, values = lower.x(point.place), _second_values(point.row, found)
    if len(values) > 1:
        yield line(point.color, (x, lower.y(values[1])), (x, lower.y(values[2])))
    if values:
        yield circle(f"{point.color} dot", (x, lower.y(values[0])), 3)


def _legend(others: Sequence[str], lower: Panel) -> Iterator[str]:
    for place, name in enumerate(others if len(others) > 1 else ()):
        x = _LEFT + 4 + 130 * place
        yield circle(f"e{place % len(LIGHT.series)} dot", (x, lower.bottom + 32), 4)
        yield text(x + 10, lower.bottom + 36, name)


def _wrapped(words: str) -> list[str]:
    lines = [""]
    for word in words.split(" "):
        if len(lines[-1]) + len(word) >= _LINE_CHARACTERS:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


# -- in a terminal

CHART_CELLS = 44


def chart(found: SweepFindings) -> list[str]:
    """A line a setting: its name, its interval on a common axis from 0, its capacity."""
    top = max((max((row.interval_per_s or (0.0, 0.0))[1], row.per_s) for row in found.rows), default=0.0)
    width = max(len(row.name) for row in found.rows)
    return [f"{row.name:<{width}}  {_cells(row, top):<{CHART_CELLS}}  {_figure(row)}".rstrip() for row in found.rows]


def _figure(row: Row) -> str:
    if row.result is not None and row.result.ended == "failed":
        return "failed"
    return capacity(row)


def _cells(row: Row, top: float) -> str:
    """`·······├──●──┤`; a least capacity `·······▶`."""
    if not top or not row.per_s or row.result is None:
        return ""

    def cell(per_s: float) -> int:
        return round(per_s / top * (CHART_CELLS - 1))

    cells = ["·"] * cell(row.per_s) + ["▶" if row.result.is_least else "●" if row.is_compared else "○"]
    low, high = map(cell, row.interval_per_s or (row.per_s, row.per_s))
    cells += ["─"] * (high - len(cells) + 1)
    cells[low : cell(row.per_s)] = ["─"] * (cell(row.per_s) - low)
    if low < cell(row.per_s):
        cells[low] = "├"
    if high > cell(row.per_s):
        cells[high] = "┤"
    return "".join(cells)
