"""`compare --format html`: one self-contained page without scripts; light and dark, printable. Text from sessions is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import Template

from .. import svg
from ..escaping import foreign, html
from . import sentences
from .comparison import Comparison, Curve, MatchedLevel, Pair
from .curves import capacity, latency
from .difference import Difference
from .environment import Differing
from .figures import FIGURES

_COLORS = ("background", "text", "muted", "grid", "alarm")
_VARIABLES = svg.Colors(
    background="var(--background)",
    text="var(--text)",
    muted="var(--muted)",
    grid="var(--grid)",
    series=("var(--s0)", "var(--s1)", "var(--s2)", "var(--s3)"),
    alarm="var(--alarm)",
)

_STYLE = Template("""
:root{color-scheme:light dark;$light}
@media (prefers-color-scheme:dark){:root{$dark}}
@media print{:root{$light}}
body{margin:2rem auto;max-width:70rem;padding:0 1rem;background:var(--background);color:var(--text);
font:15px/1.5 system-ui,'Segoe UI','DejaVu Sans',sans-serif}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}.verdict{font-size:1.1rem;font-weight:600}
.warning{border-left:4px solid var(--alarm);padding:.3rem .8rem;margin:.5rem 0;
background:color-mix(in srgb,var(--alarm) 10%,transparent)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.15rem .7rem;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}
.n{text-align:right}tr.level td{border-top:2px solid var(--muted)}
.better{color:var(--s0);font-weight:600}.worse{color:var(--alarm);font-weight:600}.quiet{color:var(--muted)}
svg{width:100%;height:auto}.log{display:none}#log:checked~.log{display:block}#log:checked~.linear-scale{display:none}
$svg
""")


def render(comparison: Comparison) -> bytes:
    """The whole page."""
    title = "Comparison of " + ", ".join(curve.name for curve in comparison.curves)
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html(title)}</title><style>{_style()}</style></head><body><h1>Comparison</h1>",
        f'<p class="verdict">{html(sentences.verdict(comparison))}</p>',
        *(f'<p class="warning" role="alert">{html(warning)}</p>' for warning in sentences.warnings(comparison)),
        *_differing("Conditions that differ", comparison.conditions, comparison.curves),
        *_differing("What is compared", comparison.subject, comparison.curves),
        *_sessions(comparison.curves),
        "<h2>Capacity</h2>",
        capacity(comparison.curves),
        '<h2>Latency</h2><div><input type="checkbox" id="log"><label for="log"> logarithmic</label>',
        f'<div class="linear-scale">{latency(comparison.curves)}</div>',
        f'<div class="log">{latency(comparison.curves, log=True)}</div></div>',
        *(line for pair in comparison.pairs for line in _pair(pair)),
        f'<p class="quiet">{html(sentences.NOISE)}</p></body></html>\n',
    ]
    return "\n".join(parts).encode()


def _style() -> str:
    return _STYLE.substitute(light=_values(svg.LIGHT), dark=_values(svg.DARK), svg=svg.rules(_VARIABLES))


def _values(colors: svg.Colors) -> str:
    named = "".join(f"--{name}:{getattr(colors, name)};" for name in _COLORS)
    return named + "".join(f"--s{index}:{color};" for index, color in enumerate(colors.series))


def _differing(title: str, rows: Sequence[Differing], curves: Sequence[Curve]) -> Iterable[str]:
    if rows:
        yield f"<h2>{title}</h2>"
        yield _table(["", *(curve.letter for curve in curves)], [_row([row.name, *row.values]) for row in rows])


def _sessions(curves: Sequence[Curve]) -> Iterable[str]:
    yield "<h2>Sessions</h2>"
    titles = ["", "session", "began", "client by itself", "knee", "settled user counts", "not settled", "marked", "verdict"]
    rows = []
    for curve in curves:
        counts = ", ".join(f"{point.users}" + (f" (x{point.levels})" if point.levels > 1 else "") for point in curve.points)
        cells = [curve.letter, sentences.curve(curve), sentences.began(curve), sentences.floors(curve), sentences.knee(curve)]
        unsettled = ", ".join(map(str, curve.unsettled))
        found = [sentences.marked(curve), curve.judged.said]
        rows.append(_row([*cells, counts or sentences.MISSING, unsettled or sentences.MISSING, *found]))
    yield _table(titles, rows)


def _pair(pair: Pair) -> Iterable[str]:
    before, after = pair.before.letter, pair.after.letter
    yield f"<h2>{after} against {before}</h2>"
    rows = [row for level in pair.levels for row in _level(level)]
    rows += [_figures_row("", one) for one in pair.knee if one.judgement != "not_measured"]
    if rows:
        yield _table(["users", "figure", before, after, "change", "%", "noise", "judgement"], rows, figures=range(2, 7))
    for letter, counts in ((before, pair.only_before), (after, pair.only_after)):
        if counts:
            yield f"<p>Settled only in {letter}: {', '.join(map(str, counts))} users.</p>"


def _level(level: MatchedLevel) -> Iterable[str]:
    shown = str(level.users)
    for one in level.differences:
        if one.before.value is not None or one.after.value is not None:
            yield _figures_row(shown, one)
            shown = ""


def _figures_row(users: str, one: Difference) -> str:
    """What counts is marked by a word and a sign, and by colour."""
    kind = {True: "better", False: "worse", None: ""}[one.better] if one.counts else "quiet"
    figures = [sentences.value(one.figure, each.value) for each in (one.before, one.after)]
    figures += [sentences.change(one), sentences.ratio(one), sentences.noise(one)]
    said = "".join(f'<td class="n">{html(each)}</td>' for each in figures)
    start = f'<td class="n">{users}</td><td>{html(FIGURES[one.figure].told)}</td>'
    return f'<tr{" class=level" if users else ""}>{start}{said}<td class="{kind}">{html(sentences.judgement(one))}</td></tr>'


def _row(cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<td>{foreign(cell)}</td>" for cell in cells) + "</tr>"


def _table(titles: Sequence[str], rows: Sequence[str], figures: Iterable[int] = ()) -> str:
    right = set(figures)
    head = "".join(f"<th{' class=n' if index in right else ''}>{html(each)}</th>" for index, each in enumerate(titles))
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
