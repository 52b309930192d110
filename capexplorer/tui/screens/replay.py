"""The live screen over a recording: the same panes at any moment of it, and a transport bar.

Whatever moves the position (time, a key, the mouse) ends in `_show_moment`; a moment is a timeline like any other.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from ... import wording
from ...errors import SessionError
from ...model.recording import Landmark, Recording
from ...model.stream import Clock
from ..keybar import bindings, key_bar
from ..keys import ScreenName
from ..panes.transport import Sought, TransportBar, TransportView
from ..playback import WANTED, Playback, moment
from ..render.text import span
from .ask import Ask
from .live import LiveScreen

FRAME_S = 0.2
"""Between redraws while it plays."""

READ_S = 0.05
"""Reading in goes on for so long between keys."""

PREPARE_S = 0.01
"""What makes jumps quick is got ready in steps of this: half of the time, for about 2 s after a day was read in."""

LOOK_S = 0.5
"""Between looks for new lines of a session that is being recorded."""

SILENT_S = 5.0
"""Without a new line for so long, the screen says so."""

GRACE_S = 1.5
"""While it plays, "previous" pressed so soon after a landmark means the one before."""


class ReplayScreen(LiveScreen, inherit_bindings=False):
    """`failed` is told when the recording cannot be read any more."""

    NAME: ClassVar[ScreenName] = "replay"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("replay")]

    def __init__(self, recording: Recording, playback: Playback, *, monotonic: Clock, start: str | None = None) -> None:
        super().__init__(recording.at(0.0), None)
        self.recording, self.playback = recording, playback
        self.transport = TransportBar(id="transport")
        self.failed: Callable[[SessionError], None] = lambda error: None
        self._start = start
        self._reading = True
        self._monotonic = monotonic
        self._advanced_at = self._looked_at = self._grew_at = monotonic()
        self._landmarks: dict[Landmark, Sequence[float]] = {"level": (), "mark": (), "note": ()}
        self._landmarks_of_s = -1.0

    # -- layout

    def compose(self) -> ComposeResult:
        """The live screen, and the bar below its panes."""
        yield from super().compose()
        yield self.transport

    def on_mount(self) -> None:
        """Read the recording in, and begin to play."""
        self.run_worker(self._read_in())
        self.set_interval(FRAME_S, self.frame)

    def key_bar(self, width: int) -> str:
        """The line at the bottom."""
        return key_bar(self.NAME, width, play="pause" if self.playback.playing else "play")

    def status_changed(self) -> None:
        """Status, keys, bar."""
        super().status_changed()
        if self.is_mounted:
            self.transport.show(self._transport_view(), self.palette)

    # -- time

    async def _read_in(self) -> None:
        """All that is there, a part at a time between keys and redraws."""
        while self._read(READ_S):
            self.status_changed()
            await asyncio.sleep(0)
        self._reading = False
        gc.freeze()  # what was read stays; a collection that walks it costs more than a seek
        if self._start is not None:
            self.seek(moment(self._start, 0.0, self.recording.duration_s))
        for note in self.recording.notes[:1]:
            self.say(note, alarm=True)
        self.frame()
        while self._prepare():
            await asyncio.sleep(PREPARE_S)  # in between, keys and redraws

    def _prepare(self) -> bool:
        try:
            return self.recording.prepare(PREPARE_S)
        except SessionError as error:
            self.failed(error)
            return False

    def frame(self) -> None:
        """Time has passed: look for what is new, go on, draw."""
        now = self._monotonic()
        passed_s, self._advanced_at = now - self._advanced_at, now
        if self.recording.follows and not self._reading and now - self._looked_at >= LOOK_S:
            self._looked_at = now
            self._read(READ_S)
        self.playback.advance(passed_s, self.recording.duration_s, more=self._reading)
        self._show_moment()

    def _read(self, for_s: float) -> bool:
        try:
            grew = self.recording.read_on(for_s)
        except SessionError as error:
            self.failed(error)
            return False
        if grew:
            self._grew_at = self._monotonic()
        return grew

    def _show_moment(self) -> None:
        """Panes only when something happened since the moment they show."""
        try:
            now = self.recording.at(self.playback.position_s)
            if now is self.timeline:
                self.status_changed()
            else:
                self.timeline, self.step = now, now.step
                self.draw()
        except SessionError as error:
            self.failed(error)

    def _transport_view(self) -> TransportView:
        recording, playback = self.recording, self.playback
        if recording.duration_s != self._landmarks_of_s:
            self._landmarks_of_s = recording.duration_s
            self._landmarks = {kind: recording.landmarks(kind) for kind in self._landmarks}
        return TransportView(
            position_s=playback.position_s,
            duration_s=recording.duration_s,
            speed=playback.speed,
            playing=playback.playing,
            at_end=playback.at_end,
            said=self._going_on(),
            levels=self._landmarks["level"],
            marks=self._landmarks["mark"],
            notes=self._landmarks["note"],
        )

    def _going_on(self) -> tuple[str, ...]:
        recording = self.recording
        if self._reading:
            return (f"reading {recording.read_ratio:.0%}",)
        if not recording.follows:
            return () if recording.ended else ("incomplete",)
        if recording.ended is not None:
            return ("recording ended",)
        silent_s = self._monotonic() - self._grew_at
        if silent_s >= SILENT_S:
            return (f"nothing new for {span(silent_s)}",)
        return ("following",) if self.playback.at_end else ("recording goes on",)

    # -- actions

    def action_play(self) -> None:
        """Play or pause."""
        self.playback.toggle(self.recording.duration_s)
        self.say()
        self._show_moment()

    def action_speed(self, direction: int) -> None:
        """Slower (-1) or faster (1)."""
        changed = self.playback.change_speed(direction)
        ends = "" if changed else f", the {'fastest' if direction > 0 else 'slowest'}"
        self.say(f"speed {self.playback.speed:g}x{ends}")

    def action_skip(self, seconds: float) -> None:
        """So many seconds on, or back."""
        self.seek(self.playback.position_s + seconds)

    def action_step(self, direction: int) -> None:
        """To the next or the previous second, and stand still."""
        self.playback.pause()
        found = self.recording.next_tick(self.playback.position_s, direction)
        if found is None:
            self.say("the end" if direction > 0 else "the beginning")
        else:
            self.seek(found)

    def action_edge(self, direction: int) -> None:
        """To the beginning (-1) or to the end (1)."""
        self.seek(self.recording.duration_s if direction > 0 else 0.0)

    def action_jump(self, kind: Landmark, direction: int) -> None:
        """To the next or the previous level, mark or note."""
        here_s = self.playback.position_s
        before_s = here_s - (GRACE_S * self.playback.speed if self.playback.playing else 0.0)
        times = self.recording.landmarks(kind)
        found = [t_s for t_s in times if (t_s > here_s if direction > 0 else t_s < before_s)]
        if not found:
            return self.say(f"no {kind} {'after' if direction > 0 else 'before'} this moment")
        aim_s = found[0] if direction > 0 else found[-1]
        self.seek(aim_s)
        self.say(f"{kind} {times.index(aim_s) + 1} of {len(times)}")

    def action_go(self) -> None:
        """Ask for a moment."""
        length = wording.session_time(self.recording.duration_s)
        hint = f"1:23:45, 90s, 1h30m, 50%, start, end, or from here +5m, -30s; the session has {length}"
        self.app.push_screen(Ask("Go to which time?", hint, self._wrong), self._go_to)

    def _wrong(self, answer: str) -> str | None:
        try:
            moment(answer, self.playback.position_s, self.recording.duration_s)
        except ValueError:
            return WANTED
        return None

    def _go_to(self, answer: str | None) -> None:
        if answer is not None:
            self.seek(moment(answer, self.playback.position_s, self.recording.duration_s))

    def on_sought(self, message: Sought) -> None:
        """By the mouse."""
        self.seek(message.ratio * self.recording.duration_s)

    def seek(self, t_s: float) -> None:
        """To a moment, not beyond the ends."""
        self.playback.seek(t_s, self.recording.duration_s)
        self.say()
        self._show_moment()
