"""A target's raw output as lines, bounded in rate and in memory for any output.

Pure: no descriptors, no clock. Lines are data from the target and are escaped where they are shown, not here.
"""

from __future__ import annotations

from collections import deque

LINES_PER_S = 200
"""More than a person reads; a traceback of 200 lines still comes through whole."""

LINE_BYTES = 2000
"""Longer lines are cut here."""


class OutputLines:
    """Turns chunks of output into at most `LINES_PER_S` lines per second. If there are more, the last ones are kept and the
    others counted.
    """

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=LINES_PER_S)
        self._partial = b""
        self._dropped = 0
        self._window_started_s = float("-inf")
        self._taken_in_window = 0

    def feed(self, chunk: bytes) -> None:
        """Add output as it was read, in chunks of any length."""
        *lines, partial = (self._partial + chunk).split(b"\n")
        self._partial = partial[: LINE_BYTES + 1]  # one more byte remembers that it was too long
        self._dropped += max(0, len(self._lines) + len(lines) - LINES_PER_S)
        self._lines.extend(line[: LINE_BYTES + 1] for line in lines[-LINES_PER_S:])

    @property
    def has_lines(self) -> bool:
        """Whether there are lines to take, now or within a second."""
        return bool(self._lines)

    def take(self, now_s: float) -> tuple[list[str], int] | None:
        """(all waiting lines, number of lines dropped before them); None if there are none, or this second's lines are used
        up."""
        if now_s - self._window_started_s >= 1.0:
            self._window_started_s, self._taken_in_window = now_s, 0
        if not self._lines or self._taken_in_window + len(self._lines) > LINES_PER_S:
            return None
        self._taken_in_window += len(self._lines)
        return self._hand_over()

    def finish(self) -> tuple[list[str], int]:
        """The remaining lines at the end of output, including a last line without its newline."""
        if self._partial:
            self.feed(b"\n")
        return self._hand_over()

    def _hand_over(self) -> tuple[list[str], int]:
        lines, dropped = [_text(line) for line in self._lines], self._dropped
        self._lines.clear()
        self._dropped = 0
        return lines, dropped


def _text(line: bytes) -> str:
    text = line[:LINE_BYTES].decode("utf-8", errors="replace").rstrip("\r")
    return text + " [cut]" if len(line) > LINE_BYTES else text
