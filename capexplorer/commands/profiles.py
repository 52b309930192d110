"""`capexplorer profiles`."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from .. import paths, profile
from ..errors import InputError
from ..steer.plan import parse
from ..wording.numbers import span

WIDTH = 80

INDENT = " " * 4


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def command(as_json: bool) -> None:
    """List profiles with their plans: those of the working folder, then those that come with capexplorer.

    A plan runs with `capexplorer run PROFILE --plan NAME`.
    """
    rows = [row(name, path) for name, path in paths.profiles().items()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for each in rows:
        click.echo("\n".join(_lines(each)))


def row(name: str, path: Path) -> dict[str, Any]:
    """What is known of a profile; with a `problem`, nothing else is."""
    unknown: dict[str, Any] = {
        "name": name,
        "title": None,
        "target": None,
        "plans": {},
        "plan_lengths_s": {},
        "path": str(path),
        "problem": None,
    }
    try:
        found = profile.load(path)
    except InputError as error:
        return unknown | {"problem": str(error)}
    lengths = {plan: length_s(text, found.guards.max_users) for plan, text in found.plans.items()}
    target = found.service
    return unknown | {"title": found.title, "target": target, "plans": found.plans, "plan_lengths_s": lengths}


def length_s(plan: str, max_users: int) -> float | None:
    """Total duration of a plan's steps in seconds; None if the plan is invalid, or searches the knee, whose duration is
    unknown.
    """
    try:
        steps = parse(plan, "plan", max_users)
    except InputError:
        return None
    return None if any(step.kind == "find" for step in steps) else sum(step.hold_s for step in steps)


def _lines(row: dict[str, Any]) -> Iterator[str]:
    yield row["name"]
    yield _wrapped(row["problem"] or row["title"], INDENT, INDENT)
    width = max(map(len, row["plans"]), default=0)
    for name, text in row["plans"].items():
        length = row["plan_lengths_s"][name]
        line = _one_line(text) + ("" if length is None else f" ({span(length, in_full=True)})")
        yield _wrapped(line, f"{INDENT}--plan {name:{width}}  ", " " * (len(INDENT) + len("--plan ") + width + 2))


def _one_line(plan: str) -> str:
    """The plan in one line: line ends become commas, and each comma is followed by a space, where the line may be wrapped."""
    return re.sub(r"\s*[,\n]\s*", ", ", plan.strip())


def _wrapped(text: str, first: str, others: str) -> str:
    """A path longer than the line is not wrapped."""
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False, break_long_words=False
    )
