"""The list of requests that are kept in full: time, level, why each was kept, its status or error, and its response time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.style import Style
from textual.strip import Strip

from ... import wording
from ...model.kept_request import RequestBrief, Why
from ...model.timeline import Timeline
from ...wording import quantities
from ..display_options import DisplayOptions
from ..render import text
from .list_pane import Lines, ListPane

WHY: dict[Why, str] = {"first": "first", "last": "last", "slowest": "slowest", "even": "sample"}
_TITLES = f" {'time':>8} {'level':>5} {'why':<7} {'status':>6} "


@dataclass(frozen=True, slots=True)
class Subset:
    """The requests of one cause or error. `title` may contain a target's text: escape it before display."""

    title: str
    at: Callable[[Timeline], Callable[[RequestBrief], bool]]
    """Returns, for a timeline, the function that selects these requests."""


class RequestTable(ListPane):
    """Shows `briefs`."""

    TITLE = "Requests"

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self.briefs: Sequence[RequestBrief] = ()

    @property
    def brief(self) -> RequestBrief | None:
        """The chosen request; None: there is none."""
        return self.briefs[self.chosen] if self.chosen < len(self.briefs) else None

    def lines(self, timeline: Timeline, options: DisplayOptions, width: int) -> Lines:
        """One row for each request; failed ones are in colour."""
        titles = text.line(
            [(f"{_TITLES}{quantities.latency_title('', '') or 'took':>6}  request", Style(color=options.palette.muted))], width
        )
        return [titles], [_row(brief, options, width) for brief in self.briefs]


def _row(brief: RequestBrief, options: DisplayOptions, width: int) -> Strip:
    level = "–" if brief.level is None else str(brief.level)
    status = "none" if brief.status is None else str(brief.status)
    when = wording.session_time(brief.t_s)
    head = f" {when:>8} {level:>5} {WHY[brief.why]:<7} {status:>6} {quantities.latency_cell(brief.response_ms):>6}  "
    named = text.safe(f"{brief.method} {brief.name}")
    error = f"  {text.safe(brief.error)}" if brief.error else ""
    plain = Style(color=options.palette.error if brief.error else options.palette.text)
    rest = width - len(head)
    return text.line([(head, plain), (text.shorten_end(named + error, rest), plain)], width)


def searchable_text(brief: RequestBrief) -> str:
    """The text of a request, in lower case, that a filter searches."""
    level = "" if brief.level is None else f"level {brief.level}"
    return f"{brief.method} {brief.name} {brief.status or 'none'} {WHY[brief.why]} {level} {brief.error}".lower()
