"""The source of the explorer screen's timeline: one protocol for all sessions that it can show.

- A live run is a `LiveFeed` over the run's events.
- A saved session is a `RecordedFeed`: replayed, or followed while another process records it.
- A run of another process is an `AttachedFeed`: its log is followed, and its controls are known over a connection.

A feed determines the order of events and the pace of time. It must not know panes, keys or Textual.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol

from ..model.events import Log, Sample
from ..model.sources import Clock, EventSource, Recording
from ..model.timeline import KeptLatencies, Timeline
from .render.text import span

# -- playback ------------------------------------------------------------------------------------------------------------------
# The position and the speed of a replay. Pure: elapsed seconds are passed in; must not know events or the screen.


SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
_PARTS = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
WANTED = "expected a time such as 1:23:45, 12:30, 90s, 1h30m, 50%, or relative: +5m, -30s"


class Playback:
    """A position in seconds of the session. It pauses at the end; if it `follows`, it moves with the end."""

    def __init__(self, speed: float = 1.0, *, follows: bool = False) -> None:
        self.position_s = 0.0
        self.speed = speed
        self.playing = True
        self.follows = follows
        self.at_end = follows
        """Whether the position stays at the end while the end moves."""

    def advance(self, passed_s: float, duration_s: float, *, more: bool = False) -> None:
        """Advance by `passed_s` seconds of wall time. `more`: the log is not completely read yet, so that reaching its last
        moment does not end the replay.
        """
        if self.at_end:
            self.position_s = duration_s
        elif self.playing:
            self.position_s = min(self.position_s + passed_s * self.speed, duration_s)
            if self.position_s >= duration_s and not more:
                self.at_end = self.follows
                self.playing = self.follows

    def toggle(self, duration_s: float) -> None:
        """Play or pause; at the end of a complete session, play from the beginning."""
        self.playing = not self.playing
        self.at_end = False
        if self.playing and self.position_s >= duration_s:
            self.at_end = self.follows
            self.position_s = self.position_s if self.follows else 0.0

    def seek(self, t_s: float, duration_s: float) -> None:
        """Jump to a session time. A playing replay continues to play, a paused one stays paused."""
        self.position_s = min(max(t_s, 0.0), duration_s)
        self.at_end = self.follows and self.playing and t_s >= duration_s

    def pause(self) -> None:
        """Pause."""
        self.playing = self.at_end = False

    def change_speed(self, direction: int) -> bool:
        """Change to the next slower (-1) or faster (1) speed. False if there is none."""
        speeds = [speed for speed in SPEEDS if (speed > self.speed if direction > 0 else speed < self.speed)]
        if speeds:
            self.speed = speeds[0] if direction > 0 else speeds[-1]
        return bool(speeds)


def parse_position(text: str, now_s: float, duration_s: float) -> float:
    """The session time of a typed answer, clamped to the session. Raises ValueError with what was expected."""
    answer = text.strip().lower().replace(" ", "")
    sign, rest = (answer[:1], answer[1:]) if answer[:1] in ("+", "-") else ("", answer)
    seconds = _seconds(rest, duration_s)
    meant_s = now_s + seconds if sign == "+" else now_s - seconds if sign else seconds
    return min(max(meant_s, 0.0), duration_s)


def _seconds(text: str, duration_s: float) -> float:
    if text in ("start", "end"):
        return 0.0 if text == "start" else duration_s
    if text.endswith("%") and re.fullmatch(r"\d+(\.\d+)?", text[:-1]):
        return float(text[:-1]) / 100 * duration_s
    found = _CLOCK.fullmatch(text) or _PARTS.fullmatch(text)
    if not text.isascii() or found is None or not any(found.groups()):
        raise ValueError(WANTED)
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


class Change(Enum):
    """How much of the screen must be redrawn."""

    NOTHING = "nothing"
    STATUS = "the status area, and the widgets below the panes"
    ENTRIES = "the status area, and the panes that list events"
    PANES = "the status area and all panes"


class Feed(Protocol):
    """Provides a session's timeline. The app sets the pace: it calls `take`; events are never pushed."""

    @property
    def timeline(self) -> Timeline:
        """The timeline as of the last `take`."""

    @property
    def pause_s(self) -> float | None:
        """Seconds from one `take` to the next; None: the next one follows a call of `wake`."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin. `wake` may be called from any thread whenever `take` has something new; it does not block."""

    def take(self) -> Change:
        """Bring the timeline up to date, in about 50 ms at most. Raises SessionError if the session cannot be read any more."""

    def notices(self) -> Sequence[str]:
        """New notices about the session, one line each; each is returned once."""


# -- live feed -----------------------------------------------------------------------------------------------------------------


class LiveFeed:
    """Folds the events of `source`. The caller closes the source."""

    pause_s = None
    """The next `take` follows a call of `wake`."""

    def __init__(self, source: EventSource, timeline: Timeline | None = None) -> None:
        """`timeline`: an empty one; None: with columns of its own."""
        self.timeline = Timeline() if timeline is None else timeline
        self.timeline.latency_seconds = self._latencies = KeptLatencies()
        self._source = source
        self._notices: list[str] = []

    def start(self, wake: Callable[[], None]) -> None:
        """Start the source, which calls `wake`."""
        self._source.start(wake)

    def take(self) -> Change:
        """Fold the new events. Charts change once a second, with a sample; commands, notes and output are shown at once."""
        events = self._source.take()
        for event in events:
            self.timeline.apply(event)
            if isinstance(event, Sample):
                self._latencies.add(event)
            elif isinstance(event, Log) and event.warns and self.timeline.is_before_load(event):
                self._notices.append(event.text)
        if any(isinstance(event, Sample) for event in events):
            return Change.PANES
        return Change.ENTRIES if events else Change.NOTHING

    def notices(self) -> Sequence[str]:
        """What the run warns of as it starts; what happens later is among its events."""
        notices, self._notices = self._notices, []
        return notices


# -- recorded feed -------------------------------------------------------------------------------------------------------------
# The log is read in parts, so that the screen answers keys meanwhile. After that, between frames, snapshots are prepared that
# make jumps quick, and a followed session is checked for new lines. `Playback` has the position; the recording makes the timeline
# at that time.


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
    """`start_at`: the time to begin at, as text for `parse_position`; None: the beginning, or the end of a followed
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


# -- attached feed -------------------------------------------------------------------------------------------------------------


LOOK_ATTACHED_S = 0.2
"""Seconds between checks for new lines: commands of other screens are in the log at once, samples once a second."""


class Link(Protocol):
    """The connection to the run."""

    def poll(self) -> bool:
        """Take the messages that have arrived. Returns whether the state has changed."""

    def notices(self) -> list[str]:
        """Messages of the run for the user; each is returned once."""


class AttachedFeed(RecordedFeed):
    """Shows the end of `recording` while it grows. The caller closes the recording and the link."""

    def __init__(self, recording: Recording, link: Link) -> None:
        super().__init__(recording, Playback(follows=True), look_s=LOOK_ATTACHED_S)
        self._link = link

    def take(self) -> Change:
        """Take in new lines of the log and new states of the controls."""
        is_different = self._link.poll()
        change = super().take()
        return Change.STATUS if is_different and change is Change.NOTHING else change

    def notices(self) -> Sequence[str]:
        """Notices on lines of the log that were left out, and messages of the run."""
        return [*super().notices(), *self._link.notices()]
