"""`capexplorer targets`."""

from __future__ import annotations

import json
from typing import Any

import click

from .. import paths
from ..errors import InputError
from ..target.spec import load_spec


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def command(as_json: bool) -> None:
    """List targets and the parameters that --set takes."""
    rows = [_row(name, folder) for name, folder in paths.targets().items()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['name']}  {row['problem'] or row['title']}")
        for name, each in row["params"].items():
            click.echo(f"    --set {name}={each['default']}  {each['doc']} ({each['expected']})")


def _row(name: str, folder: Any) -> dict[str, Any]:
    try:
        spec = load_spec(folder)
    except InputError as error:
        return {"name": name, "title": None, "params": {}, "path": str(folder), "problem": str(error)}
    params = {
        key: {"default": param.default, "doc": param.doc, "expected": param.expected()} for key, param in spec.params.items()
    }
    return {"name": name, "title": spec.title, "params": params, "path": str(folder), "problem": None}
