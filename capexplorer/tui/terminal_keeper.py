"""The terminal's keeper: a process of its own that gives the terminal back when the app dies without doing so.

SIGKILL, a crash in C, the out-of-memory killer: the app cannot handle them, and the shell would be left with a raw
terminal on the alternate screen. The keeper has descriptors of the terminal and a pipe from the app, and waits for the pipe's
end. It has a session of its own, so that no signal of the terminal or to the app's group reaches it. The standard library only.

argv: the package's folder, descriptors of the terminal for settings and for output.
stdin: JSON lines. First the terminal's settings (`termios.tcgetattr`) before the screen; then one a change: true, the screen is
about to be entered; settings, it is entered, and these are its own; false, it is left.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import sys
import termios
import time
from contextlib import suppress
from typing import Any

_MOUSE_OFF = "".join(f"\x1b[?{mode}l" for mode in (1000, 1002, 1003, 1006, 1015, 1016))

LEAVE = (
    "\x1b\\"  # ends a sequence that was cut short
    "\x1b[?2026l"  # synchronised output off: show what comes
    "\x1b[<u"  # the keyboard protocol's flags, kept for each screen: before it is left
    f"{_MOUSE_OFF}\x1b[?2004l\x1b[?2048l\x1b[?1004l"  # bracketed paste, reports of size and focus
    "\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"  # wrap on, main screen, cursor on, plain
)
"""What a screen that was cut short left undone."""

_SEEN_S = 0.1
"""Seconds between two changes of the window's size, so that the shell notices both."""


def main() -> None:
    """Wait for the app's end; act if it was unexpected."""
    settings, output = map(int, sys.argv[2:4])
    before: list[Any] | None = None
    drawn: list[Any] | bool = False
    for number, line in enumerate(sys.stdin.buffer):
        if number == 0:
            before = json.loads(line)
        else:
            drawn = json.loads(line)
    if drawn is not False:
        _give_back(settings, output, before, drawn)


def _give_back(settings: int, output: int, before: list[Any] | None, drawn: list[Any] | bool) -> None:
    """Settings that are no longer the screen's are those of a shell that was quicker: they stay."""
    with suppress(OSError):
        os.write(output, LEAVE.encode())
    with suppress(OSError, termios.error):
        if drawn is not True and plain(termios.tcgetattr(settings)) != drawn:
            _redraw_prompt(output)
        elif before is not None:
            termios.tcsetattr(settings, termios.TCSANOW, before)


def plain(attributes: list[Any]) -> list[Any]:
    """Settings as JSON has them: control characters are numbers."""
    return [*attributes[:6], [each if isinstance(each, int) else each[0] for each in attributes[6]]]


def _redraw_prompt(output: int) -> None:
    """A prompt written before now is on the screen that was left. Shells draw it again when the window's size changes."""
    size = fcntl.ioctl(output, termios.TIOCGWINSZ, bytes(8))
    lines, *rest = struct.unpack("HHHH", size)
    fcntl.ioctl(output, termios.TIOCSWINSZ, struct.pack("HHHH", lines + 1, *rest))
    time.sleep(_SEEN_S)
    fcntl.ioctl(output, termios.TIOCSWINSZ, size)


if __name__ == "__main__":
    main()
