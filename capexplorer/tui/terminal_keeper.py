"""The terminal keeper: a separate process that restores the terminal if the app ends without doing so.

The app cannot handle SIGKILL, a crash in C or the out-of-memory killer, after which the shell would have a raw terminal on the
alternate screen. The keeper has descriptors of the terminal and a pipe from the app, and waits for the pipe's end. It has a
session of its own, so that signals of the terminal and to the app's process group do not reach it. It uses the standard library
only.

argv: the package's folder, and the descriptors of the terminal for settings and for output. stdin: JSON lines. The first has
the terminal's settings (`termios.tcgetattr`) before the screen was entered. Each further one reports a change: true, the screen
is about to be entered; settings, it was entered and these are its settings; false, it was left.
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
"""Escape sequences that leave a screen which did not leave by itself."""

_SEEN_S = 0.1
"""Seconds between two changes of the window's size, so that the shell notices both."""


def main() -> None:
    """Wait for the app's end, and restore the terminal if the app did not."""
    settings, output = map(int, sys.argv[2:4])
    before: list[Any] | None = None
    drawn: list[Any] | bool = False
    for number, line in enumerate(sys.stdin.buffer):
        if number == 0:
            before = json.loads(line)
        else:
            drawn = json.loads(line)
    if drawn is not False:
        _restore(settings, output, before, drawn)


def _restore(settings: int, output: int, before: list[Any] | None, drawn: list[Any] | bool) -> None:
    """Leave the screen and restore the settings. If they are no longer the screen's, a shell has set them already: they stay."""
    with suppress(OSError):
        os.write(output, LEAVE.encode())
    with suppress(OSError, termios.error):
        if drawn is not True and plain(termios.tcgetattr(settings)) != drawn:
            _redraw_prompt(output)
        elif before is not None:
            termios.tcsetattr(settings, termios.TCSANOW, before)


def plain(attributes: list[Any]) -> list[Any]:
    """Settings in a form that JSON can represent: control characters as numbers."""
    return [*attributes[:6], [each if isinstance(each, int) else each[0] for each in attributes[6]]]


def _redraw_prompt(output: int) -> None:
    """Let the shell draw its prompt again, which is on the screen that was left: shells do so when the window's size changes."""
    size = fcntl.ioctl(output, termios.TIOCGWINSZ, bytes(8))
    lines, *rest = struct.unpack("HHHH", size)
    fcntl.ioctl(output, termios.TIOCSWINSZ, struct.pack("HHHH", lines + 1, *rest))
    time.sleep(_SEEN_S)
    fcntl.ioctl(output, termios.TIOCSWINSZ, size)


if __name__ == "__main__":
    main()
