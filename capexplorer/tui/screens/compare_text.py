"""The texts of a comparison: verdict and warnings, the table of levels, the conditions that differ. Pure; they pass through
`safe`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text

from ...report.compare import sentences
from ...report.compare.comparison import Comparison, MatchedLevel, MatchedRate, Pair
from ...report.compare.difference import Difference
from ...report.compare.environment import Differing
from ...report.compare.figures import FIGURES
from ..display_options import Palette
from ..render.text import pad, safe, shorten, wrap
from .compare_charts import colors

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
    found = [(line, Style(bold=True)) for line in wrap(safe(sentences.verdict_sentence(comparison)) + ".", width)][: most - 1]
    warned = Style(color=palette.warning, bold=True)
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
    lines.append(Text(_cells(titles), Style(bold=True)))
    for level in pair.loads:
        lines += _level(level, palette)
    lines += [_line("", one, palette) for one in pair.capacities]
    for letter, loads in pair.unmatched:
        lines += [_muted(line, palette) for line in wrap(f"settled only in {letter}: {loads}", TABLE_CELLS)]
    return Text("\n").join(lines)


def _level(level: MatchedLevel | MatchedRate, palette: Palette) -> list[Text]:
    measured = [one for one in level.differences if one.before.value is not None or one.after.value is not None]
    return [_line(level.load if index == 0 else "", one, palette) for index, one in enumerate(measured)]


def _line(users: str, one: Difference, palette: Palette) -> Text:
    """One figure of both sessions with its difference. A difference that may be noise is grey, and so is a percentile of too few
    values.
    """
    heading = sentences.heading(one)
    cells = [users, heading if len(heading) <= _COLUMNS[1][1] else FIGURES[one.figure].title]
    cells += [sentences.before(one), sentences.after(one), sentences.change(one), sentences.ratio(one), sentences.noise(one)]
    muted = Style(color=palette.muted)
    text = Text()
    for index, (cell, (_, width, right)) in enumerate(zip(cells, _COLUMNS, strict=True)):
        quiet = index > 3 and not one.counts or (index == 2 and one.before.is_thin) or (index == 3 and one.after.is_thin)
        text.append(pad(cell, width, right=right) + " ", muted if quiet else Style())
    return text.append(judgement(one), _style(one, palette))


def judgement(one: Difference) -> str:
    """The judgement of a difference in a word, with a sign that is visible without colours."""
    if not one.counts:
        return sentences.judgement(one)
    return {True: "▲ better", False: "▼ worse", None: "≠ differs"}[one.better]


def _style(one: Difference, palette: Palette) -> Style:
    if not one.counts:
        return Style(color=palette.muted)
    return Style(color={True: palette.success, False: palette.error, None: palette.text}[one.better], bold=True)


def differing(comparison: Comparison, palette: Palette, width: int) -> Text:
    """The sessions, then all verdicts and warnings in full, then what differs between them."""
    lines: list[Text] = []
    for index, curve in enumerate(comparison.curves):
        color = Style(color=colors(palette)[index % 4], bold=True)
        title_lines = wrap(safe(sentences.curve(curve)), width - 2)
        lines.append(Text.assemble((f"{curve.letter} ", color), title_lines[0]))
        rest = wrap(f"client {sentences.overheads(curve)}; knee {sentences.knee(curve)}", width - 2)
        if curve.judged.marked:
            found = (curve.judged.sentence, f"marked: {sentences.marked(curve)}")
            rest += [line for each in found for line in wrap(safe(each), width - 2)]
        lines += [_muted(f"  {line}", palette) for line in (*title_lines[1:], *rest)]
    warned = Style(color=palette.warning)
    for warning in sentences.warnings(comparison):
        lines += [Text(line, warned) for line in wrap(f"! {safe(warning)}", width)]
    lines += _table("Conditions that differ", comparison.conditions, comparison, warned, width)
    lines += _table("What is compared", comparison.subject, comparison, Style(), width)
    if not comparison.conditions:
        same = "No condition differs: host, limits, versions and users are the same."
        lines += [Text(), *(_muted(line, palette) for line in wrap(same, width))]
    return Text("\n").join(lines)


def _table(title: str, rows: Sequence[Differing], comparison: Comparison, style: Style, width: int) -> list[Text]:
    """For each condition its name, and below it a line per session with the value, which may be long."""
    if not rows:
        return []
    lines = [Text(), Text(title, Style(bold=True))]
    for row in rows:
        lines.append(Text(shorten(safe(row.name), width), style))
        for curve, value in zip(comparison.curves, row.values, strict=True):
            lines += [Text(f"  {line}") for line in wrap(f"{curve.letter} {safe(value)}", max(width - 2, 10))]
    return lines


def _cells(cells: Sequence[str]) -> str:
    return " ".join(pad(cell, width, right=right) for cell, (_, width, right) in zip(cells, _COLUMNS, strict=True))


def _muted(line: str, palette: Palette) -> Text:
    return Text(line, Style(color=palette.muted))
