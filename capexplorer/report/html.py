"""`export --format html`: one self-contained page, which needs neither network nor libraries nor a server.

The page's content security policy (CSP) allows only the script whose digest it has, and no request: a browser would not execute
text of a target even if it was not escaped. Charts are drawn by our own `page.js` of 300 lines: Vega's bundle has 0.9 MB, needs
`eval`, and held the GIL for 2 s while it was made, during which a live screen makes no load.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

import msgspec
from markupsafe import Markup

from .. import wording
from ..analysis.target_process import version_of
from ..model.timeline import Timeline
from ..wording import units
from . import charts, figures, html_tables, knees, page_templates, rate_table
from .environment import environment
from .listed_findings import ListedFinding, changes, findings, notes
from .opening import opening
from .summary import summarise
from .svg import PAGE, rules


def render(timeline: Timeline) -> bytes:
    """The whole page."""
    script = f"const UNITS = {_units()};\n{_resource('page.js')}"
    return page_templates.render(
        "session.html",
        policy=Markup(_policy(script)),
        name=f"{timeline.header.target.name} {timeline.header.id}" if timeline.header else "session",
        style=Markup(_resource("page.css") + rules(PAGE)),
        title=_title(timeline),
        marks=_marks(timeline),
        knee_titles=[(title, "") for title in knees.TITLES],
        levels=html_tables.levels(timeline),
        rates=rate_table.lines(timeline),
        rate_titles=[(title, "") for title in rate_table.titles()],
        about_rates=rate_table.ABOUT,
        level_titles=html_tables.in_units(html_tables.LEVEL_TITLES),
        charts=len(timeline) > 0,
        endpoints=[html_tables.endpoint(each) for each in summarise(timeline)["endpoints"]],
        endpoint_titles=html_tables.ENDPOINT_TITLES,
        endpoint_levels=html_tables.levels_of_endpoints(timeline),
        failures=html_tables.failures(timeline),
        failure_titles=html_tables.FAILURE_TITLES,
        notes=[(wording.session_time(note.t_s), note.text) for note in notes(timeline)],
        conventions=wording.CONVENTIONS,
        environment=environment(timeline),
        data=_data(timeline),
        script=Markup(script),
    )


def _units() -> str:
    """For the script: the units of bytes; of latencies the common unit or, if each has its own, all of them, as [name, ms]."""
    common = units.common_latency_unit()
    latencies = (units.MICROSECOND, units.MILLISECOND, units.SECOND) if common is None else (common,)
    found = {"bytes": {"base": units.byte_base(), "names": units.byte_names()}, "latencies": [each[:2] for each in latencies]}
    return msgspec.json.encode(found).decode()


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    sources = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _data(timeline: Timeline) -> Markup:
    """The data of the charts as JSON, which is not executed. `<` and `&` are escaped, so that it cannot end its element."""
    text = msgspec.json.encode(charts.data(timeline)).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@dataclass(frozen=True, slots=True)
class _Title:
    target: str
    profile: str
    began: str
    """Empty where the session was imported without a date."""
    span: str
    label: str | None
    ended: bool
    kept_requests: str
    judgements: Iterable[wording.Judgement]
    opening: list[str]
    version: str | None


def _title(timeline: Timeline) -> _Title | None:
    header = timeline.header
    if header is None:
        return None
    return _Title(
        target=header.target.name,
        profile=str(header.profile.get("title") or header.profile.get("name") or header.target.name),
        began=wording.wall_time(header.started_at),
        span=figures.span(timeline.last_s),
        label=header.label,
        ended=timeline.ended is not None,
        kept_requests=wording.kept_requests(timeline),
        judgements=wording.judgements(timeline).values(),
        opening=opening(timeline),
        version=version_of(timeline),
    )


@dataclass(frozen=True, slots=True)
class _Marks:
    knees: list[tuple[str, ...]]
    findings: list[ListedFinding]
    reanalysed: str
    changes: list[str]


def _marks(timeline: Timeline) -> _Marks | None:
    found, event = findings(timeline), timeline.reanalysed
    if not found and not timeline.verdicts and event is None:
        return None
    reanalysed = wording.reanalysed(event) if event is not None else ""
    return _Marks(knees.lines(timeline), found, reanalysed, [wording.change(each) for each in changes(timeline)])
