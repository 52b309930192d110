"""The tables of a comparison, and `compare --format md`, which consists of them: for a pull request or a ticket, and readable as
plain text. Text from sessions is escaped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..escaping import markdown as escaped
from ..tables import Table
from . import sentences
from .comparison import Comparison, Curve, MatchedLoad, Pair
from .difference import Difference

SESSION_TITLES = ("", "session", "began", "client overhead", "knee", "settled user counts", "not settled", "marked")


def session(curve: Curve) -> list[str]:
    """The row of a curve in the table of sessions."""
    counts = ", ".join(f"{point.load.users}" + (f" (x{point.levels})" if point.levels > 1 else "") for point in curve.points)
    unsettled = ", ".join(map(str, curve.unsettled))
    cells = [curve.letter, sentences.curve(curve), sentences.began(curve), sentences.overheads(curve), sentences.knee(curve)]
    return [*cells, counts or sentences.MISSING, unsettled or sentences.MISSING, sentences.marked(curve)]


def conditions(comparison: Comparison) -> list[tuple[str, list[list[str]]]]:
    """(title, rows) of the conditions that differ, and of those that are compared; without tables that would be empty."""
    both = (("Conditions that differ", comparison.conditions), ("What is compared", comparison.subject))
    return [(title, [[row.name, *row.values] for row in rows]) for title, rows in both if rows]


VALUE_TITLES = ("change", "%", "noise")


class Row(NamedTuple):
    """One figure of a pair."""

    load: str
    """Empty except in the first row of a load, and for a capacity."""
    figure: str
    values: list[str]
    """Before, after, and those of VALUE_TITLES."""
    judgement: str
    kind: str
    """`better`, `worse` or empty for a significant difference, else `quiet`."""


def of_loads(loads: Iterable[MatchedLoad]) -> Iterator[Row]:
    """The figures of loads that both have, without those that neither has."""
    for each in loads:
        shown = each.name
        for one in each.differences:
            if one.before.value is not None or one.after.value is not None:
                yield of_figure(one, shown)
                shown = ""


def of_figure(one: Difference, load: str = "") -> Row:
    """The row of one figure."""
    kind = {True: "better", False: "worse", None: ""}[one.better] if one.counts else "quiet"
    values = [sentences.before(one), sentences.after(one), sentences.change(one), sentences.ratio(one), sentences.noise(one)]
    return Row(load, sentences.heading(one), values, sentences.judgement(one), kind)


# -- page ----------------------------------------------------------------------------------------------------------------------


def render(comparison: Comparison) -> bytes:
    """The whole page."""
    lines = ["# Comparison", "", f"**{escaped(sentences.verdict(comparison))}**", ""]
    for warning in sentences.warnings(comparison):
        lines += [f"> **Warning:** {escaped(warning)}", ""]
    letters = [curve.letter for curve in comparison.curves]
    for title, rows in conditions(comparison):
        lines += [f"## {title}", "", _table(["", *letters], rows), ""]
    lines += ["## Sessions", "", _table(SESSION_TITLES, map(session, comparison.curves)), ""]
    lines += [*(f"- {curve.letter}: {escaped(curve.judged.sentence)}" for curve in comparison.curves), ""]
    for pair in comparison.pairs:
        lines += _pair(pair)
    lines += [escaped(sentences.NOISE), ""]
    return "\n".join(lines).encode()


def _pair(pair: Pair) -> Iterator[str]:
    yield from (f"## {escaped(pair.after.named)} against {escaped(pair.before.named)}", "")
    titles = (pair.before.letter, pair.after.letter, *VALUE_TITLES, "judgement")
    if pair.loads:
        rows = ([row.load, row.figure, *row.values, row.judgement] for row in of_loads(pair.loads))
        yield from (_table(("load", "figure", *titles), rows, numbers=range(2, 7)), "")
    if sentences.overall(pair):
        yield from (escaped(sentences.overall(pair)), "")
    if pair.capacities:
        rows = ([row.figure, *row.values, row.judgement] for row in map(of_figure, pair.capacities))
        yield from (_table(("", *titles), rows, numbers=range(1, 6)), "")
    for letter, loads in pair.unmatched:
        yield from (f"Settled only in {letter}: {loads}.", "")


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """`numbers`: indices of the columns that are aligned to the right."""
    words = [index for index in range(len(titles)) if index not in numbers]
    return Table(titles, [list(map(escaped, row)) for row in rows], words).markdown("---:", "---")
