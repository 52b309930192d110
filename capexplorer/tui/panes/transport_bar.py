"""The transport bar of a replay: position, speed, and the positions of levels, marks and notes.

`transport` is pure: (view, palette, width) to one line of cells. With the mouse enabled the bar can be clicked and dragged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from ... import wording
from ..display_options import Palette
from ..render import text
from ..render.text import Piece
from .pane import changed_regions

LEAST_BAR_CELLS = 16
"""Least width of the bar; messages for which there is then no space are left out."""


@dataclass(frozen=True, slots=True)
class TransportView:
    """The state of a replay to draw."""

    position_s: float = 0.0
    duration_s: float = 0.0
    speed: float = 1.0
    playing: bool = False
    at_end: bool = False
    """Whether the replay follows the end of a session that is still being recorded."""
    messages: tuple[str, ...] = ()
    """Further messages, the most important first: `reading 40%`."""
    levels: Sequence[float] = ()
    """Session times of the beginnings of levels, in seconds; so are those of marks and notes."""
    marks: Sequence[float] = ()
    notes: Sequence[float] = ()


class TransportBar(Widget):
    """The bar on one line. A click or a drag calls `seek` with the share of the session's length."""

    DEFAULT_CSS = "TransportBar { height: 1; background: $panel; color: $foreground; padding: 0 1; }"

    def __init__(self, seek: Callable[[float], None], id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self._seek = seek
        self.view, self.palette = TransportView(), Palette()
        self._strip, self._dragged = Strip([]), False

    def show(self, view: TransportView, palette: Palette) -> None:
        """Draw this moment; writes only what changed."""
        if (view, palette) == (self.view, self.palette):
            return
        self.view, self.palette = view, palette
        old, self._strip = self._strip, transport(view, palette, self.size.width)
        regions = changed_regions([old], [self._strip], self.size.width)
        if regions:
            self.refresh(*regions)

    def on_resize(self) -> None:
        """Redraw for the new width."""
        self._strip = transport(self.view, self.palette, self.size.width)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The cells of the line."""
        return self._strip.apply_style(self.rich_style)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin a drag, and seek to this position."""
        self._dragged = True
        self.capture_mouse()
        self._seek_to(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Seek to the position of the mouse during a drag."""
        if self._dragged:
            self._seek_to(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End the drag."""
        self._dragged = False
        self.release_mouse()

    def _seek_to(self, event: events.MouseEvent) -> None:
        offset = event.get_content_offset_capture(self)
        first, stop = bar_cells(self.view, self.size.width)
        self._seek(min(max((offset.x - first) / max(stop - first - 1, 1), 0.0), 1.0))


def transport(view: TransportView, palette: Palette, width: int) -> Strip:
    """One line with state, speed, position, bar, length of the session, and messages."""
    head, tail = _head(view, palette), _tail(view, palette, width)
    first, stop = bar_cells(view, width)
    return text.line([*head, *_bar(view, palette, stop - first), *tail], width)


def bar_cells(view: TransportView, width: int) -> tuple[int, int]:
    """The range of the bar's cells as (first, end), the end excluded."""
    palette = Palette()
    first = text.cells(_head(view, palette))
    return first, max(first + 1, width - text.cells(_tail(view, palette, width)))


def _head(view: TransportView, palette: Palette) -> list[Piece]:
    """The pieces before the bar, whose width is constant, so that the bar does not move."""
    sign = "▶" if view.playing else "‖"
    color = palette.success if view.playing else palette.warning
    clock = text.pad(wording.session_time(view.position_s), len(wording.session_time(view.duration_s)), right=True)
    speed = text.pad(f"{view.speed:g}x", 4)
    return [(f"{sign} {speed} ", Style(color=color, bold=True)), (f"{clock} ", Style(color=palette.text, bold=True))]


def _tail(view: TransportView, palette: Palette, width: int) -> list[Piece]:
    """The pieces that fit next to the bar; the last ones are left out first."""
    ratio = view.position_s / view.duration_s if view.duration_s > 0 else 0.0
    pieces = [
        (f" {wording.session_time(view.duration_s)}", Style(color=palette.muted)),
        (f" {ratio:4.0%}", Style(color=palette.muted)),
    ]
    left = width - text.cells([*_head(view, palette), *pieces]) - LEAST_BAR_CELLS
    for message in view.messages:
        piece = (f"  {message}", Style(color=palette.accent, bold=True))
        left -= text.cells([piece])
        if left < 0:
            break
        pieces.append(piece)
    return pieces


def _bar(view: TransportView, palette: Palette, width: int) -> list[Piece]:
    here = _cell(view.position_s, view, width)
    played, rest, ahead = Style(color=palette.primary), Style(color=palette.faint), Style(color=palette.muted)
    cells = [("━", played) if cell < here else ("─", rest) for cell in range(width)]
    for t_s in view.levels:
        cell = _cell(t_s, view, width)
        cells[cell] = ("┻" if cell < here else "┴", played if cell < here else ahead)
    for signs, piece in (
        (view.notes, ("▲", Style(color=palette.text))),
        (view.marks, ("◆", Style(color=palette.warning))),
        ((view.position_s,), ("█", Style(color=palette.accent))),
    ):
        for t_s in signs:
            cells[_cell(t_s, view, width)] = piece
    return [("".join(sign for sign, _ in run), style) for style, run in groupby(cells, lambda cell: cell[1])]


def _cell(t_s: float, view: TransportView, width: int) -> int:
    ratio = t_s / view.duration_s if view.duration_s > 0 else 0.0
    return min(max(round(ratio * (width - 1)), 0), width - 1)
