"""`capexplorer ab --html`: one self-contained page without scripts, with a chart of the pairs of each question."""

from __future__ import annotations

import math
from collections.abc import Iterable

from markupsafe import Markup

from ...analysis.paired import mean_difference
from ...wording import numbers
from .. import svg
from ..compare.page import VARIABLES, variables
from ..escaping import html, page
from . import sentences
from .result import Finding, Result, relative

_WIDTH, _HEIGHT = 960, 260
_LEFT, _TOP, _BOTTOM = 70, 40, 40
SHOWN_MOST = 3.0
"""The vertical axis shows changes up to so many times the smallest one that matters, or all pairs if they scatter more."""


def render(result: Result) -> bytes:
    """The whole page."""
    return page(
        "ab.html",
        title="A/B run",
        light=Markup(variables(svg.LIGHT)),
        dark=Markup(variables(svg.DARK)),
        svg=Markup(svg.rules(VARIABLES)),
        verdict=sentences.verdict(result),
        warnings=result.warnings,
        sides=[[letter, each.understood, each.session] for letter, each in (("A", result.a), ("B", result.b))],
        charts=[Markup(chart(each)) for each in sentences.told(result) if each.least],  # each text in it is escaped by svg.text
        titles=sentences.TABLE_TITLES,
        rows=list(sentences.rows(result)),
        words=sentences.WORDS,
        intervals=sentences.INTERVALS,
    )


def chart(found: Finding) -> str:
    """The change in each pair as a dot, the mean so far as a line, and its interval as a band, pair by pair."""
    so_far = [mean_difference(found.differences[:end], found.error) for end in range(1, len(found.differences) + 1)]
    changes = [relative(found.figure, each) for each in found.differences]
    most = max([SHOWN_MOST * found.least, *map(abs, changes)])
    right, bottom = _WIDTH - 30, _HEIGHT - _BOTTOM

    def x(number: float) -> float:
        return _LEFT + (right - _LEFT) * (number - 0.5) / len(changes)

    def y(change: float) -> float:
        return _TOP + (bottom - _TOP) * (1 - min(max(change, -most), most) / most) / 2

    def parts() -> Iterable[str]:
        for value in (-most, -found.least, 0.0, found.least, most):
            yield svg.line("grid" if value else "frame", (_LEFT, y(value)), (right, y(value)))
            yield svg.text(_LEFT - 8, y(value) + 4, numbers.brief_percent(value), anchor="end", kind="muted")
        for number, each in enumerate(so_far, 1):
            if math.isfinite(each.low):
                high, low = (y(relative(found.figure, end)) for end in (each.high, each.low))
                yield svg.rectangle("band", x(number - 0.5), high, x(number + 0.5) - x(number - 0.5), low - high)
        means = [(x(number), y(relative(found.figure, each.mean))) for number, each in enumerate(so_far, 1)]
        yield svg.polyline("e0", means)
        for number, change in enumerate(changes, 1):
            named = html(f"pair {number}: {numbers.brief_percent(change)}")
            yield f"<g><title>{named}</title>{svg.circle('e1 dot', (x(number), y(change)), 4.0)}</g>"
        yield svg.text(_LEFT, _TOP - 16, f"Change of {sentences.clause(found)}", kind="title")
        yield svg.text(right, bottom + 24, "pairs, in order", anchor="end", kind="muted")

    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
    return "".join([head, f' aria-label="{html(sentences.named(found))}">', *parts(), "</svg>"])
