"""Whether the terminal can show a screen; checked before one is started."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import posix_spawn, waitpid  # before gevent patches them: theirs wait for a hub
from typing import IO, TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from ..tui.terminal import Terminal

SERVED = "TEXTUAL_DRIVER"
"""Environment variable by which `textual serve` asks for its own driver: a browser is the screen, and no terminal is there."""

DUMB = ("", "dumb", "unknown")
"""Values of TERM without cursor addressing; ssh without a terminal has the first two."""


_STOPPED_S = 0.2
"""Seconds for which the process is stopped: long enough for a shell to notice, too short to end a level (half a second)."""
_STOPS_MOST = 3


def name_of_terminal() -> str:
    """A name that users of the same run are shown: `pts/3`; without a terminal, the process id."""
    for fd in (0, 2):
        try:
            return os.ttyname(fd).removeprefix("/dev/")
        except OSError:
            continue
    return f"process {os.getpid()}"


def require_screen(command: str, instead: str) -> None:
    """Raises InputError, which names what to use instead, where `command` cannot draw its screen."""
    if not (os.isatty(0) and os.isatty(2)):
        raise InputError(f"{command} needs a terminal on stdin and stderr; otherwise use `{instead}`")
    term = os.environ.get("TERM", "")
    if term in DUMB:
        found = f"TERM is {term}" if term else "TERM is not set"
        raise InputError(f"{command} needs a terminal with cursor addressing ({found}); otherwise use `{instead}`")


def give_terminal_back(stream: IO[str] | None) -> bool:
    """Let the shell that started this process use its terminal again while the process goes on, as Ctrl+Z and then `bg` do: the
    process group stops until the shell has noticed, and another process continues it. Returns False if no shell takes the
    terminal: there is none, or it has no job control.
    """
    if stream is None or sys.platform == "win32":
        return False
    for stopping in (signal.SIGTSTP, signal.SIGCONT):
        signal.signal(stopping, signal.SIG_DFL)
    with suppress(OSError):
        for _ in range(_STOPS_MOST):
            continues = ("sh", "-c", f"sleep {_STOPPED_S}; kill -CONT -{os.getpgrp()}")
            helper = posix_spawn("/bin/sh", continues, os.environ, setpgroup=0)
            os.killpg(0, signal.SIGTSTP)  # without effect if no shell could continue the group
            waitpid(helper, 0)
            if os.tcgetpgrp(stream.fileno()) != os.getpgrp():
                return True
    return False


@contextmanager
def terminal_or_browser(command: str, instead: str) -> Iterator[Terminal | None]:
    """The terminal of a screen; None if the screen is in a browser (`textual serve`). Not for runs: they capture standard output,
    by which `textual serve` transfers the screen. Raises InputError as `require_screen`.
    """
    if os.environ.get(SERVED):
        yield None
        return
    require_screen(command, instead)
    from ..tui.terminal import own_terminal

    with own_terminal() as terminal:
        yield terminal
