"""docs/commands.md: the commands, from the definitions of the command line."""

from __future__ import annotations

from collections.abc import Iterator

import click

from capexplorer import cli
from docs.man import EXIT_STATUS
from lab.kit.tables import table

HEAD = """\
# Commands

`capexplorer COMMAND --help` explains a command with all of its options, `man capexplorer` all commands; after `uv tool install`
it is `man $(uv tool dir)/capexplorer/share/man/man1/capexplorer.1`, in a checkout `man -l docs/capexplorer.1`. SESSION is a
path, any unique part of an id or a title, `last` or `last-1`; `sample` and more samples come with capexplorer. Without a
command the picker lists profiles and saved sessions, first those whose profile this folder has. `--sessions-dir DIR` chooses
the sessions' folder.
"""


def page() -> str:
    """The whole page."""
    context = click.Context(cli.group, info_name="capexplorer", **cli.group.context_settings)
    rows = [row for name in cli.group.list_commands(context) for row in _rows(context, name)]
    commands = table(("command", "does"), rows)
    return "\n".join([HEAD, commands, "", table(("exit code", "means"), EXIT_STATUS), ""])


def _rows(parent: click.Context, name: str) -> Iterator[tuple[str, str]]:
    """A command, and the commands below it."""
    command = cli.group.get_command(parent, name)
    assert command is not None, f"{name} is listed, but cannot be loaded"
    context = click.Context(command, info_name=name, parent=parent)
    yield _row(context, name, cli.COMMANDS[name])
    for part in command.commands.values() if isinstance(command, click.Group) else ():
        part_context = click.Context(part, info_name=part.name, parent=context)
        yield _row(part_context, f"{name} {part.name}", part.get_short_help_str(200))


def _row(context: click.Context, name: str, does: str) -> tuple[str, str]:
    usage = [piece for piece in context.command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    return f"`{' '.join([name, *usage])}`", does
