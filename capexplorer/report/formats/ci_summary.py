"""`export --format summary`: a short page for a CI job or a comment on a pull request. What was decided comes first.

Such pages show neither a picture of the same folder nor one that is part of the text, but they draw charts that are written as
Mermaid code (GitHub, GitLab). A picture that was published elsewhere can take the chart's place. Untrusted text is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from ... import wording
from ...model.load import Load, Users
from ...model.timeline import Timeline, version_of
from ...wording import numbers
from ...wording.quantities import offered_rate
from .. import tables
from ..capacity import picture
from ..checks import NO_BASELINE, Baseline, Check, State, of_session, outcome
from ..compare import Comparison, Session, curve_of_last, sentences
from ..compare.comparison import Curve
from ..compare.markdown import Row, of_figure, of_loads
from ..escaping import code, markdown
from ..rows import stage_titles, user_rows
from ..tables import Table
from . import Format
from .markdown import levels

_TITLES: dict[State, str] = {"passed": "Met", "failed": "Not met", "undecided": "Undecided", "skipped": "Measured"}
_OF_RUN: dict[State, str] = {"failed": "Run failed", "undecided": "Run cut short"}
_SIGNS: dict[State, str] = {"passed": "✓", "failed": "✗", "undecided": "?", "skipped": "–"}

_DIFFERENCES_MOST = 8
"""Most rows of figures that differ from the baseline; `compare` shows all."""

_POINTS_MOST = 24
"""Most points of the chart: the labels of its axis overlap if there are more."""


def files(timeline: Timeline, name: str, picture_url: str | None, baseline: Baseline = NO_BASELINE) -> dict[str, bytes]:
    """The page `name`; with `picture_url` it links to that, and the picture that is to be published there is another file."""
    drawn = picture(timeline) if picture_url is not None else None
    if drawn is None:
        return {name: render(timeline, baseline)}
    return {name: render(timeline, baseline, picture_url), f"{name.removesuffix('.md')}-capacity.svg": drawn}


def render(timeline: Timeline, baseline: Baseline = NO_BASELINE, picture_url: str | None = None) -> bytes:
    """The page. `picture_url`: of a picture in place of the chart."""
    checks, comparison = of_session(timeline, baseline), baseline.comparison
    judged = [f"**{markdown(each.sentence)}**" for each in wording.judgements(timeline).values()]
    blocks = [_title(timeline, checks), *judged, *_checks(checks)]
    blocks += [f"There is {markdown(baseline.why_none)}."] if baseline.why_none and not baseline.conditions else []
    blocks += _against(comparison) if comparison is not None else []
    shown = [f"![Goodput and latency against users]({quote(picture_url, safe=':/?&=%#@+,;~')})"] if picture_url else []
    blocks += shown or _chart(timeline, comparison)
    if rows := user_rows(timeline):
        blocks += ["<details><summary>Levels</summary>", *levels(rows, stage_titles(timeline)), "</details>"]
    if (rates := tables.rates(timeline)).rows:
        blocks += ["<details><summary>Offered rates</summary>", rates.markdown(), "</details>"]
    return ("\n\n".join([*blocks, _session(timeline)]) + "\n").encode()


def _title(timeline: Timeline, checks: Sequence[Check]) -> str:
    run, *decided = checks
    result, header = _OF_RUN.get(run.state) or _TITLES[outcome(decided)], timeline.header
    if header is None:
        return f"## {result}"
    version = version_of(timeline)
    return f"## {result}: capacity of {code(header.target.name)}" + (f", version {code(version)}" if version else "")


def _checks(checks: Sequence[Check]) -> list[str]:
    """Their table. That the run came to its end is not said."""
    shown = [each for each in checks if each.group != "run" or each.state != "passed"]
    rows = [[f"{_SIGNS[each.state]} {each.result}", code(each.name), markdown(each.words)] for each in shown]
    return [Table(["result", "check", "found"], rows, words=(0, 1, 2)).markdown()] if rows else []


def _session(timeline: Timeline) -> str:
    header = timeline.header
    named = [] if header is None else [f"Session {code(header.id)}", *([f"label {code(header.label)}"] if header.label else [])]
    return f"{', '.join([*named, numbers.span(timeline.last_s)])}. {markdown(wording.CONVENTIONS)}"


# -- baseline


def _against(comparison: Comparison) -> Iterator[str]:
    """The verdict of the comparison, warnings, and the figures that differ significantly."""
    before, *others = comparison.curves
    names = [f"{before.letter} is the baseline {code(sentences.curve(before))}"]
    names += [f"{each.letter} is {code(sentences.curve(each))}" for each in others]
    yield f"**{markdown(sentences.verdict_sentence(comparison))}.** {', '.join(names)}."
    if warnings := sentences.warnings(comparison):
        yield "\n".join(f"- {markdown(each)}" for each in warnings)
    if rows := list(_differing(comparison))[:_DIFFERENCES_MOST]:
        cells = [[load, row.figure, *row.values[:2], row.values[3], row.kind] for load, row in rows]
        titles = ["load", "figure", "baseline", "now", "%", ""]
        yield Table(titles, [list(map(markdown, each)) for each in cells], words=(1, 5)).markdown()


def _differing(comparison: Comparison) -> Iterator[tuple[str, Row]]:
    """(load, row) of each figure that is better or worse, capacities first, where the verdict claims a difference at all."""
    for pair in comparison.pairs:
        load = ""
        for row in (*map(of_figure, pair.capacities), *of_loads(pair.loads)):
            load = row.load or load
            if pair.directions and row.kind in ("better", "worse"):
                yield load, row


# -- chart


def _chart(timeline: Timeline, comparison: Comparison | None) -> list[str]:
    """Goodput by users, or by offered rate, as Mermaid code; beside the baseline where both have the same loads. Empty with fewer
    than two points.
    """
    curve = comparison.curves[-1] if comparison is not None else curve_of_last(Session(timeline))
    points, title = _points(curve), "users" if curve.points else "offered"
    before = _points(comparison.curves[0]) if comparison is not None else {}
    common = [name for name in points if name in before]
    is_beside = len(common) > 1
    names = _thinned(common if is_beside else list(points))
    if len(names) < 2:
        return []
    of_both = [*(before.get(name, 0.0) for name in names if is_beside), *(points[name] for name in names)]
    lines = [
        "```mermaid",
        "xychart-beta",
        f'    x-axis "{title}" [{", ".join(map(json.dumps, names))}]',
        f'    y-axis "goodput (1/s)" 0 --> {1.1 * max(of_both) or 1.0:.4g}',
        *([f"    bar [{', '.join(f'{before[name]:.4g}' for name in names)}]"] if is_beside else []),
        f"    line [{', '.join(f'{points[name]:.4g}' for name in names)}]",
        "```",
    ]
    return ["Line: this session; bars: its baseline." if is_beside else f"Goodput by {title}:", "\n".join(lines)]


def _points(curve: Curve) -> dict[str, float]:
    """Goodput by the name of its load, ascending: of users, else of offered rates."""
    known = [(each.load, each.figures["goodput"].value) for each in curve.points or curve.rate_points]
    return {_name(load): value for load, value in known if value is not None}


def _name(load: Load) -> str:
    return str(load.users) if isinstance(load, Users) else offered_rate(load.per_s)


def _thinned(names: Sequence[str]) -> list[str]:
    """At most _POINTS_MOST of them, evenly chosen, with the first and the last."""
    if len(names) <= _POINTS_MOST:
        return list(names)
    return [names[round(index * (len(names) - 1) / (_POINTS_MOST - 1))] for index in range(_POINTS_MOST)]


FORMAT = Format(
    name="summary", place=8, description="a short page for a CI job or a pull request's comment", suffix=".md", text=render
)
