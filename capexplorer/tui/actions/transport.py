"""Moves through a recording: play, seek, step and jump, and the transport bar, which shows the position and can be dragged.

Time, keys and the mouse all move the position of the feed's playback; the feed then shows that time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby

import msgspec
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from ... import wording
from ...model.sources import Landmark
from ..dialogs import Ask
from ..display_options import Palette
from ..feed import WANTED, RecordedFeed, parse_position
from ..keybar import Performs
from ..panes.pane import StripsWidget
from ..protocols import Actions
from ..render import text
from ..render.text import Piece, styled

# -- transport bar -------------------------------------------------------------------------------------------------------------
# The transport bar of a replay: position, speed, and the positions of levels, marks and notes.
#
# `transport` is pure: (view, palette, width) to one line of cells. With the mouse enabled the bar can be clicked and dragged.


LEAST_BAR_CELLS = 16
"""Least width of the bar; messages for which there is then no space are left out."""


class TransportView(msgspec.Struct, frozen=True):
    """The state of a replay to draw."""

    position_s: float = 0.0
    duration_s: float = 0.0
    speed: float = 1.0
    playing: bool = False
    messages: tuple[str, ...] = ()
    """Further messages, the most important first: `reading 40%`."""
    levels: Sequence[float] = ()
    """Session times of the beginnings of levels, in seconds; so are those of marks and notes."""
    marks: Sequence[float] = ()
    notes: Sequence[float] = ()


class TransportBar(StripsWidget):
    """The bar on one line. A click or a drag calls `seek` with the share of the session's length."""

    DEFAULT_CSS = "TransportBar { height: 1; background: $panel; color: $foreground; padding: 0 1; }"

    def __init__(self, seek: Callable[[float], None]) -> None:
        super().__init__(id="transport")
        self._seek, self._dragged = seek, False
        self.view, self.palette = TransportView(), Palette()

    def show(self, view: TransportView, palette: Palette) -> None:
        """Draw this moment; writes only what changed."""
        if (view, palette) != (self.view, self.palette):
            self.view, self.palette = view, palette
            self.replace(self.drawn())

    def drawn(self) -> list[Strip]:
        """The line of this moment."""
        return [transport(self.view, self.palette, self.size.width)]

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
    return [(f"{sign} {speed} ", styled(color=color, bold=True)), (f"{clock} ", styled(color=palette.text, bold=True))]


def _tail(view: TransportView, palette: Palette, width: int) -> list[Piece]:
    """The pieces that fit next to the bar; the last ones are left out first."""
    ratio = view.position_s / view.duration_s if view.duration_s > 0 else 0.0
    pieces = [
        (f" {wording.session_time(view.duration_s)}", styled(color=palette.muted)),
        (f" {ratio:4.0%}", styled(color=palette.muted)),
    ]
    left = width - text.cells([*_head(view, palette), *pieces]) - LEAST_BAR_CELLS
    for message in view.messages:
        piece = (f"  {message}", styled(color=palette.accent, bold=True))
        left -= text.cells([piece])
        if left < 0:
            break
        pieces.append(piece)
    return pieces


def _bar(view: TransportView, palette: Palette, width: int) -> list[Piece]:
    here = _cell(view.position_s, view, width)
    played, rest, ahead = styled(color=palette.primary), styled(color=palette.faint), styled(color=palette.muted)
    cells = [("━", played) if cell < here else ("─", rest) for cell in range(width)]
    for t_s in view.levels:
        cell = _cell(t_s, view, width)
        cells[cell] = ("┻" if cell < here else "┴", played if cell < here else ahead)
    for signs, piece in (
        (view.notes, ("▲", styled(color=palette.text))),
        (view.marks, ("◆", styled(color=palette.warning))),
        ((view.position_s,), ("█", styled(color=palette.accent))),
    ):
        for t_s in signs:
            cells[_cell(t_s, view, width)] = piece
    return [("".join(sign for sign, _ in run), style) for style, run in groupby(cells, lambda cell: cell[1])]


def _cell(t_s: float, view: TransportView, width: int) -> int:
    ratio = t_s / view.duration_s if view.duration_s > 0 else 0.0
    return min(max(round(ratio * (width - 1)), 0), width - 1)


GRACE_S = 1.5
"""Seconds after a landmark within which "previous" jumps to the landmark before, while playing."""


class Transport(Actions):
    """The actions on a recorded feed."""

    keys = "replay"

    def __init__(self, feed: RecordedFeed) -> None:
        self._feed, self._recording, self._playback = feed, feed.recording, feed.playback
        self._bar = TransportBar(self._drag)
        self._landmarks: dict[Landmark, Sequence[float]] = {"level": (), "mark": (), "note": ()}
        self._landmarks_of_s = -1.0

    @property
    def performs(self) -> Performs:
        """What the keys of this screen do."""
        return {
            "play": self._play,
            "back": partial(self._skip, -10.0),
            "forward": partial(self._skip, 10.0),
            "minute_back": partial(self._skip, -60.0),
            "minute_forward": partial(self._skip, 60.0),
            "second_back": partial(self._step, -1),
            "second_forward": partial(self._step, 1),
            "slower": partial(self._change_speed, -1),
            "faster": partial(self._change_speed, 1),
            "next_level": partial(self._jump, "level", 1),
            "previous_level": partial(self._jump, "level", -1),
            "next_mark": partial(self._jump, "mark", 1),
            "previous_mark": partial(self._jump, "mark", -1),
            "next_note": partial(self._jump, "note", 1),
            "previous_note": partial(self._jump, "note", -1),
            "go": self._ask_time,
            "beginning": partial(self._go_to_edge, -1),
            "end": partial(self._go_to_edge, 1),
        }

    @property
    def key_words(self) -> Mapping[str, str]:
        """The word for what the space key does next: play or pause."""
        return {"play": "pause" if self._playback.playing else "play"}

    # -- the bar

    def widgets(self) -> Sequence[Widget]:
        """The bar."""
        return (self._bar,)

    def draw(self, palette: Palette) -> None:
        """Draw the bar with the present position."""
        recording, playback, progress = self._recording, self._playback, self._feed.progress
        if recording.duration_s != self._landmarks_of_s:
            self._landmarks_of_s = recording.duration_s
            self._landmarks = {kind: recording.landmarks(kind) for kind in self._landmarks}
        view = TransportView(
            position_s=playback.position_s,
            duration_s=recording.duration_s,
            speed=playback.speed,
            playing=playback.playing,
            messages=(progress,) if progress else (),
            levels=self._landmarks["level"],
            marks=self._landmarks["mark"],
            notes=self._landmarks["note"],
        )
        self._bar.show(view, palette)

    def _drag(self, ratio: float) -> None:
        self.seek(ratio * self._recording.duration_s)

    # -- actions

    def seek(self, t_s: float) -> None:
        """Go to a session time, not beyond the ends."""
        self._playback.seek(t_s, self._recording.duration_s)
        self._moved()

    def _moved(self) -> None:
        self._screen.forget_message()
        self._feed.moved()
        self._screen.show_moment()  # this draws the status area too: drawing it before as well took 6% of a seek

    def _play(self) -> None:
        self._playback.toggle(self._recording.duration_s)
        self._moved()

    def _change_speed(self, direction: int) -> None:
        changed = self._playback.change_speed(direction)
        ends = "" if changed else f", the {'fastest' if direction > 0 else 'slowest'}"
        self._screen.show_message(f"speed {self._playback.speed:g}x{ends}")

    def _skip(self, seconds: float) -> None:
        self.seek(self._playback.position_s + seconds)

    def _step(self, direction: int) -> None:
        self._playback.pause()
        found = self._recording.next_tick(self._playback.position_s, direction)
        if found is None:
            self._screen.show_message("the end" if direction > 0 else "the beginning")
        else:
            self.seek(found)

    def _go_to_edge(self, direction: int) -> None:
        self.seek(self._recording.duration_s if direction > 0 else 0.0)

    def _jump(self, kind: Landmark, direction: int) -> None:
        here_s = self._playback.position_s
        before_s = here_s - (GRACE_S * self._playback.speed if self._playback.playing else 0.0)
        times = self._recording.landmarks(kind)
        found = [t_s for t_s in times if (t_s > here_s if direction > 0 else t_s < before_s)]
        if not found:
            return self._screen.show_message(f"no {kind} {'after' if direction > 0 else 'before'} this moment")
        aim_s = found[0] if direction > 0 else found[-1]
        self.seek(aim_s)
        self._screen.show_message(f"{kind} {times.index(aim_s) + 1} of {len(times)}")

    def _ask_time(self) -> None:
        length = wording.session_time(self._recording.duration_s)
        hint = f"1:23:45, 90s, 1h30m, 50%, start, end, or relative: +5m, -30s; the session's length is {length}"
        self._screen.ask(Ask("Go to which time?", hint, self._wrong), self._go_to)

    def _wrong(self, answer: str) -> str | None:
        try:
            parse_position(answer, self._playback.position_s, self._recording.duration_s)
        except ValueError:
            return WANTED
        return None

    def _go_to(self, answer: str | None) -> None:
        if answer is not None:
            self.seek(parse_position(answer, self._playback.position_s, self._recording.duration_s))
