"""The failures, by cause or as raw errors. One of them can be chosen, and the kept requests that belong to it opened.

The list by cause shows the marks of the timeline (causes, leaks, bottlenecks); no failure is classified here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import ClassVar

import msgspec
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.events import Mark
from ...model.findings import Cause
from ...model.kept_request import BRIEF_TEXT_MOST
from ...model.timeline import FailureCount, Timeline
from ...model.verdicts import SEVERITIES
from ...wording import numbers
from ..display_options import DisplayOptions, Palette
from ..render import text
from ..render.text import styled
from .kept_requests import Subset
from .pane import ScrollingPane


class Line(msgspec.Struct, frozen=True):
    """One line of the list."""

    strip: Strip
    key: Hashable = None
    """Identifies the entry that it belongs to while lines change; None: a heading, which cannot be chosen."""
    is_name: bool = False
    """Whether it names the entry, and is highlighted when that is chosen."""


def _entry(key: Hashable, named: Sequence[Strip], below: Iterable[Strip]) -> Iterator[Line]:
    yield from (Line(strip, key, True) for strip in named)
    yield from (Line(strip, key) for strip in below)


# -- causes --------------------------------------------------------------------------------------------------------------------
# Failures by cause: location, count, times, an example, readings, advice. Open causes come first.


VERDICT_LINES = 2
"""The most lines of the verdict in the status area; a longer one is repeated here in full."""

UNLISTED = ("not_saturated",)
"""Ids of marks that are not listed, since they state no problem."""

_SIGNS = {"critical": "✗", "error": "✗", "warning": "!"}


def cause_lines(timeline: Timeline, palette: Palette, width: int) -> Iterator[Line]:
    """The verdict, if the status area does not show all of it, then open causes, then closed ones, both by location."""
    marks, judged = listed_marks(timeline), wording.judgement(timeline)
    style = styled(color=color_of(judged.severity, palette) if judged.marked else palette.text, bold=True)
    verdict = list(_wrapped(judged.sentence, " ", style, width))
    top = verdict if not judged.marked or len(verdict) > VERDICT_LINES else []
    if not marks:
        top += _wrapped(_without_marks(timeline), " ", styled(color=palette.muted), width)
    yield from map(Line, top)
    for index, (title, group) in enumerate(_grouped(marks)):
        if top or index:
            yield Line(Strip.blank(width))
        yield Line(text.line([(f" {title}", styled(color=palette.muted, bold=True))], width))
        for mark in group:
            yield from _cause(mark, timeline, palette, width)
    yield from map(Line, _telemetry(timeline, palette, width))


def _telemetry(timeline: Timeline, palette: Palette, width: int) -> Iterator[Strip]:
    """What the service's own log and metrics did where the curve bends."""
    muted, plain = styled(color=palette.muted), styled(color=palette.text)
    for section in wording.telemetry(timeline):
        yield Strip.blank(width)
        yield text.line([(f" {wording.TELEMETRY_TITLE}", styled(color=palette.muted, bold=True))], width)
        yield from _wrapped(section.about, "   ", muted, width)
        for each in section.items:
            yield from _wrapped(f"{each.text}  {each.words}", " · ", plain, width)


def _grouped(marks: Sequence[Mark]) -> Iterator[tuple[str, list[Mark]]]:
    """(title, marks) of each location: first locations with open causes, then those with ended causes, both in the order in which
    a search for the cause should rule them out.
    """
    for is_ended in (False, True):
        for place, title in wording.GROUPS.items():
            group = [mark for mark in marks if (mark.state == "closed") is is_ended and wording.where(mark.id) == place]
            if group:
                yield f"{title}, ended" if is_ended else title, group


def listed_marks(timeline: Timeline) -> list[Mark]:
    """The marks to show: the most severe first, then the latest."""
    found = [mark for mark in wording.current_marks(timeline).values() if mark.kind in wording.BLAMES and mark.id not in UNLISTED]
    return sorted(found, key=lambda mark: (SEVERITIES.index(mark.severity), -mark.t_s))


def _without_marks(timeline: Timeline) -> str:
    kinds = len(timeline.failures)
    if not kinds:
        return "Nothing failed, and no cause was marked."
    if kinds == 1:
        return "No cause was marked. There is one kind of failure: press d to show it."
    return f"No cause was marked. There are {kinds} kinds of failures: press d to show them."


def _cause(mark: Mark, timeline: Timeline, palette: Palette, width: int) -> Iterator[Line]:
    """The lines of one cause: sign, name and count; then time, location, an example and readings; then advice."""
    is_ended = mark.state == "closed"
    muted, plain = styled(color=palette.muted), styled(color=palette.muted if is_ended else palette.text)
    finding, advice = mark.finding, wording.advice(mark.finding, timeline.header)
    named = _title_lines(mark, muted if is_ended else styled(color=color_of(mark.severity, palette), bold=True), plain, width)
    example = wording.example(finding)
    described = [
        " · ".join(filter(None, (wording.epoch_name(timeline, mark.epoch), _when(mark), wording.endpoints(finding)))),
        f"e.g. {example}" if example else "",
        "; ".join(part for part in (wording.readings(finding), wording.doubts(finding)) if part),
    ]
    below = [line for words in filter(None, described) for line in _wrapped(words, "     ", muted, width)]
    if advice:
        below += _wrapped(advice, "   → ", plain, width)
    return _entry(mark.key, named, below)


def _title_lines(mark: Mark, style: Style, plain: Style, width: int) -> list[Strip]:
    """Sign and name, with the count at the right edge."""
    sign = "·" if mark.state == "closed" else _SIGNS.get(mark.severity, "◇")
    counted = wording.counted(mark.finding)
    name = text.wrap(text.safe(wording.title(mark)), max(width - len(counted) - 6, 10))
    first = [(f" {sign} {text.pad(name[0], max(width - len(counted) - 4, 0))}", style), (counted, plain)]
    return [text.line(first, width), *(text.line([(f"   {more}", style)], width) for more in name[1:])]


def _when(mark: Mark) -> str:
    """`since 01:23 at 82 users`, `01:23 to 02:10 at 82 users`, `no more by 02:10`, with the confidence if there is one."""
    cause = mark.finding if isinstance(mark.finding, Cause) else None
    began_s = mark.t_s if cause is None or cause.began_s is None else cause.began_s
    last_s = cause.last_s if cause is not None else None
    at = wording.at_load(mark)
    sure = f", {mark.confidence} confidence" if mark.confidence else ""
    if mark.state != "closed":
        return f"since {wording.session_time(began_s)}{at}{sure}"
    if last_s is None:  # a mark over levels does not state when the last level that shows it ended
        return f"no more by {wording.session_time(mark.t_s)}{at}{sure}"
    return f"{wording.session_time(began_s)} to {wording.session_time(last_s)}{at}{sure}"


def _wrapped(words: str, head: str, style: Style, width: int) -> Iterator[Strip]:
    """The lines of `words` after `head`; further lines are indented to the words' beginning."""
    for index, part in enumerate(text.wrap(text.safe(words), width - len(head) - 1)):
        yield text.line([(head if index == 0 else " " * len(head), style), (part, style)], width)


def color_of(severity: str, palette: Palette) -> str:
    """The colour of a severity: red for critical ones and errors, yellow for warnings."""
    return {"critical": palette.error, "error": palette.error, "warning": palette.warning}.get(severity, palette.text)


# -- raw errors ----------------------------------------------------------------------------------------------------------------
# Raw errors by endpoint: count, endpoint, error and times.


def error_lines(timeline: Timeline, palette: Palette, width: int) -> Iterator[Line]:
    """The wrapped lines, the most frequent error first."""
    if not timeline.failures:
        yield Line(text.line([("  no request failed", styled(color=palette.muted))], width))
    for key, failure in sorted(timeline.failures.items(), key=lambda pair: -pair[1].count):
        yield from _error(key, failure, timeline.examples.get(failure.signature), palette, width)


def _error(key: Hashable, failure: FailureCount, example: str | None, palette: Palette, width: int) -> Iterator[Line]:
    words = text.safe(f"{failure.method} {failure.name}: {wording.failure(failure.signature)}")
    count = text.pad(f"{numbers.count(failure.count)} ×", 9, right=True) + " "
    indent, muted = " " * len(count), styled(color=palette.muted)
    alarm, plain = styled(color=palette.error, bold=True), styled(color=palette.text)
    parts = enumerate(text.wrap(words, width - len(count)))
    named = [text.line([(indent if index else count, alarm), (part, plain)], width) for index, part in parts]
    shown = text.wrap(text.safe(f"e.g. {example}"), width - len(count) - 1) if example else []
    shown = [*shown, f"{wording.session_time(failure.first_s)} to {wording.session_time(failure.last_s)}"]
    return _entry(key, named, (text.line([(indent + line, muted)], width) for line in shown))


def requests_of(failure: FailureCount) -> Subset:
    """The kept requests that failed with this error."""
    here = (failure.method, failure.name, failure.signature.kind[:BRIEF_TEXT_MOST])
    title = f"{failure.method} {failure.name}: {failure.signature.kind}"
    return Subset(title, lambda timeline: lambda brief: (brief.method, brief.name, brief.kind[:BRIEF_TEXT_MOST]) == here)


CAUSES = ("Failures by cause   ↑↓ choose   R requests   d raw errors", "Failures by cause   ↑↓ R d")
RAW = ("Raw errors by endpoint   ↑↓ choose   R requests   d causes", "Raw errors by endpoint   ↑↓ R d")


class FailuresPane(ScrollingPane):
    """Lists causes, or with `raw` the raw errors."""

    TITLE = CAUSES[0]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "choose(-1)", "Choose the one above", show=False),
        Binding("down,j", "choose(1)", "Choose the one below", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.raw = False
        self.chosen: Hashable = None
        """Key of the chosen entry; None: none is chosen."""
        self._lines: list[Line] = []
        self._first = 0
        """Index of the line at the top of the pane."""

    def toggle_raw(self, raw: bool | None = None) -> None:
        """Show raw errors (True) or causes (False); None: the other of the two."""
        self.raw = not self.raw if raw is None else raw
        self.chosen = None
        self._set_scrolled(0)

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw the failures; the title has the keys."""
        self.retitle(*(RAW if self.raw else CAUSES))
        super().show(timeline, cursor, options)

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """Lines from the verdict down to where scrolling has reached."""
        palette, width = options.palette, size.width
        self._lines = list((error_lines if self.raw else cause_lines)(timeline, palette, width))
        self._first, last = self.window(len(self._lines), size.height)
        chosen = styled(color=palette.accent, reverse=True, bold=True)  # reverse video is visible without colours
        return [
            text.line([(line.strip.text, chosen)], width) if line.is_name and line.key == self.chosen else line.strip
            for line in self._lines[self._first : last]
        ]

    # -- choosing one

    def action_choose(self, direction: int) -> None:
        """The entry below (1) or above (-1); above the first none is chosen."""
        keys = list(dict.fromkeys(line.key for line in self._lines if line.key is not None))
        place = keys.index(self.chosen) + direction if self.chosen in keys else min(0, direction)
        self.choose(keys[min(place, len(keys) - 1)] if keys and place >= 0 else None)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked entry. Only with the mouse enabled."""
        offset = event.get_content_offset(self)
        line = None if offset is None else next(iter(self._lines[self._first + offset.y :]), None)
        if line is not None and line.key is not None:
            self.choose(line.key)

    def choose(self, key: Hashable) -> None:
        """Choose the entry with this key, and scroll to it; None: choose none, and scroll to the top."""
        self.chosen = key
        rows = [row for row, line in enumerate(self._lines) if key is not None and line.key == key] or [0]
        self._set_scrolled(min(rows[0], max(self.scrolled, rows[-1] + 1 - self._height)))

    def subset(self, timeline: Timeline) -> Subset | None:
        """The requests that failed from the chosen cause or with the chosen error; None: nothing is chosen."""
        if self.chosen is None:
            return None
        if self.raw:
            failure = next((each for key, each in timeline.failures.items() if key == self.chosen), None)
            return None if failure is None else requests_of(failure)
        key = str(self.chosen)
        mark = timeline.marks.get(key)
        if mark is None:
            return None
        return Subset(wording.title(mark), lambda now: wording.belongs_to_mark(now.marks.get(key, mark), now))


# -- how much there is


class Tally(msgspec.Struct, frozen=True):
    """The counts of failures for the tab and the status area."""

    open: int = 0
    """Number of causes and leaks that are open at this moment."""
    ended: int = 0
    raw: int = 0
    """Number of kinds of failures, by endpoint and signature."""
    severe: bool = False
    """Whether one of the open causes and leaks has the severity error or critical."""

    @property
    def words(self) -> str:
        """The count next to the pane's name: open causes, else ended ones, else failures without a cause; empty without
        failures.
        """
        count = self.open or self.ended or self.raw
        return str(count) if count else ""


def tally(timeline: Timeline) -> Tally:
    """The counts over all epochs. Bottlenecks are no failures."""
    marks = [mark for mark in wording.current_marks(timeline).values() if mark.kind in ("cause", "leak")]
    open_marks = [mark for mark in marks if mark.state != "closed"]
    severe = any(mark.severity in ("critical", "error") for mark in open_marks)
    return Tally(len(open_marks), len(marks) - len(open_marks), len(timeline.failures), severe)
