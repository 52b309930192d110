"""Sampled stacks: the functions of the service by the growth of a request's time in them, and what is around one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from ...model.intervals import Z95
from ...model.stacks import FunctionTime, RequestTime
from ...model.timeline import Timeline
from ...wording import numbers, quantities, stacks
from ..display_options import DisplayOptions
from ..render import text
from ..render.text import styled
from .pane import Lines, ListPane, ScrollingPane

NAMED = "▸ "
"""The sign before the function to look at first."""

_CELLS = (8, 7, 8, 8, 8)
"""Widths of the columns of figures: growth, its error, at low and high load, threads."""


class Chosen(msgspec.Struct, frozen=True):
    """One function of one clock."""

    found: stacks.StacksDifference
    clock: stacks.ClockDifference
    function: FunctionTime


class StacksTable(ListPane):
    """The functions of one clock that contain `filter_text`. `clock` is the index of that clock, which a key changes."""

    TITLE = "Stacks"
    NOTHING = "no stacks were sampled"

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.filter_text = 0, ""

    def _shown(self, clock: stacks.ClockDifference) -> list[FunctionTime]:
        return [each for each in stacks.notable(clock) if self.filter_text.lower() in stacks.place(each).lower()]

    def function(self, timeline: Timeline) -> Chosen | None:
        """The chosen function; None: there is none."""
        found = stacks.difference(timeline)
        if found is None or not found.clocks:
            return None
        clock = found.clocks[self.clock % len(found.clocks)]
        shown = self._shown(clock)
        return Chosen(found, clock, shown[min(self.chosen, len(shown) - 1)]) if shown else None

    def lines(self, timeline: Timeline, options: DisplayOptions, width: int) -> Lines:
        """What the stacks say, and one row for each function."""
        found = stacks.difference(timeline)
        if found is None:
            return [], []
        palette = options.palette
        plain, muted = styled(color=palette.text, bold=True), styled(color=palette.muted)
        clock = found.clocks[self.clock % len(found.clocks)] if found.clocks else None
        about = ", ".join(filter(None, (stacks.tools(found), stacks.loads(found))))
        head = [
            *_wrapped(stacks.said(found), plain, width),
            *_wrapped(f"{about[:1].upper()}{about[1:]}", muted, width),
            *(each for why in found.failed for each in _wrapped(why, muted, width)),
        ]
        if clock is None:
            return [], head
        is_one = found.low is None
        titles = ("", "", "", "time", "threads") if is_one else ("growth", "±", "at low", "at high", "threads")
        head += _wrapped(stacks.clock_title(clock), styled(color=palette.accent), width)
        head.append(text.line([(" " * 2 + _cells(titles) + "  function", muted)], width))
        named = None if found.named is None else found.named.function
        return head, [_row(each, each == named, is_one, options, width) for each in self._shown(clock)]


def _wrapped(sentence: str, style: Style, width: int) -> list[Strip]:
    return [text.line([(f" {part}", style)], width) for part in text.wrap(text.safe(sentence), width - 2)]


def _cells(shown: Iterable[str]) -> str:
    return "".join(text.pad(each, cells, right=True) for each, cells in zip(shown, _CELLS, strict=True))


def _row(each: FunctionTime, is_named: bool, is_one: bool, options: DisplayOptions, width: int) -> Strip:
    palette = options.palette
    color = palette.accent if is_named else palette.text if each.frame.is_own else palette.muted
    threads = numbers.three_digits(each.threads[1])
    figures = ("", "", "", _time(each.own.high_s), threads) if is_one else (*_growth(each.own), threads)
    head = f"{NAMED if is_named else ' ' * len(NAMED)}{_cells(figures)}  "
    where = text.safe(stacks.place(each))
    return text.line([(head + text.shorten(where, width - len(head)), styled(color=color, bold=is_named))], width)


def _growth(time: RequestTime) -> tuple[str, str, str, str]:
    """Growth, half of its 95% interval, at the low and at the high load."""
    sign = "+" if time.growth_s > 0 else "−" if time.growth_s < 0 else ""
    error_s = Z95 * time.error_s
    return f"{sign}{_time(abs(time.growth_s))}", _time(error_s), _time(time.low_s), _time(time.high_s)


def _time(seconds: float) -> str:
    return quantities.latency_cell(1000 * seconds)


class AroundPane(ScrollingPane):
    """Callers and callees of one function, and its lines."""

    TITLE = "Callers and callees"

    def __init__(self, chosen: Chosen) -> None:
        super().__init__()
        self._chosen = chosen

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """As many lines as fit."""
        lines = list(self._lines(options, size.width))
        first, last = self.window(len(lines), size.height)
        return lines[first:last]

    def _lines(self, options: DisplayOptions, width: int) -> Iterator[Strip]:
        palette, chosen = options.palette, self._chosen
        bold, muted = styled(color=palette.text, bold=True), styled(color=palette.muted)
        found = stacks.around(chosen.found, chosen.clock, stacks.function_of(chosen.function.frame))
        yield from _wrapped(stacks.place(chosen.function), bold, width)
        yield from _wrapped(stacks.clock_title(chosen.clock), muted, width)
        yield text.line([("  " + _cells(("growth", "±", "at low", "at high", "")), muted)], width)
        here = msgspec.structs.replace(chosen.function.frame, line=0)
        for title, neighbours in (("called by", found.callers), ("at line", found.lines), ("calls", found.callees)):
            yield text.line([(f" {title}", styled(color=palette.accent, bold=True))], width)
            for each in neighbours:
                head = f"  {_cells((*_growth(each.time), ''))}  "
                name = stacks.neighbour(each.frame, line=title == "at line")
                if title == "calls" and each.frame == here:
                    name = "itself"
                color = palette.text if each.frame.is_own else palette.muted
                yield text.line([(head + text.shorten_end(text.safe(name), width - len(head)), styled(color=color))], width)
