"""The position and the speed of a replay. Pure: elapsed seconds are passed in; must not know events or the screen."""

from __future__ import annotations

import re

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
