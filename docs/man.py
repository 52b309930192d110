"""docs/capexplorer.1, the man page: commands and options from the definitions of the command line, keys from the table of keys.
`man -l docs/capexplorer.1` shows it; a wheel installs it where `man` finds it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click

from capexplorer import cli
from capexplorer.errors import ExitCode
from capexplorer.tui.keys import KEYS, ScreenName

DOCS = Path(__file__).parent

SCREENS = {
    "live": "The live screen",
    "replay": "A replay",
    "inspect": "A session while it has an inspection cursor",
    "picker": "The picker",
}

EXIT_CODES = {
    ExitCode.DONE: "done; all that is required is met",
    ExitCode.DEFECT: "a defect of capexplorer",
    ExitCode.INPUT: "wrong input",
    ExitCode.NOT_MET: "a stop rule ended the run, something that is required is not met, a condition of --fail-if holds, or B is"
    " worse than A",
    ExitCode.FAILED: "the target, the log or the load thread failed, the host cannot be reached, no request succeeded, or no"
    " level settled; a receiver of metrics did not take them",
    ExitCode.UNDECIDED: "something that is required, or that `run --fail-if` asks, is undecided, and nothing is not met; no"
    " setting of a sweep has a capacity; whether B is better or worse than A is not decided",
}
EXIT_STATUS = (*((str(int(code)), words) for code, words in EXIT_CODES.items()), ("128 + N", "signal N ended it"))
FILES = (
    ("~/.config/capexplorer/config.toml", "the configuration file"),
    ("profiles/NAME.toml, NAME.toml", "profiles of the working folder"),
    ("~/.local/share/capexplorer/sessions/*.jsonl", "session logs"),
)
ENVIRONMENT = (
    ("CAPEXPLORER_CONFIG", "the configuration file, in place of the usual one"),
    ("CAPEXPLORER_SECRET", "the secret that a run and its workers on other machines share (docs/workers.md)"),
    ("CAPEXPLORER_GRAFANA_TOKEN", "the token of `metrics --grafana` (docs/metrics.md)"),
    ("NO_COLOR", "screens have no colours; the lines of charts are labelled with letters"),
)


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    context = click.Context(cli.group, info_name="capexplorer", **cli.group.context_settings)
    yield '.\\" Made by `make pages`.'
    yield '.TH CAPEXPLORER 1 "" "capexplorer" "User Commands"'
    yield ".SH NAME\ncapexplorer \\- explore the capacity of a service by hand, from a terminal"
    yield ".SH SYNOPSIS\n.B capexplorer\n[\\fIOPTIONS\\fR] [\\fICOMMAND\\fR [\\fIARGS\\fR]]"
    yield f".SH DESCRIPTION\n{_paragraphs(cli.group.help or '')}"
    yield ".SH OPTIONS"
    yield from _options(context)
    yield ".SH COMMANDS"
    for name in cli.group.list_commands(context):
        command = cli.group.get_command(context, name)
        assert command is not None, f"{name} is listed, but cannot be loaded"
        own_context = click.Context(command, info_name=name, parent=context)
        yield f".SS {_text(' '.join([name, *command.collect_usage_pieces(own_context)]))}\n{_paragraphs(command.help or '')}"
        yield from _options(own_context)
        if command.epilog:
            yield f".PP\n{_paragraphs(command.epilog)}"
        for part in command.commands.values() if isinstance(command, click.Group) else ():
            part_context = click.Context(part, info_name=part.name, parent=own_context)
            usage = " ".join([name, part.name or "", *part.collect_usage_pieces(part_context)])
            yield f".SS {_text(usage)}\n{_paragraphs(part.help or '')}"
            yield from _options(part_context)
    yield ".SH KEYS"
    for screen in get_args(ScreenName):
        yield f".SS {SCREENS[screen]}"
        yield from _defined((key.shown, key.help) for key in KEYS if screen in key.screens and key.shown)
    for title, rows in (("EXIT STATUS", EXIT_STATUS), ("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        yield from _defined(iter(rows))


def _options(context: click.Context) -> Iterator[str]:
    records = (parameter.get_help_record(context) for parameter in context.command.get_params(context))
    yield from _defined(record for record in records if record is not None and record[1])


def _defined(rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    """A list of words with their meanings."""
    for word, meaning in rows:
        yield f".TP\n.B {_text(word)}\n{_text(meaning)}"


def _paragraphs(text: str) -> str:
    """Paragraphs of a help text of Click: empty lines separate them, and `\\b` begins one whose lines are not joined."""
    parts = []
    for part in re.split(r"\n[ \t]*\n", textwrap.dedent(text).strip()):
        lines = [line.strip() for line in part.splitlines()]
        if lines[0] == "\b":
            parts.append("\n".join([".nf", *map(_text, lines[1:]), ".fi"]))
        else:
            parts.append(_text(" ".join(lines)))
    return "\n.PP\n".join(parts)


def _text(text: str) -> str:
    """The text escaped for roff: no line is a control line, and hyphens stay hyphens."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^\.", "\\\\&.", escaped)
