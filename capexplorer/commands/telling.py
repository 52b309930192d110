"""How an error is told on stderr: one line, and under it the last output lines, where there are some."""

from __future__ import annotations

import contextlib

import click

from ..session import redact


def tell(error: str, output: tuple[str, ...] = ()) -> None:
    """`output` without its secrets, which a program may print as it dies. Never raises: the terminal may be gone."""
    say(f"capexplorer: {printable(error)}")
    for line in output:
        say(f"  | {printable(redact.text(line))}")


def say(text: str) -> None:
    """One line on stderr."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def printable(text: str) -> str:
    """Text from elsewhere for a terminal: control characters are shown, not obeyed."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 0x100 else "\N{REPLACEMENT CHARACTER}" for c in text)
