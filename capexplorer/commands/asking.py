"""Questions on the terminal, one line each. Answers are read by readline: a terminal's own lines end at 4,096 characters."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress

import click

from ..errors import InputError


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
