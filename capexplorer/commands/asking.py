"""Questions on the terminal, one line each. Answers come from readline, since a terminal's own lines end at 4,096 characters."""

from __future__ import annotations

import shlex
from contextlib import suppress

import click


def ask(question: str, default: str = "") -> str:
    """The answer, `default` for an empty one. It goes on in the next line after a backslash, and within the quotes of a curl
    command, so that a command may be pasted as it is. Raises click.Abort: Ctrl+C, or the end of the input.
    """
    with suppress(ImportError):
        import readline  # noqa: F401 - input() uses it once it is imported

    try:
        answer = input(f"{question} [{default}]> " if default else f"{question}> ")
        while _goes_on(answer):
            answer = f"{answer}\n{input('... ')}"
    except (KeyboardInterrupt, EOFError):
        click.echo()
        raise click.Abort from None
    return answer.strip() or default


def _goes_on(answer: str) -> bool:
    if answer.endswith("\\"):
        return True
    try:
        shlex.split(answer)
    except ValueError:
        return answer.lstrip().startswith("curl")
    return False
