"""`compare --format html`: one self-contained page without scripts; light and dark, printable. Text from sessions is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .. import page_templates, svg
from . import sentences
from .comparison import Comparison, Curve, MatchedLevel, MatchedRate, Pair
from .curves import capacity, latency
from .difference import Difference
from .environment import Differing

_COLORS = ("background", "text", "muted", "grid", "alarm")
_VARIABLES = svg.Colors(
    background="var(--background)",
    text="var(--text)",
    muted="var(--muted)",
    grid="var(--grid)",
    series=("var(--s0)", "var(--s1)", "var(--s2)", "var(--s3)"),
    alarm="var(--alarm)",
)
_SESSION_TITLES = (
    "", "session", "began", "client overhead", "knee", "settled user counts", "not settled", "marked", "verdict",
)  # fmt: skip


def render(comparison: Comparison) -> bytes:
    """The whole page."""
    curves = comparison.curves
    return page_templates.render(
        "comparison.html",
        title="Comparison of " + ", ".join(curve.name for curve in curves),
        light=Markup(_values(svg.LIGHT)),
        dark=Markup(_values(svg.DARK)),
        svg=Markup(svg.rules(_VARIABLES)),
        verdict=sentences.verdict(comparison),
        warnings=sentences.warnings(comparison),
        letters=[curve.letter for curve in curves],
        differing=[
            ("Conditions that differ", _differing(comparison.conditions)),
            ("What is compared", _differing(comparison.subject)),
        ],
        session_titles=_SESSION_TITLES,
        sessions=[_session(curve) for curve in curves],
        capacity=Markup(capacity(curves)),  # each text in a drawing is escaped by svg.text
        latency=Markup(latency(curves)),
        latency_logarithmic=Markup(latency(curves, log=True)),
        pairs=[_pair(pair) for pair in comparison.pairs],
        noise=sentences.NOISE,
    )


def _values(colors: svg.Colors) -> str:
    named = "".join(f"--{name}:{getattr(colors, name)};" for name in _COLORS)
    return named + "".join(f"--s{index}:{color};" for index, color in enumerate(colors.series))


def _differing(rows: Sequence[Differing]) -> list[list[str]]:
    return [[row.name, *row.values] for row in rows]


def _session(curve: Curve) -> list[str]:
    counts = ", ".join(f"{point.users}" + (f" (x{point.levels})" if point.levels > 1 else "") for point in curve.points)
    cells = [curve.letter, sentences.curve(curve), sentences.began(curve), sentences.overheads(curve), sentences.knee(curve)]
    unsettled = ", ".join(map(str, curve.unsettled))
    found = [sentences.marked(curve), curve.judged.sentence]
    return [*cells, counts or sentences.MISSING, unsettled or sentences.MISSING, *found]


@dataclass(frozen=True, slots=True)
class _Row:
    """One figure of a pair."""

    users: str
    """The load; empty except in the first row of a level."""
    figure: str
    values: list[str]
    kind: str
    """Class for the style sheet: `better`, `worse` or empty for a significant difference, else `quiet`."""
    judgement: str


@dataclass(frozen=True, slots=True)
class _PairRows:
    title: str
    before: str
    after: str
    rows: list[_Row]
    overall: str
    """The changes over all levels as text; may be empty."""
    unmatched: tuple[tuple[str, str], ...]
    """(letter, loads that settled only in this curve)."""


def _pair(pair: Pair) -> _PairRows:
    rows = [row for level in pair.loads for row in _level(level)]
    rows += [_row("", one) for one in pair.capacities]
    title = f"{pair.after.named} against {pair.before.named}"
    return _PairRows(title, pair.before.letter, pair.after.letter, rows, sentences.overall(pair), pair.unmatched)


def _level(level: MatchedLevel | MatchedRate) -> Iterator[_Row]:
    shown = level.load
    for one in level.differences:
        if one.before.value is not None or one.after.value is not None:
            yield _row(shown, one)
            shown = ""


def _row(users: str, one: Difference) -> _Row:
    kind = {True: "better", False: "worse", None: ""}[one.better] if one.counts else "quiet"
    values = [sentences.before(one), sentences.after(one), sentences.change(one), sentences.ratio(one), sentences.noise(one)]
    return _Row(users, sentences.heading(one), values, kind, sentences.judgement(one))
