"""`capexplorer sessions`: lists them, deletes some (`rm`), and gives one a title (`rename`)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click
import msgspec

from .. import paths, wording
from ..errors import SessionError
from ..model import outside
from ..model.sources import SessionEntry
from ..model.timeline import Timeline
from ..remote import run_sockets
from ..replay import Replay
from ..session import catalog, files
from ..session.beside import Digest, digest_of
from ..session.catalog import find, list_sessions
from ..wording import session_time
from ..wording.numbers import MISSING, three_digits
from . import shared_options
from .terminal import confirm, print_line, printable

READ_SLICE_S = 0.05
"""Seconds of reading after which other threads may run, so that the screen can be drawn."""


def judged(log: Path) -> tuple[str | None, float | None]:
    """(sentence, users at the knee); None: it cannot be read, or has no knee. Takes a second for a day's log."""
    try:
        with closing(Replay(log)) as recording:
            while recording.read_on(READ_SLICE_S):
                pass
            timeline = recording.at(recording.duration_s)
            return wording.verdict(timeline), knee_users(timeline)
    except (SessionError, OSError):
        return None, None


def knee_users(timeline: Timeline) -> float | None:
    """Users at the knee of the latest epoch with findings; None without a knee, or if the verdict does not report it."""
    marked = (mark.epoch for mark in timeline.marks.values() if mark.state != "retracted")
    epoch = max((*timeline.verdicts, *marked), default=0)
    verdict = wording.reported(timeline).get(epoch)
    found = verdict.capacity.knee if verdict is not None else None
    return found.users if found is not None and found.kind == "knee" else None


_FOLDER = click.option("--sessions-dir", type=click.Path(path_type=Path), default=None, help="Folder that holds the sessions.")


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
@_FOLDER
@click.pass_context
def command(context: click.Context, as_json: bool, sessions_dir: Path | None) -> None:
    """List saved sessions, newest first, and which of them are running: `capexplorer attach` shows those, `capexplorer stop`
    ends them.

    On a terminal the table leaves out what does not fit; in a pipe it is complete. `capexplorer` without a command lists sessions
    on a screen, to open, compare, export, rename and delete.
    """
    context.default_map = {name: {"sessions_dir": sessions_dir} for name in ("rm", "rename")}
    if context.invoked_subcommand is not None:
        return
    folders = paths.sessions(sessions_dir)
    found = rows(list_sessions(folders))
    if as_json:
        click.echo(json.dumps([_valid(row) for row in found], indent=2))
        return
    width = shutil.get_terminal_size().columns if os.isatty(1) else None
    for line in table([row for row in found if not row["problem"]], width):
        click.echo(line)
    for row in found:
        if row["problem"]:
            click.echo(f"{printable(row['id'])}  {printable(row['problem'])}")
    where = f"sessions in {printable(paths.listed(folders))}"
    print_line(where if found else f"no {where}; `capexplorer replay sample` shows one that comes with capexplorer")


@command.command("rm")
@click.argument("names", metavar="SESSION...", nargs=-1, required=True, shell_complete=shared_options.sessions)
@click.option("--yes", is_flag=True, help="Do not ask.")
@_FOLDER
def remove(names: tuple[str, ...], yes: bool, sessions_dir: Path | None) -> None:
    """Delete sessions permanently: the logs, and the files that belong to them. It asks first.

    A session that is being recorded is not deleted.
    """
    found = [_own(name, sessions_dir) for name in names]
    logs = list(dict.fromkeys(found))
    for log in logs:
        click.echo(f"{printable(log.stem)}  {printable(files.read_title(log) or '')}".rstrip(), err=True)
    if not yes:
        confirm(f"Delete {'this session' if len(logs) == 1 else f'these {len(logs)} sessions'}?", "--yes")
    for log in logs:
        catalog.delete(log)


@command.command("rename")
@click.argument("name", metavar="SESSION", shell_complete=shared_options.sessions)
@click.argument("title")
@_FOLDER
def rename(name: str, title: str, sessions_dir: Path | None) -> None:
    """Give a session a title, by which all commands then find it; an empty one removes it. The log does not change."""
    files.write_title(_own(name, sessions_dir), title)


def _own(name: str, folder: Path | None) -> Path:
    """The log of a session, unless it is a sample. Raises SessionError."""
    log = find(name, paths.sessions(folder))
    if log in paths.sample_sessions().values():
        raise SessionError(f"session `{name}` is a sample that comes with capexplorer: it stays as it is")
    return log


def table(rows: Sequence[dict[str, Any]], width: int | None) -> list[str]:
    """The lines of the table, with its titles. `width`: the most cells of a line; columns are left out and titles shortened for
    it; None: any number.
    """
    columns = list(_COLUMNS)
    cells = {name: [name, *(cell(row) for row in rows)] for name, cell, _ in columns}

    def total() -> int:
        return sum(max(map(len, cells[name])) + len(_BETWEEN) for name, _, _ in columns) - len(_BETWEEN)

    for name in _LEFT_OUT if width is not None else ():
        over = total() - (width or 0)
        if over <= 0:
            break
        if name == "title" and (room := max(map(len, cells[name])) - over) >= _LEAST_TITLE:
            cells[name] = [each if len(each) <= room else f"{each[: room - 1]}…" for each in cells[name]]
        else:
            columns = [each for each in columns if each[0] != name]
    widths = {name: max(map(len, cells[name])) for name, _, _ in columns}
    return [
        _BETWEEN.join(
            f"{cells[name][index]:>{widths[name]}}" if right else f"{cells[name][index]:{widths[name]}}"
            for name, _, right in columns
        ).rstrip()
        for index in range(len(rows) + 1 if rows else 0)
    ]


def rows(entries: Sequence[SessionEntry]) -> list[dict[str, Any]]:
    """What is known of each session; it takes a second for a log of a day that was never listed."""
    running = run_sockets.running()
    return [_row(entry) | {"running": entry.id in running} for entry in entries]


def _row(entry: SessionEntry) -> dict[str, Any]:
    found: Digest | None = None
    if entry.problem is None:
        with suppress(OSError):
            found = digest_of(entry.path, judged)
    of_entry: dict[str, Any] = msgspec.to_builtins(msgspec.structs.asdict(entry) | {"path": str(entry.path)})
    return of_entry | {
        "title": files.read_title(entry.path),
        **{name: getattr(found, name, None) for name in ("best_goodput_rps", "marks", "damaged_lines", "verdict", "knee_users")},
        "recording": found is not None and catalog.being_recorded(entry.path, complete=entry.complete),
    }


def _valid(row: dict[str, Any]) -> dict[str, Any]:
    """The row with texts that are UTF-8, which names of files need not be."""
    return {name: outside.utf8(value) if isinstance(value, str) else value for name, value in row.items()}


def _state(row: dict[str, Any]) -> str:
    state = "" if row["complete"] else "running" if row["running"] else "being recorded" if row["recording"] else "incomplete"
    count = row["damaged_lines"]
    damaged = f"{count} damaged line{'s' * (count > 1)}" if count else ""
    return ", ".join(filter(None, (state, damaged)))


def _figure(value: float | None, form: str) -> str:
    return MISSING if value is None else format(value, form)


_COLUMNS: Sequence[tuple[str, Callable[[dict[str, Any]], str], bool]] = (
    ("id", lambda row: printable(row["id"]), False),
    ("title", lambda row: printable(row["title"] or row["label"] or ""), False),
    ("profile", lambda row: printable(row["profile"] or MISSING), False),
    ("target", lambda row: printable(row["target"] or MISSING), False),
    ("time", lambda row: MISSING if row["duration_s"] is None else session_time(row["duration_s"]), True),
    ("levels", lambda row: _figure(row["levels"], "d"), True),
    ("knee", lambda row: _figure(row["knee_users"], ".0f"), True),
    ("best/s", lambda row: three_digits(row["best_goodput_rps"]), True),
    ("marks", lambda row: _figure(row["marks"], "d"), True),
    ("", _state, False),
)
_LEFT_OUT = ("target", "profile", "marks", "title", "levels", "best/s", "time", "title", "knee")
"""What is left out of a narrow table, in this order; the title is shortened first, to _LEAST_TITLE cells."""
_LEAST_TITLE, _BETWEEN = 12, "  "
