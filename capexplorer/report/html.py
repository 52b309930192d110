"""`export --format html`: one page that needs nothing else: no network, no library, no server.

The page's policy (CSP) lets run exactly the one script whose digest it names, and load nothing at all: should a text from a
target ever slip through the escaping, a browser would still not obey it. Charts are drawn by `page.js`, 300 lines of ours: Vega's
bundle is 0.9 MB, wants `eval`, and took 2 s under the GIL to make, which on the live screen is 2 s without load.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from importlib import resources

import msgspec

from .. import wording
from ..model.timeline import FailureCount, Timeline
from . import capacity, charts, figures, knees
from .environment import environment
from .escaping import foreign, html, html_spans
from .listed_findings import changes, findings, notes
from .rows import P95_LEAST, P99_LEAST, LevelRow, epochs, level_rows
from .summary import summarise
from .svg import PAGE, rules


def render(timeline: Timeline) -> bytes:
    """The whole page."""
    script, style = _resource("page.js"), _resource("page.css") + rules(PAGE)
    head = _HEAD.format(policy=_policy(script), title=html(_name(timeline)), style=style)
    body = "\n".join(part for section in _sections(timeline) for part in section)
    return f"{head}\n{body}\n{_data(timeline)}\n<script>{script}</script>\n</body>\n</html>\n".encode()


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>"""


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    sources = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _data(timeline: Timeline) -> str:
    """Never executed; `<` and `&` are written so that nothing in it can end the element."""
    text = msgspec.json.encode(charts.data(timeline)).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="data">{text}</script>'


def _sections(timeline: Timeline) -> Iterator[Iterable[str]]:
    """The page from top to bottom."""
    rows = level_rows(timeline)
    yield _title(timeline)
    yield _findings(timeline)
    yield _levels(rows, timeline)
    yield _charts(timeline)
    yield _endpoints(timeline)
    yield _failures(timeline)
    yield _notes(timeline)
    yield [f"<p class=muted>{html(wording.CONVENTIONS)}</p>"]
    yield _environment(timeline)


def _name(timeline: Timeline) -> str:
    return f"{timeline.header.target.name} {timeline.header.id}" if timeline.header else "session"


def _title(timeline: Timeline) -> Iterator[str]:
    header = timeline.header
    if header is None:
        return
    profile = foreign(str(header.profile.get("title") or header.profile.get("name") or header.target.name))
    label = foreign(header.label) if header.label else ""
    state = "" if timeline.ended else '<strong class="alarm">not ended: what was known by then</strong>'
    yield f"<header><h1>Capacity of {foreign(header.target.name)}</h1>"
    began = wording.wall_time(header.started_at)
    when = f"{foreign(began)} · {figures.span(timeline.last_s)}" if began else "imported"
    yield f"<p class=muted>{' · '.join(filter(None, (profile, when, label, state)))}</p>"
    for judged in wording.judgements(timeline).values():
        yield f'<p class="verdict {judged.severity}">{html(judged.said)}</p>'
    yield "</header>"


def _findings(timeline: Timeline) -> Iterator[str]:
    found = findings(timeline)
    if not found and not timeline.verdicts and timeline.reanalysed is None:
        return
    yield "<section><h2>Marks</h2>"
    yield from _knees(timeline)
    yield "<ul class=findings>"
    for each in found:
        evidence = f'<p class="muted">{foreign(each.evidence)}</p>' if each.evidence else ""
        example = f"<p>e.g. <code>{foreign(each.example)}</code></p>" if each.example else ""
        advice = f"<p>→ {html_spans(each.advice)}</p>" if each.advice else ""
        where = f'<span class="muted">{html(each.where)}</span> ' if each.where else ""
        said = f"{where}<strong>{foreign(each.said)}</strong>"
        yield f'<li class="{html(each.mark.severity)}">{said}{evidence}{example}{advice}</li>'
    yield "</ul>"
    yield from _reanalysed(timeline)
    yield "</section>"


def _knees(timeline: Timeline) -> Iterator[str]:
    rows = knees.lines(timeline)
    if rows:
        titles = tuple((title, "") for title in knees.TITLES)
        cells = ("".join(f"<td>{html(cell)}</td>" for cell in row) for row in rows)
        yield from _table("knees", titles, (f"<tr>{each}</tr>" for each in cells), "texts")


def _reanalysed(timeline: Timeline) -> Iterator[str]:
    event = timeline.reanalysed
    if event is None:
        return
    yield f"<p>These are not the marks as recorded: {html(wording.reanalysed(event))}.</p><ul>"
    yield from (f"<li>{foreign(wording.change(each))}</li>" for each in changes(timeline))
    yield "</ul>"


def _charts(timeline: Timeline) -> Iterator[str]:
    if not len(timeline):
        return
    yield '<section id="time"><div class="heading"><h2>Over time</h2><span class="tools">'
    yield '<button type="button" id="logarithmic" aria-pressed="false">logarithmic latency</button> '
    yield '<button type="button" id="whole" disabled>whole session</button></span></div>'
    yield '<p class="muted noprint">Drag to zoom, double click or Esc for the whole session; click a name to hide or show it. '
    yield "Bands are levels, a strip at their foot the seconds that had not settled.</p>"
    yield '<p id="moment" class="muted" aria-live="off">\u00a0</p><div id="charts"></div>'
    yield "<noscript><p>These charts are drawn by a script, and scripts are off; all tables are here.</p></noscript></section>"


_RECOVERY = " ↓ is on the way down from overload: it tells of recovery, and is no part of the curve."

_LEVEL_TITLES = (
    ("epoch", ""), ("level", ""), ("users", ""), ("settled", "s"),
    ("requests", ""), ("goodput", "/s"), ("±", "/s"), ("throughput", "/s"), ("p50", "ms"),
    ("p95", "ms"), ("p99", "ms"), ("max", "ms"), ("failed", "%"), ("target CPU", "cores"), ("target RSS", "MiB"),
    ("host CPU", "cores"), ("generator CPU", "cores"), ("generator lag p99", "ms"), ("ports used", ""),
)  # fmt: skip


def _levels(rows: list[LevelRow], timeline: Timeline) -> Iterator[str]:
    drawn = capacity.drawing(timeline)
    if not rows:
        return
    yield "<section><h2>Capacity</h2>"
    if drawn is not None:
        yield f'<figure class="curve">{drawn}</figure>'
    yield from _table("levels", _LEVEL_TITLES, map(_level, rows), "sortable" if len(rows) > 1 else "")
    yield "<p class=muted>Grey: rests on too few values"
    yield f"(p95 under {P95_LEAST:,}, p99 under {P99_LEAST:,}). – is not measured. Only settled seconds count."
    yield f"{_RECOVERY if any(row.kind == 'recovery' for row in rows) else ''}</p></section>"
    if len(epochs(rows)) < 2:
        yield "<style>#levels th:first-child,#levels td:first-child{display:none}</style>"


_SIGNS = {"step": "", "ramp": "~", "recovery": "↓"}


def _level(row: LevelRow) -> str:
    """A line; each cell carries its exact figure to sort by."""
    shown, latency = row.figures, row.figures.latency_ms
    mib = None if shown.target_rss_bytes is None else shown.target_rss_bytes / 2**20
    percent = None if shown.failure_ratio is None else 100 * shown.failure_ratio
    users = f"{_SIGNS[row.kind]}{figures.users(row.users)}"
    cells = [
        _cell(row.opened.epoch), _cell(row.opened.index), _cell(row.users, users),
        _cell(row.settled_seconds), _cell(row.requests), _cell(shown.goodput_rps), _cell(row.goodput_error_rps, digits=2),
        _cell(shown.throughput_rps), _cell(latency.p50),
        _cell(latency.p95, few=row.few_for_p95), _cell(latency.p99, few=row.few_for_p99), _cell(latency.max),
        _cell(percent), _cell(shown.target_cpu_ratio), _cell(mib), _cell(shown.host_cpu_ratio), _cell(shown.generator_cpu_ratio),
        _cell(shown.loop_lag_p99_ms), _cell(shown.ports_used),
    ]  # fmt: skip
    return f'<tr data-level="{row.opened.index}" data-bin="{"" if row.bin is None else row.bin}">{"".join(cells)}</tr>'


def _cell(value: float | None, said: str | None = None, *, few: bool = False, digits: int = 3) -> str:
    kind = ' class="few"' if few and value is not None else ""
    exact = "" if value is None else f' data-value="{round(value, 6):g}"'
    return f"<td{kind}{exact}>{figures.number(value, digits) if said is None else html(said)}</td>"


def _table(name: str, titles: Iterable[tuple[str, str]], lines: Iterable[str], kind: str = "") -> Iterator[str]:
    yield f'<div class="scroll"><table id="{name}" class="{kind}"><thead><tr>'
    yield "".join(f'<th scope="col">{html(title)}{f"<small>{html(unit)}</small>" if unit else ""}</th>' for title, unit in titles)
    yield "</tr></thead><tbody>"
    yield from lines
    yield "</tbody></table></div>"


def _endpoints(timeline: Timeline) -> Iterator[str]:
    endpoints = summarise(timeline)["endpoints"]
    if not endpoints:
        return
    yield "<section><h2>Endpoints, settled seconds of all levels</h2>"
    titles = (("endpoint", ""), ("requests", ""), ("failed", ""), ("failed", "%"))
    yield from _table("endpoints", titles, map(_endpoint, endpoints), "texts sortable" if len(endpoints) > 1 else "texts")
    yield "</section>"


def _endpoint(each: dict[str, object]) -> str:
    requests, failures = int(str(each["requests"])), int(str(each["failures"]))
    ratio = 100 * failures / requests if requests else None
    name = foreign(f"{each['method']} {each['name']}")
    return f"<tr><td>{name}</td>{_cell(requests)}{_cell(failures)}{_cell(ratio)}</tr>"


def _failures(timeline: Timeline) -> Iterator[str]:
    """Those of the whole session, the most frequent first."""
    counts = sorted(timeline.failures.values(), key=lambda each: -each.count)
    if not counts:
        return
    yield "<section><h2>Failures, whole session</h2>"
    titles = (("failure", ""), ("endpoint", ""), ("count", ""), ("first", ""), ("last", ""))
    rows = [_failure(each, timeline.examples.get(each.signature)) for each in counts]
    yield from _table("failures", titles, rows, "texts two sortable" if len(counts) > 1 else "texts two")
    yield "</section>"


def _failure(each: FailureCount, example: str | None) -> str:
    said = wording.failure(each.signature)
    texts = (f"{said}; e.g. {example}" if example else said, f"{each.method} {each.name}")
    said = "".join(f"<td>{foreign(text)}</td>" for text in texts)
    seen = "".join(_cell(t_s, wording.session_time(t_s)) for t_s in (each.first_s, each.last_s))
    return f"<tr>{said}{_cell(each.count)}{seen}</tr>"


def _notes(timeline: Timeline) -> Iterator[str]:
    written = notes(timeline)
    if written:
        yield "<section><h2>Notes</h2><ul>"
        yield from (f"<li><time>{wording.session_time(note.t_s)}</time> {foreign(note.text)}</li>" for note in written)
        yield "</ul></section>"


def _environment(timeline: Timeline) -> Iterator[str]:
    yield "<section><h2>Environment</h2><dl>"
    for fact in environment(timeline):
        yield f"<dt>{html(fact.name)}</dt><dd>{foreign(fact.value) if fact.foreign else html(fact.value)}</dd>"
    yield "</dl></section>"
