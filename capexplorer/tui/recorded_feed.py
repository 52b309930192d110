"""The feed of a saved session: replayed, or followed while another process records it.

The log is read in parts, so that the screen answers keys meanwhile. After that, between frames, snapshots are prepared that
make jumps quick, and a followed session is checked for new lines. `Playback` has the position; the recording makes the timeline
at that time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence

from ..model.recording import Recording
from ..model.time_source import Clock
from .feed import Change
from .playback import Playback, parse_position
from .render.text import span

FRAME_S = 0.2
"""Seconds between two frames."""

READING_FRAME_S = 1.0
"""Seconds between two frames while a followed session is still being read: drawing more often would take most of the time."""

READ_S = 0.05
"""Seconds of reading between two checks for keys."""

PREPARE_S = 0.01
"""Seconds of preparing jumps between two checks for keys. After a session of a day this takes about 4 s of CPU."""

LOOK_S = 0.5
"""Seconds between checks for new lines of a session that is being recorded."""

SILENT_S = 5.0
"""Seconds without a new line after which the screen reports that there are no new events."""


class RecordedFeed:
    """`start_at`: the time to begin at, as text for `playback.parse_position`; None: the beginning, or the end of a followed
    session.

    `whole`: begin paused at the end, so that charts show the whole session; playing then begins at the beginning.
    """

    def __init__(
        self,
        recording: Recording,
        playback: Playback,
        *,
        start_at: str | None = None,
        whole: bool = False,
        look_s: float = LOOK_S,
        monotonic: Clock = time.monotonic,
    ) -> None:
        self.recording, self.playback = recording, playback
        self.timeline = recording.at(0.0)
        self._start_at, self._look_s, self._monotonic = "end" if whole else start_at, look_s, monotonic
        if whole:
            playback.pause()
        self._reading = self._preparing = True
        self._moved = False
        self._notices: list[str] = []
        self._advanced_at = self._looked_at = self._grew_at = monotonic()

    def start(self, wake: Callable[[], None]) -> None:
        """Begin to read the log."""
        wake()

    @property
    def pause_s(self) -> float:
        """Seconds to the next `take`; 0 while the log is being read, since keys are answered between its parts."""
        if self._reading:
            return 0.0
        return PREPARE_S if self._preparing else FRAME_S

    def take(self) -> Change:
        """Show the new time if the position was moved; else read or prepare a part, and advance time when a frame is due."""
        if self._moved:
            return self._show()
        if self._reading:
            self._read_in()
        elif self._preparing:
            self._preparing = self.recording.prepare(PREPARE_S)
        frame_s = READING_FRAME_S if self._reading and self.playback.at_end else FRAME_S
        if self._moved or self._monotonic() - self._advanced_at >= frame_s:
            return self._frame()
        return Change.STATUS if self._reading else Change.NOTHING

    def moved(self) -> None:
        """Note that the playback's position or state was changed, which the next `take` shows."""
        self._moved = True

    def notices(self) -> Sequence[str]:
        """Notices on lines of the log that were left out; each is returned once."""
        notices, self._notices = self._notices, []
        return notices

    @property
    def progress(self) -> str:
        """The state of reading and following in a few words: `reading 40%`, `following`; empty for a complete session."""
        recording = self.recording
        if self._reading:
            return f"reading {recording.read_ratio:.0%}"
        if not recording.follows:
            return "" if recording.ended else "incomplete"
        if recording.ended is not None:
            return "recording ended"
        silent_s = self._monotonic() - self._grew_at
        if silent_s >= SILENT_S:
            return f"no new events for {span(silent_s)}"
        return "following" if self.playback.at_end else "recording continues"

    # -- reading

    def _read_in(self) -> None:
        self._reading = self._read()
        if self._reading:
            return
        gc.freeze()  # the events stay in memory; a collection that traverses them takes longer than a seek
        if self._start_at is not None:
            self.playback.seek(parse_position(self._start_at, 0.0, self.recording.duration_s), self.recording.duration_s)
        self._notices += self.recording.notes[:1]
        self._moved = True

    def _read(self) -> bool:
        grew = self.recording.read_on(READ_S)
        if grew:
            self._grew_at = self._monotonic()
        return grew

    # -- time

    def _frame(self) -> Change:
        now = self._monotonic()
        passed_s, self._advanced_at = now - self._advanced_at, now
        if self.recording.follows and not self._reading and now - self._looked_at >= self._look_s:
            self._looked_at = now
            self._read()
        self.playback.advance(passed_s, self.recording.duration_s, more=self._reading)
        return self._show()

    def _show(self) -> Change:
        """Take the timeline at the position. Panes are redrawn only if it differs from the one that they show."""
        self._moved = False
        now = self.recording.at(self.playback.position_s)
        if now is self.timeline:
            return Change.STATUS
        self.timeline = now
        return Change.PANES
