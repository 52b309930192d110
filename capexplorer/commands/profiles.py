"""`capexplorer profiles`."""

from __future__ import annotations

import json
from typing import Any

import click

from .. import paths, profile
from ..errors import InputError


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def command(as_json: bool) -> None:
    """List profiles: from the working folder, then those that ship with capexplorer."""
    rows = [_row(name, path) for name, path in paths.profiles().items()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        click.echo(f"{row['name']:{width}}  {row['problem'] or row['title']}")


def _row(name: str, path: Any) -> dict[str, Any]:
    try:
        found = profile.load(path)
    except InputError as error:
        return {"name": name, "title": None, "target": None, "plans": {}, "path": str(path), "problem": str(error)}
    return {
        "name": name,
        "title": found.title,
        "target": found.target or found.url,
        "plans": found.plans,
        "path": str(path),
        "problem": None,
    }
