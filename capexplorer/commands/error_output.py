"""Prints an error on stderr: one line, followed by the last output lines, if any."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Callable, Iterator

import click

from ..session import redact

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
