"""`capexplorer sessions`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import msgspec

from .. import paths
from ..model.session_entry import SessionEntry
from ..remote import run_sockets
from ..session import removal, titles
from ..session.catalog import list_sessions
from ..session.digest import digest_of
from ..wording.numbers import three_digits
from .error_output import printable
from .judging import judged


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
@click.option("--sessions-dir", type=click.Path(path_type=Path), default=None, help="Folder that holds the sessions.")
def command(as_json: bool, sessions_dir: Path | None) -> None:
    """List saved sessions, newest first, and which of them are running: `capexplorer attach` shows those, `capexplorer stop`
    ends them.

    `capexplorer` without a command lists them on a screen, to open, compare, export, rename and delete.
    """
    running = run_sockets.running()
    rows = [_row(entry) | {"running": entry.id in running} for entry in list_sessions(sessions_dir or paths.sessions())]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = [[name for name, _, _ in _COLUMNS], *([cell(row) for _, cell, _ in _COLUMNS] for row in rows if not row["problem"])]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table if len(table) > 1 else ():
        cells = zip(line, widths, _COLUMNS, strict=True)
        click.echo("  ".join(f"{cell:>{width}}" if right else f"{cell:{width}}" for cell, width, (_, _, right) in cells).rstrip())
    for row in rows:
        if row["problem"]:
            click.echo(f"{printable(row['id'])}  {printable(row['problem'])}")


def _row(entry: SessionEntry) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(msgspec.structs.asdict(entry) | {"path": str(entry.path)})
    row |= {"title": titles.read(entry.path), "best_goodput_rps": None, "marks": None, "damaged_lines": None, "recording": False}
    row |= {"verdict": None, "knee_users": None}
    if entry.problem is None:
        try:
            found = digest_of(entry.path, judged)
        except OSError:
            return row
        row |= {"best_goodput_rps": found.best_goodput_rps, "marks": found.marks, "damaged_lines": found.damaged_lines}
        row |= {"verdict": found.verdict, "knee_users": found.knee_users}
        row["recording"] = removal.being_recorded(entry.path, complete=entry.complete)
    return row


def _state(row: dict[str, Any]) -> str:
    state = "" if row["complete"] else "running" if row["running"] else "being recorded" if row["recording"] else "incomplete"
    count = row["damaged_lines"]
    damaged = f"{count} damaged line{'s' * (count > 1)}" if count else ""
    return ", ".join(filter(None, (state, damaged)))


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


_COLUMNS = (
    ("id", lambda row: printable(row["id"]), False),
    ("title", lambda row: printable(row["title"] or row["label"] or ""), False),
    ("profile", lambda row: printable(row["profile"] or "–"), False),
    ("target", lambda row: printable(row["target"] or "–"), False),
    ("duration s", lambda row: _figure(row["duration_s"], ".0f"), True),
    ("levels", lambda row: _figure(row["levels"], "d"), True),
    ("knee", lambda row: _figure(row["knee_users"], ".0f"), True),
    ("best goodput/s", lambda row: three_digits(row["best_goodput_rps"]), True),
    ("marks", lambda row: _figure(row["marks"], "d"), True),
    ("", _state, False),
)
