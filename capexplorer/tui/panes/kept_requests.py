"""One kept request in full: the request as it was sent, timing by phase, headers, formatted bodies. Its text passes through
`safe`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import msgspec
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.kept_request import Body, Headers, KeptRequest, Phases, RequestBrief, Why
from ...model.timeline import Timeline
from ...wording import quantities
from ..display_options import DisplayOptions, Palette
from ..render import text
from ..render.text import styled
from .pane import Lines, ListPane, ScrollingPane

# -- request lines -------------------------------------------------------------------------------------------------------------


_BODY_LINES_MOST = 2_000
"""The most lines of a body that are shown."""
_KEPT_FOR: dict[Why, str] = {
    "first": "the first failure of its kind",
    "last": "the last failure of its kind",
    "slowest": "the slowest of its level and endpoint",
    "even": "one of an even sample of all requests",
}


class RequestPane(ScrollingPane):
    """Shows `request`."""

    TITLE = "Request"

    def __init__(self, request: KeptRequest) -> None:
        super().__init__()
        self.request = request
        self.border_title = text.safe(f"{request.brief.method} {request.brief.name}").replace("[", "\\[")

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """As many lines as fit."""
        trace_url = timeline.header.trace_url if timeline.header is not None else None
        lines = [
            strip for line in request_lines(self.request, trace_url) for strip in _wrapped(line, options.palette, size.width)
        ]
        first, last = self.window(len(lines), size.height)
        return lines[first:last]


class RequestLine(msgspec.Struct, frozen=True):
    """One line before it is wrapped; `kind` gives its colour."""

    kind: str
    text: str
    indent: int = 1


def request_lines(request: KeptRequest, trace_url: str | None = None) -> Iterator[RequestLine]:
    """All lines of the request, from top to bottom. `trace_url`: where traces are shown."""
    brief = request.brief
    where = "" if brief.level is None else f", level {brief.level}"
    by = f", worker {request.worker}" if request.worker else ""
    yield RequestLine("muted", f"{wording.session_time(brief.t_s)}{where}{by}; kept as {_KEPT_FOR[brief.why]}")
    if brief.error:
        yield RequestLine("error", brief.error)
    if trace_url is not None and request.trace_id is not None:
        yield RequestLine("plain", f"trace {trace_url.replace('{trace_id}', request.trace_id)}")
    yield from _heading("Timing")
    yield from (RequestLine("plain", line) for line in phase_lines(request.phases, brief.response_ms))
    yield from _heading("Sent")
    yield RequestLine("bold", f"{brief.method} {request.url}")
    yield from _headers(request.sent_headers)
    yield from _body(request.sent)
    yield from _heading("Received")
    yield RequestLine("bold", "no reply" if brief.status is None else f"status {brief.status}")
    yield from _headers(request.headers)
    yield from _body(request.received)


def phase_lines(phases: Phases, response_ms: float) -> Iterator[str]:
    """`connect 0.42 ms`, `to the first byte 12.1 ms`, ...; phases that the client does not report are shown as not known."""
    connect = "kept connection" if phases.kept_connection else _ms(phases.connect_ms)
    first = "to the whole head" if phases.to_head else "to the first byte"
    yield f"{'connect':<19}{connect}"
    yield f"{first:<19}{_ms(phases.first_byte_ms)}"
    if phases.first_event_ms is not None:
        yield f"{'to the first event':<19}{_ms(phases.first_event_ms)}"
    each = "" if phases.per_token_ms is None else f", {phases.tokens} tokens or events, {_ms(phases.per_token_ms)} each"
    yield f"{'rest of the reply':<19}{_ms(phases.body_ms)}{each}"
    yield f"{'in total':<19}{_ms(response_ms)}"


def _ms(value: float | None) -> str:
    return "not known" if value is None else quantities.latency_figure(value)


def _heading(title: str) -> Iterator[RequestLine]:
    yield RequestLine("plain", "")
    yield RequestLine("title", title)


def _headers(headers: Headers) -> Iterator[RequestLine]:
    if not headers:
        yield RequestLine("muted", "no headers known")
    yield from (RequestLine("header", f"{name}: {value}") for name, value in headers)


def _body(body: Body) -> Iterator[RequestLine]:
    if not body.size_bytes and not body.text:
        yield RequestLine("muted", "no body")
        return
    yield RequestLine("plain", "")
    if body.is_binary:
        yield RequestLine("muted", f"{quantities.size(body.size_bytes)}, no text")
        return
    yield from (RequestLine("body", line) for line in formatted(body.text).split("\n")[:_BODY_LINES_MOST])
    if body.is_cut:
        yield RequestLine("muted", f"… cut: the body has {quantities.size(body.size_bytes)}")


def formatted(body: str) -> str:
    """A body of JSON, indented; any other body unchanged."""
    if body.lstrip()[:1] in ("{", "["):
        try:
            return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
        except (ValueError, RecursionError):
            return body
    return body


def _wrapped(line: RequestLine, palette: Palette, width: int) -> Iterator[Strip]:
    style = {
        "title": styled(color=palette.accent, bold=True),
        "bold": styled(color=palette.text, bold=True),
        "muted": styled(color=palette.muted),
        "error": styled(color=palette.error, bold=True),
        "header": styled(color=palette.text),
    }.get(line.kind, styled(color=palette.text))
    shown = text.safe(line.text.rstrip("\r"))
    begins = len(shown) - len(shown.lstrip(" "))
    head = " " * (line.indent + min(begins, max(0, width // 2)))
    for part in text.wrap(shown, width - len(head) - 1):
        yield text.line([(head, style), (part, style)], width)


# -- request table -------------------------------------------------------------------------------------------------------------
# The list of requests that are kept in full: time, level, why each was kept, its status or error, and its response time.


WHY: dict[Why, str] = {"first": "first", "last": "last", "slowest": "slowest", "even": "sample"}
_TITLES = f" {'time':>8} {'level':>5} {'why':<7} {'status':>6} "


class Subset(msgspec.Struct, frozen=True):
    """The requests of one cause or error. `title` may contain a target's text: escape it before display."""

    title: str
    at: Callable[[Timeline], Callable[[RequestBrief], bool]]
    """Returns, for a timeline, the function that selects these requests."""


class RequestTable(ListPane):
    """Shows `briefs`."""

    TITLE = "Requests"

    def __init__(self) -> None:
        super().__init__()
        self.briefs: Sequence[RequestBrief] = ()

    @property
    def brief(self) -> RequestBrief | None:
        """The chosen request; None: there is none."""
        return self.briefs[self.chosen] if self.chosen < len(self.briefs) else None

    def lines(self, timeline: Timeline, options: DisplayOptions, width: int) -> Lines:
        """One row for each request; failed ones are in colour."""
        titles = text.line(
            [(f"{_TITLES}{quantities.latency_title('', '') or 'took':>6}  request", styled(color=options.palette.muted))], width
        )
        return [titles], [_row(brief, options, width) for brief in self.briefs]


def _row(brief: RequestBrief, options: DisplayOptions, width: int) -> Strip:
    level = "–" if brief.level is None else str(brief.level)
    status = "none" if brief.status is None else str(brief.status)
    when = wording.session_time(brief.t_s)
    head = f" {when:>8} {level:>5} {WHY[brief.why]:<7} {status:>6} {quantities.latency_cell(brief.response_ms):>6}  "
    named = text.safe(f"{brief.method} {brief.name}")
    error = f"  {text.safe(brief.error)}" if brief.error else ""
    plain = styled(color=options.palette.error if brief.error else options.palette.text)
    rest = width - len(head)
    return text.line([(head, plain), (text.shorten_end(named + error, rest), plain)], width)


def searchable_text(brief: RequestBrief) -> str:
    """The text of a request, in lower case, that a filter searches."""
    level = "" if brief.level is None else f"level {brief.level}"
    return f"{brief.method} {brief.name} {brief.status or 'none'} {WHY[brief.why]} {level} {brief.error}".lower()
