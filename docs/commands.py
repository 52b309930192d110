"""docs/commands.md: every command with its options, from the definitions of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from capexplorer import cli
from docs.man import EXIT_STATUS
from docs.markdown import table

HEAD = """\
# Commands and options

Made from the command line. `capexplorer COMMAND --help` shows the same with its explanations, `man capexplorer` all of it (from
a checkout `man -l docs/capexplorer.1`). SESSION is a path, any unique part of an id or a title, `last` or `last-1`; `sample`
and more samples come with capexplorer. Without a command the picker lists profiles and saved sessions.
"""


def page() -> str:
    """The whole page."""
    context = click.Context(cli.group, info_name="capexplorer", **cli.group.context_settings)
    sections = (_section(context, name) for name in cli.group.list_commands(context))
    status = table(("exit code", "means"), EXIT_STATUS)
    return "\n".join([HEAD, status, "", "For every command:", "", *_options(context), "", *sections])


def _section(parent: click.Context, name: str) -> str:
    command = parent.command.get_command(parent, name)  # type: ignore[attr-defined]
    context = click.Context(command, info_name=name, parent=parent)
    lines = [f"## {' '.join([name, *command.collect_usage_pieces(context)])}", "", _first_paragraph(command), ""]
    lines += _options(context)
    for part in command.commands.values() if isinstance(command, click.Group) else ():
        part_context = click.Context(part, info_name=part.name, parent=context)
        lines += [
            "",
            f"`{' '.join([name, part.name or '', *part.collect_usage_pieces(part_context)])}`: {_first_paragraph(part)}",
            "",
        ]
        lines += _options(part_context)
    return "\n".join([*lines, ""])


def _first_paragraph(command: click.Command) -> str:
    return " ".join(re.split(r"\n[ \t]*\n", (command.help or "").strip())[0].split())


def _options(context: click.Context) -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1] and "--help" not in record[0]:
            yield f"- `{record[0].replace(' INTEGER RANGE', ' N')}`: {' '.join(record[1].split())}"
