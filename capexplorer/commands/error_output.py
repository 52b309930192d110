"""Prints an error on stderr: one line, followed by the last output lines, if any."""

from __future__ import annotations

import contextlib

import click

from ..session import redact


def print_error(error: str, output: tuple[str, ...] = ()) -> None:
    """Print an error without secrets, which a failing program may have printed. Never raises: the terminal may be gone."""
    print_line(f"capexplorer: {printable(redact.without_known(error))}")
    for line in output:
        print_line(f"  | {printable(redact.text(line))}")


def print_line(text: str) -> None:
    """One line on stderr."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def printable(text: str) -> str:
    """Makes foreign text safe for a terminal: control characters are shown as signs."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 0x100 else "\N{REPLACEMENT CHARACTER}" for c in text)
