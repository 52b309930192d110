"""The failures, by cause or as raw errors. One of them can be chosen, and the kept requests that belong to it opened.

The list by cause shows the marks of the timeline (causes, leaks, bottlenecks); no failure is classified here.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.kept_request import BRIEF_TEXT_MOST
from ...model.timeline import FailureCount, Timeline
from ...wording import numbers
from ..display_options import DisplayOptions, Palette
from ..render import text
from . import blocks, failure_causes
from .blocks import Block
from .kept_requests import Subset
from .pane import ScrollingPane

# -- raw errors ----------------------------------------------------------------------------------------------------------------
# Raw errors by endpoint, as blocks of lines: count, endpoint, error and times.


def error_blocks(timeline: Timeline, palette: Palette, width: int) -> list[Block]:
    """The blocks of wrapped lines, the most frequent error first."""
    failures = sorted(timeline.failures.items(), key=lambda pair: -pair[1].count)
    if not failures:
        return [Block((text.line([("  no request failed", Style(color=palette.muted))], width),))]
    return [_block(key, failure, timeline.examples.get(failure.signature), palette, width) for key, failure in failures]


def _block(key: Hashable, failure: FailureCount, example: str | None, palette: Palette, width: int) -> Block:
    words = text.safe(f"{failure.method} {failure.name}: {wording.failure(failure.signature)}")
    count = text.pad(f"{numbers.count(failure.count)} ×", 9, right=True) + " "
    indent, muted = " " * len(count), Style(color=palette.muted)
    named = [
        text.line([(indent if index else count, Style(color=palette.error, bold=True)), (part, Style(color=palette.text))], width)
        for index, part in enumerate(text.wrap(words, width - len(count)))
    ]
    shown = text.wrap(text.safe(f"e.g. {example}"), width - len(count) - 1) if example else []
    shown = [*shown, f"{wording.session_time(failure.first_s)} to {wording.session_time(failure.last_s)}"]
    return Block((*named, *(text.line([(indent + line, muted)], width) for line in shown)), key, len(named))


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

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self.raw = False
        self.chosen: Hashable = None
        """Key of the chosen entry; None: none is chosen."""
        self._blocks: list[blocks.Block] = []
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
        listed = error_blocks if self.raw else failure_causes.blocks
        self._blocks = listed(timeline, options.palette, size.width)
        lines = blocks.lines(self._blocks, self.chosen, options.palette, size.width)
        self._first, last = self.window(len(lines), size.height)
        return lines[self._first : last]

    # -- choosing one

    def action_choose(self, direction: int) -> None:
        """The entry below (1) or above (-1); above the first none is chosen."""
        keys = blocks.keys(self._blocks)
        place = keys.index(self.chosen) + direction if self.chosen in keys else min(0, direction)
        self.choose(keys[min(place, len(keys) - 1)] if keys and place >= 0 else None)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked entry. Only with the mouse enabled."""
        offset = event.get_content_offset(self)
        key = None if offset is None else blocks.key_at(self._blocks, self._first + offset.y)
        if key is not None:
            self.choose(key)

    def choose(self, key: Hashable) -> None:
        """Choose the entry with this key, and scroll to it; None: choose none, and scroll to the top."""
        self.chosen = key
        first, last = blocks.span(self._blocks, key) or (0, 0)
        self._set_scrolled(min(first, max(self.scrolled, last - self._height)))

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


@dataclass(frozen=True, slots=True)
class Tally:
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
