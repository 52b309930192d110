"""`export --format md`: a report for a pull request or a ticket: verdict, capacity picture, levels, marks with advice,
environment.

The picture is a file in the same folder; on a clipboard or a pipe there is none. Untrusted text is in code spans or escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import quote

from ... import wording
from ...model.intervals import PERCENTILE_VALUES_LEAST
from ...model.stages import TABLED
from ...model.timeline import Timeline, version_of
from ...wording import numbers, quantities
from ...wording.quantities import latency_title
from .. import stacks, tables
from ..capacity import picture
from ..escaping import code, markdown, markdown_spans
from ..rows import (
    SIGNS,
    STAGES_NOTE,
    EndpointAtLevel,
    Kind,
    ReportedLevel,
    by_endpoint,
    endpoint_levels,
    epochs,
    experiments_in_order,
    sign_notes,
    stage_titles,
    user_rows,
)
from ..statements import changes, findings, notes, opening
from ..sweep.drawing import picture as picture_of_sweep
from ..sweep.findings import SweepFindings
from ..sweep.findings import findings as findings_of_sweep
from ..sweep.texts import sentence
from ..sweep.texts import table as table_of_sweep
from ..tables import Table, environment
from . import Format

_LEAST = ", ".join(f"{name} under {PERCENTILE_VALUES_LEAST[name]:,}" for name in ("p95", "p99"))
_FEW = f"In parentheses: based on too few values ({_LEAST})."


NO_PICTURES: Mapping[str, str] = MappingProxyType({})

_ENDPOINTS_MOST = 8
"""Most endpoints in the table of endpoints by level: forty would be too many for a ticket."""

_DEGRADES = "In bold: the endpoint whose own latency or failures degrade first, from that level on."
_NONE_DEGRADES = "No endpoint was found to degrade before the others."


def with_picture(timeline: Timeline, name: str) -> dict[str, bytes]:
    """The file `name` and its picture."""
    drawn, swept, stem = picture(timeline), findings_of_sweep(timeline), name.removesuffix(".md")
    pictures = {} if drawn is None else {"capacity": drawn}
    if swept is not None:
        pictures["sweep"] = picture_of_sweep(swept)
    named = {what: f"{stem}-{what}.svg" for what in pictures}
    return {name: render(timeline, named), **{named[what]: each for what, each in pictures.items()}}


def render(timeline: Timeline, pictures: Mapping[str, str] = NO_PICTURES) -> bytes:
    """The report. `pictures`: names of the files that it links to: `capacity`, `sweep`."""
    judged = wording.judgements(timeline).values()
    swept = findings_of_sweep(timeline)
    first = [sentence(swept)] if swept is not None else []
    concluded = [f"**{markdown(each)}**" for each in (*first, *(each.sentence for each in judged))]
    blocks = [_title(timeline), *concluded, *map(markdown, opening(timeline))]
    blocks += _sweep(swept, pictures.get("sweep")) if swept is not None else []
    if "capacity" in pictures:
        blocks.append(f"![Goodput and latency against users]({quote(pictures['capacity'])})")
    blocks += _settings(timeline)
    if rows := user_rows(timeline):
        blocks += ["## Levels", *levels(rows, stage_titles(timeline))]
    if (rates := tables.rates(timeline)).rows:
        blocks += ["## Offered rates", rates.markdown(), tables.about_rates(timeline)]
    blocks += _endpoint_levels(timeline)
    blocks += _metrics(timeline)
    blocks += _marks(timeline)
    blocks += _stacks(timeline)
    blocks += _telemetry(timeline)
    if written := [f"- {wording.session_time(note.t_s)} {code(note.text)}" for note in notes(timeline)]:
        blocks += ["## Notes", "\n".join(written)]
    blocks.append(markdown(wording.CONVENTIONS))
    blocks += _environment(timeline)
    return ("\n\n".join(blocks) + "\n").encode()


def _title(timeline: Timeline) -> str:
    header = timeline.header
    if header is None:
        return "# Capacity"
    state = "" if timeline.ended is not None else ", snapshot of a running session"
    length = numbers.span(timeline.last_s, in_full=True)
    when = f"{code(wording.wall_time(header.started_at))}, {length}{state}" if header.started_at else "imported"
    kept = wording.kept_requests(timeline)
    requests = f"\n\n{markdown(kept)}" if kept else ""
    named = version_of(timeline)
    version = f", version {code(named)}" if named else ""
    return f"# Capacity of {code(header.target.name)}{version}\n\nprofile {code(header.profile_name)}, {when}{requests}"


def _sweep(found: SweepFindings, picture_name: str | None) -> list[str]:
    link = [] if picture_name is None else [f"![Capacity by setting]({quote(picture_name)})"]
    rows = table_of_sweep(found)
    escaped = Table(rows.titles, [[code(name), *map(markdown, cells)] for name, *cells in rows.rows], rows.words)
    return ["## Sweep", *link, escaped.markdown()]


def _settings(timeline: Timeline) -> list[str]:
    found = tables.settings(timeline)
    escaped = found._replace(rows=[list(map(markdown, cells)) for cells in found.rows])
    return ["## Settings", escaped.markdown()] if found.rows else []


def levels(rows: list[ReportedLevel], of_streams: Sequence[str]) -> list[str]:
    """The table of levels, and what its signs mean. `of_streams`: titles of the columns of streams."""
    several = len(epochs(rows)) > 1
    limited = any(row.figures.served_rps is not None for row in rows)
    work = ["within limits /s", "throughput /s", "beyond limits"] if limited else ["goodput /s", "throughput /s"]
    titles = ["users", "settled s", "requests", *work, *map(latency_title, ("p50", "p95", "p99"))]
    titles += [*of_streams, "failures", "target CPU, cores", latency_title("generator lag p99")]
    cells = [[str(row.opened.epoch)] * several + _cells(row, has_streams=bool(of_streams), limited=limited) for row in rows]
    table = Table(["epoch"] * several + titles, cells)
    sentence = [_FEW] if any(row.has_few("p99") and row.figures.latency_ms.p99 is not None for row in rows) else []
    sentence += [f"A void level has {wording.VOID[void]}." for void in dict.fromkeys(row.void for row in rows) if void]
    sentence += [
        *sign_notes(row.kind for row in rows),
        *map(markdown, experiments_in_order(rows)),
        *([STAGES_NOTE] if of_streams else []),
    ]
    return [table.markdown(), *([" ".join(sentence)] if sentence else [])]


def _cells(row: ReportedLevel, *, has_streams: bool, limited: bool) -> list[str]:
    shown, latency = row.figures, row.figures.latency_ms
    return [
        _sign(row.kind) + quantities.load_in_column(row.users, row.offered_per_s),
        numbers.significant(row.settled_seconds) if shown.settled else "void" if row.void else "not settled",
        numbers.significant(row.requests),
        numbers.with_error(shown.goodput_rps, row.goodput_error_rps),
        numbers.significant(shown.throughput_rps),
        *([quantities.beyond_limits(shown) if shown.served_rps is not None else numbers.MISSING] * limited),
        quantities.latency_in_column(latency.p50),
        *_tails(row),
        *(_streams(row, row.figures.tokens_per_s) if has_streams else ()),
        _failures(row),
        numbers.significant(shown.target_cpu_ratio),
        quantities.latency_in_column(shown.loop_lag_p99_ms),
    ]


def _sign(kind: Kind) -> str:
    sign, _ = SIGNS[kind]
    return f"{sign} " if sign else ""


def _tails(row: ReportedLevel | EndpointAtLevel) -> Iterator[str]:
    """p95 and p99, in parentheses if they are based on too few values."""
    yield _few(row.latency_ms.p95, row.has_few("p95"))
    yield _few(row.latency_ms.p99, row.has_few("p99"))


def _few(value_ms: float | None, is_few: bool) -> str:
    shown = quantities.latency_in_column(value_ms)
    return f"({shown})" if is_few and value_ms is not None else shown


def _streams(row: ReportedLevel | EndpointAtLevel, tokens_per_s: float | None) -> Iterator[str]:
    """Tokens a second and the p95 of stages."""
    yield numbers.significant(tokens_per_s)
    yield from (_few(row.stage_ms(stage).p95, row.has_few("p95")) for stage in TABLED)


def _failures(row: ReportedLevel) -> str:
    if not row.figures.settled:
        unsettled = row.figures.failures_while_unsettled
        return f"{unsettled:,} unsettled" if unsettled else numbers.MISSING
    return numbers.percent_in_full(row.figures.failure_ratio)


def _endpoint_levels(timeline: Timeline) -> list[str]:
    """Empty if there is only one endpoint, whose figures are in the table of levels."""
    rows = endpoint_levels(timeline)
    endpoints = by_endpoint(rows)
    if len(endpoints) < 2:
        return []
    several = len({row.level.opened.epoch for row in rows}) > 1
    of_streams = stage_titles(timeline)
    titles = ["users", "requests", "goodput /s", *map(latency_title, ("mean", "p50", "p95", "p99")), *of_streams, "failures"]
    shown = [_endpoint_cells(row, several, has_streams=bool(of_streams)) for own in endpoints[:_ENDPOINTS_MOST] for row in own]
    table = Table(["endpoint", *["epoch"] * several, *titles], shown, words=(0,))
    sentence = [_DEGRADES] if any(row.degrades_first for row in rows) else [_NONE_DEGRADES]
    sentence += sign_notes(row.level.marked_as for row in rows)
    if len(endpoints) > _ENDPOINTS_MOST:
        sentence.append(f"The {_ENDPOINTS_MOST} busiest of {len(endpoints)} endpoints; `endpoints.csv` has all.")
    return ["## Endpoints by level", table.markdown(), " ".join(sentence)]


def _endpoint_cells(row: EndpointAtLevel, epoch: bool, *, has_streams: bool) -> list[str]:
    level, latency = row.level, row.latency_ms
    name = code(f"{row.endpoint.method} {row.endpoint.name}".strip())
    return [
        f"**{name}**" if row.degrades_first else name,
        *[str(level.opened.epoch)] * epoch,
        _sign(level.marked_as) + quantities.load_in_column(level.users, level.offered_per_s),
        numbers.significant(row.endpoint.requests),
        numbers.significant(row.goodput_rps),
        quantities.latency_in_column(latency.mean),
        quantities.latency_in_column(latency.p50),
        *_tails(row),
        *(_streams(row, row.tokens_per_s) if has_streams else ()),
        numbers.percent_in_full(row.failure_ratio),
    ]


def _metrics(timeline: Timeline) -> list[str]:
    found = tables.metrics(timeline)
    escaped = found._replace(rows=[[code(name), *cells] for name, *cells in found.rows])
    return ["## Metrics", escaped.markdown(), tables.ABOUT_METRICS] if found.rows else []


def _marks(timeline: Timeline) -> list[str]:
    found = findings(timeline)
    lines = []
    for each in found:
        where = f"{each.where}: " if each.where else ""
        evidence = f": {markdown(each.evidence)}" if each.evidence else ""
        example = f"\n  E.g. {code(each.example)}" if each.example else ""
        advice = f"\n  Advice: {markdown_spans(each.advice)}" if each.advice else ""
        lines.append(f"- {where}**{markdown(each.sentence)}**{evidence}{example}{advice}")
    knees = tables.knees(timeline)
    knees = knees._replace(rows=[(markdown(name), *cells) for name, *cells in knees.rows])
    shown = [*([knees.markdown()] if knees.rows else []), *(["\n".join(lines)] if lines else [])]
    return [*(["## Marks", *shown] if shown else []), *_reanalysed(timeline)]


def _reanalysed(timeline: Timeline) -> list[str]:
    event = timeline.reanalysed
    if event is None:
        return []
    sentence = [f"The marks are not the recorded ones: {markdown(wording.reanalysed(event))}."]
    return ["\n".join([*sentence, *(f"- {markdown(wording.change(each))}" for each in changes(timeline))])]


def _stacks(timeline: Timeline) -> list[str]:
    """Empty if no stacks were sampled."""
    blocks = ["## Stacks"] if timeline.stacks else []
    for section in stacks.sections(timeline):
        blocks.append(markdown(" ".join(section.sentences)))
        for title, table in section.tables:
            rows = [(code(name), *cells) for name, *cells in table.rows]
            blocks += [f"{markdown(title)}:", table._replace(rows=rows).markdown()]
    return blocks


def _telemetry(timeline: Timeline) -> list[str]:
    blocks = []
    for section in wording.telemetry(timeline):
        items = "\n".join(f"- {code(each.text)} {each.words}" for each in section.items)
        blocks += [markdown(section.about), *([items] if items else [])]
    return [f"## {wording.TELEMETRY_TITLE}", *blocks] if blocks else []


def _environment(timeline: Timeline) -> list[str]:
    facts = environment(timeline)
    if not facts:
        return []
    rows = [[markdown(fact.name), code(fact.value) if fact.foreign else markdown(fact.value)] for fact in facts]
    return ["## Environment", Table(["", "environment"], rows, words=(0, 1)).markdown()]


FORMAT = Format(
    name="md",
    place=1,
    description="Markdown for a ticket or a pull request, with a picture",
    suffix=".md",
    text=render,
    text_lacks="without its picture; -o FILE writes both",
    files=with_picture,
)
