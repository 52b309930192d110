"""The terminal of a command: lines and errors, signals, questions, and whether it can show a screen."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import posix_spawn, waitpid  # before gevent patches them: theirs wait for a hub
from typing import IO, TYPE_CHECKING

import click

from ..errors import InputError
from ..session import redact

if TYPE_CHECKING:
    from ..tui.terminal import Terminal


_SPACE, _HYPHEN = "\N{NO-BREAK SPACE}", "\N{NON-BREAKING HYPHEN}"


def print_error(error: str, output: tuple[str, ...] = ()) -> None:
    """Print an error without secrets, which a failing program may have printed. Never raises: the terminal may be gone."""
    print_line(f"capexplorer: {printable(redact.without_known(error))}")
    for line in output:
        print_line(f"  | {printable(redact.text(line))}")


def print_line(text: str) -> None:
    """One line on stderr."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def with_whole_commands(text: str) -> str:
    """The text with spaces and hyphens within backquotes at which no line is broken; `plain_characters` restores them."""
    return re.sub(r"`[^`]+`", lambda command: re.sub(r"\s+", _SPACE, command.group()).replace("-", _HYPHEN), text)


def plain_characters(text: str) -> str:
    """The wrapped text, whose commands can be copied to a shell."""
    return text.replace(_SPACE, " ").replace(_HYPHEN, "-")


def printable(text: str) -> str:
    """Makes foreign text safe for a terminal: control characters are shown as signs."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 0x100 else "\N{REPLACEMENT CHARACTER}" for c in text)


# -- signals -------------------------------------------------------------------------------------------------------------------
# The signals that end a command, sent by a person, a scheduler or a closed terminal. (What SIGHUP ends: `on_screen.py`.)
#
# A signal that is ignored at the start stays ignored, as shells and nohup intend: SIGINT and SIGQUIT of a script's job in the
# background, SIGHUP below nohup. SIGTERM ends such a run. The target gets default signals in any case.


SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))


@contextlib.contextmanager
def signals_to(act: Callable[[str], None]) -> Iterator[None]:
    """Within the context these signals call `act(name)`, except ignored ones."""
    before = {}
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, lambda got, _: act(signal.Signals(got).name))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# -- asking --------------------------------------------------------------------------------------------------------------------
# Questions on the terminal, one line each. Answers are read by readline: a terminal's own lines end at 4,096 characters.


def ask(question: str, default: str = "") -> str:
    """The answer, `default` for an empty one. It continues in the next line after a backslash, and within the quotes of a curl
    command, so that a command may be pasted as it is. Raises click.Abort: Ctrl+C, or the end of the input.
    """
    with suppress(ImportError):
        import readline  # noqa: F401 - input() uses it once it is imported

    try:
        answer = input(f"{question} [{default}]> " if default else f"{question}> ")
        while _is_incomplete(answer):
            answer = f"{answer}\n{input('... ')}"
    except (KeyboardInterrupt, EOFError):
        click.echo()
        raise click.Abort from None
    return answer.strip() or default


def confirm(question: str, flag: str) -> None:
    """Go on after a yes. Raises click.Abort: a no; InputError, which names the flag to add, without a terminal to ask on."""
    if not os.isatty(0):
        raise InputError(f"there is no terminal to ask on: {question} Add {flag}")
    click.confirm(question, abort=True, err=True)


def _is_incomplete(answer: str) -> bool:
    if answer.endswith("\\"):
        return True
    try:
        shlex.split(answer)
    except ValueError:
        return answer.lstrip().startswith("curl")
    return False


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
