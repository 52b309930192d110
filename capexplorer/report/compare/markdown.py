"""`compare --format md`: for a pull request or a ticket, and readable as plain text. Text from sessions is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..escaping import markdown as escaped
from . import sentences
from .comparison import Comparison, Curve, MatchedLevel, MatchedRate, Pair
from .difference import Difference
from .environment import Differing


def render(comparison: Comparison) -> bytes:
    """The whole page."""
    lines = ["# Comparison", "", f"**{escaped(sentences.verdict(comparison))}**", ""]
    for warning in sentences.warnings(comparison):
        lines += [f"> **Warning:** {escaped(warning)}", ""]
    lines += _conditions(comparison)
    lines += ["## Sessions", "", *_sessions(comparison), ""]
    for pair in comparison.pairs:
        lines += _pair(pair)
    lines += [escaped(sentences.NOISE), ""]
    return "\n".join(lines).encode()


def _conditions(comparison: Comparison) -> list[str]:
    lines = []
    for title, rows in (
        ("## Conditions that differ", comparison.conditions),
        ("## What is compared", comparison.subject),
    ):
        if rows:
            lines += [title, "", *_differing(rows, comparison.curves), ""]
    return lines


def _differing(rows: Sequence[Differing], curves: Sequence[Curve]) -> list[str]:
    head = ["", *(curve.letter for curve in curves)]
    return [*_header(head, left=1 + len(curves)), *(_row([row.name, *row.values]) for row in rows)]


def _sessions(comparison: Comparison) -> list[str]:
    lines = _header(["", "session", "began", "client overhead", "knee", "settled user counts", "not settled", "marked"], left=8)
    for curve in comparison.curves:
        counts = ", ".join(f"{point.users}" + (f" (x{point.levels})" if point.levels > 1 else "") for point in curve.points)
        cells = [curve.letter, sentences.curve(curve), sentences.began(curve), sentences.overheads(curve), sentences.knee(curve)]
        lines.append(_row([*cells, counts or sentences.MISSING, _counts(curve.unsettled), sentences.marked(curve)]))
    lines += ["", *(f"- {curve.letter}: {escaped(curve.judged.sentence)}" for curve in comparison.curves)]
    return lines


def _pair(pair: Pair) -> list[str]:
    before, after = pair.before.letter, pair.after.letter
    lines = [f"## {escaped(pair.after.named)} against {escaped(pair.before.named)}", ""]
    if pair.loads:
        lines += _header(["load", "figure", before, after, "change", "%", "noise", "judgement"], left=2, last_left=True)
        lines += [_row(cells) for level in pair.loads for cells in _level(level)]
        lines.append("")
    if sentences.overall(pair):
        lines += [escaped(sentences.overall(pair)), ""]
    if pair.capacities:
        lines += _header(["", before, after, "change", "%", "noise", "judgement"], left=1, last_left=True)
        lines += [_row([_title(one), *_cells(one)]) for one in pair.capacities]
        lines.append("")
    for letter, loads in pair.unmatched:
        lines += [f"Settled only in {letter}: {loads}.", ""]
    return lines


def _level(level: MatchedLevel | MatchedRate) -> Iterable[list[str]]:
    shown = level.load
    for one in level.differences:
        if one.judgement == "not_measured" and one.before.value is None and one.after.value is None:
            continue
        yield [shown, _title(one), *_cells(one)]
        shown = ""


def _title(one: Difference) -> str:
    return sentences.heading(one)


def _cells(one: Difference) -> list[str]:
    return [
        sentences.before(one),
        sentences.after(one),
        sentences.change(one),
        sentences.ratio(one),
        sentences.noise(one),
        sentences.judgement(one),
    ]


def _counts(counts: Sequence[int]) -> str:
    return ", ".join(map(str, counts)) or sentences.MISSING


def _header(titles: Sequence[str], *, left: int, last_left: bool = False) -> list[str]:
    """The head of a table, whose first `left` columns, and with `last_left` the last one, are aligned to the left."""
    last = len(titles) - 1
    marks = ["---" if index < left or (last_left and index == last) else "---:" for index in range(len(titles))]
    return [_row(titles), "| " + " | ".join(marks) + " |"]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"
