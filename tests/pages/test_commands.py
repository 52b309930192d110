"""Each command of capexplorer on a page is one that the command line takes: options, plans and requirements."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from capexplorer import cli
from capexplorer.errors import InputError
from capexplorer.steer import plan
from capexplorer.steer.requirement_text import parse as parse_requirement
from docs.site import MADE, navigation

from .page_tables import ROOT

FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
MAX_USERS = 10_000


def commands(page: str) -> Iterator[list[str]]:
    """The words after `capexplorer` of each line of a fenced block that begins with it, without `[SESSION]` and `...`."""
    for block in FENCED.findall((ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ")):
        for line in block.splitlines():
            if re.match(r"capexplorer [a-z]+( |$)", line):
                yield [word for word in shlex.split(line, comments=True)[1:] if not re.fullmatch(r"\[.*\]|\.\.\.", word)]


def check(words: list[str]) -> None:
    """Raises click.UsageError or InputError. Nothing runs, and no file is looked for."""
    context = click.Context(cli.group, info_name="capexplorer", **cli.group.context_settings)
    command = cli.group.get_command(context, words[0])
    if command is None:
        raise click.UsageError(f"no command {words[0]}")
    given, _, _ = command.make_parser(click.Context(command, parent=context, **command.context_settings)).parse_args(words[1:])
    if isinstance(text := given.get("plan"), str) and plan.is_text(text):
        plan.check_start(plan.parse(text, "--plan", MAX_USERS), "--plan")
    for requirement in given.get("requirements") or ():
        parse_requirement(requirement, "--require", MAX_USERS)


@pytest.mark.parametrize("page", [page for page in navigation() if page not in MADE])
def test_commands_of_a_page_are_taken(page: str) -> None:
    for words in commands(page):
        try:
            check(words)
        except (click.UsageError, InputError) as refused:
            pytest.fail(f"capexplorer {shlex.join(words)}: {refused}")


WRONG = ["run --no-such", "explore shop", 'run --plan "50:30s, fly"', 'run --require "p95 < 3 @ 5 users"']


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_command_is_found(line: str) -> None:
    with pytest.raises((click.UsageError, InputError)):
        check(shlex.split(line))
