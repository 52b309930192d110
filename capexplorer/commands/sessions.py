"""`capexplorer sessions`."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec

from .. import paths
from ..session.catalog import list_sessions


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
@click.option("--sessions-dir", type=click.Path(path_type=Path), default=None, help="Folder of sessions.")
def command(as_json: bool, sessions_dir: Path | None) -> None:
    """List saved sessions, newest first."""
    entries = list_sessions(sessions_dir or paths.sessions())
    if as_json:
        rows = [msgspec.to_builtins(msgspec.structs.asdict(entry) | {"path": str(entry.path)}) for entry in entries]
        click.echo(json.dumps(rows, indent=2))
        return
    for entry in entries:
        if entry.problem:
            click.echo(f"{entry.id}  {entry.problem}")
            continue
        duration = "" if entry.duration_s is None else f"{entry.duration_s:6.0f} s"
        levels = "" if entry.levels is None else f"{entry.levels:3d} levels"
        state = "" if entry.complete else "  incomplete"
        click.echo(f"{entry.id}  {entry.target}  {duration}  {levels}{state}{f'  {entry.label}' if entry.label else ''}")
