"""Moves through a recording: play, seek, step and jump, and the transport bar, which shows the position and can be dragged.

Time, keys and the mouse all move the position of the feed's playback; the feed then shows that time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from textual.widget import Widget

from ... import wording
from ...model.sources import Landmark
from ..dialogs.ask import Ask
from ..display_options import Palette
from ..feed import WANTED, RecordedFeed, parse_position
from ..keybar import Performs
from ..keys import ScreenName
from ..panes.status_view import View, watched
from ..panes.transport_bar import TransportBar, TransportView
from .protocols import ScreenAccess

GRACE_S = 1.5
"""Seconds after a landmark within which "previous" jumps to the landmark before, while playing."""


class Transport:
    """The actions on a recorded feed."""

    keys: ScreenName = "replay"
    quit_question = None

    def __init__(self, feed: RecordedFeed) -> None:
        self._feed, self._recording, self._playback = feed, feed.recording, feed.playback
        self._bar = TransportBar(self._drag, id="transport")
        self._landmarks: dict[Landmark, Sequence[float]] = {"level": (), "mark": (), "note": ()}
        self._landmarks_of_s = -1.0

    def attach(self, screen: ScreenAccess) -> None:
        """Set the screen whose time is moved."""
        self._screen = screen

    @property
    def performs(self) -> Performs:
        """What the keys of this screen do."""
        return {
            "play": self.action_play,
            "back": partial(self.action_skip, -10.0),
            "forward": partial(self.action_skip, 10.0),
            "minute_back": partial(self.action_skip, -60.0),
            "minute_forward": partial(self.action_skip, 60.0),
            "second_back": partial(self.action_step, -1),
            "second_forward": partial(self.action_step, 1),
            "slower": partial(self.action_speed, -1),
            "faster": partial(self.action_speed, 1),
            "next_level": partial(self.action_jump, "level", 1),
            "previous_level": partial(self.action_jump, "level", -1),
            "next_mark": partial(self.action_jump, "mark", 1),
            "previous_mark": partial(self.action_jump, "mark", -1),
            "next_note": partial(self.action_jump, "note", 1),
            "previous_note": partial(self.action_jump, "note", -1),
            "go": self.action_go,
            "beginning": partial(self.action_edge, -1),
            "end": partial(self.action_edge, 1),
        }

    @property
    def view(self) -> View:
        """Users and driver by the recorded events."""
        return watched(self._screen.timeline)

    @property
    def key_words(self) -> Mapping[str, str]:
        """The word for what the space key does next: play or pause."""
        return {"play": "pause" if self._playback.playing else "play"}

    def quit(self) -> None:
        """Do nothing: quitting ends no run."""

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
            at_end=playback.at_end,
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

    def action_play(self) -> None:
        """Play or pause."""
        self._playback.toggle(self._recording.duration_s)
        self._moved()

    def action_speed(self, direction: int) -> None:
        """Play slower (-1) or faster (1)."""
        changed = self._playback.change_speed(direction)
        ends = "" if changed else f", the {'fastest' if direction > 0 else 'slowest'}"
        self._screen.show_message(f"speed {self._playback.speed:g}x{ends}")

    def action_skip(self, seconds: float) -> None:
        """Go forward or back by this many seconds."""
        self.seek(self._playback.position_s + seconds)

    def action_step(self, direction: int) -> None:
        """Pause, and go to the next or the previous second."""
        self._playback.pause()
        found = self._recording.next_tick(self._playback.position_s, direction)
        if found is None:
            self._screen.show_message("the end" if direction > 0 else "the beginning")
        else:
            self.seek(found)

    def action_edge(self, direction: int) -> None:
        """Go to the beginning (-1) or to the end (1)."""
        self.seek(self._recording.duration_s if direction > 0 else 0.0)

    def action_jump(self, kind: Landmark, direction: int) -> None:
        """Go to the next or the previous level, mark or note."""
        here_s = self._playback.position_s
        before_s = here_s - (GRACE_S * self._playback.speed if self._playback.playing else 0.0)
        times = self._recording.landmarks(kind)
        found = [t_s for t_s in times if (t_s > here_s if direction > 0 else t_s < before_s)]
        if not found:
            return self._screen.show_message(f"no {kind} {'after' if direction > 0 else 'before'} this moment")
        aim_s = found[0] if direction > 0 else found[-1]
        self.seek(aim_s)
        self._screen.show_message(f"{kind} {times.index(aim_s) + 1} of {len(times)}")

    def action_go(self) -> None:
        """Ask for a session time and go to it."""
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
