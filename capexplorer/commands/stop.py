"""`capexplorer stop`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import click

from .. import paths
from ..errors import CapexplorerError, InputError
from ..model.controls import EndRun
from ..remote import run_sockets
from ..remote.attached import RunConnection
from ..remote.protocol import Do
from ..session import catalog, files
from . import shared_options
from .afterwards import require_log

ENDS_WITHIN_S = 60.0
"""Users get 10 s to stop and the target as long as its kind needs; then the last marks are made and the log is closed."""


@click.command()
@click.argument("session", required=False, shell_complete=shared_options.runs)
@click.option(
    "--sessions-dir",
    type=click.Path(path_type=Path),
    default=None,
    help="Only runs that are saved in this folder. Without it, this user's runs of all folders are found.",
)
def command(session: str | None, sessions_dir: Path | None) -> None:
    """End a run, wait until its session is saved, and print the session's path.

    SESSION is the id of a run, `last`, or any unique part of an id or title; it may be left out if there is only one run.
    """
    _, path = run_of(session, sessions_dir)
    connection = RunConnection(path, "stop", "stop")
    try:
        connection.send(Do(number=1, control=EndRun()))
        connection.wait_until_over(ENDS_WITHIN_S)
    finally:
        connection.close()
    require_log(Path(connection.welcome.path))
    click.echo(connection.welcome.path)


def run_of(session: str | None, folder: Path | None) -> tuple[str, Path]:
    """(id, socket) of a run of this user; `folder`: that of its log, None: any. Raises InputError."""
    runs = run_sockets.running()
    if folder is not None:
        saved = catalog.logs(paths.sessions(folder))
        found = {name: path for name, path in runs.items() if name in saved}
        if runs and not found:
            raise InputError(f"no run that is saved in {folder} is going on; elsewhere are {', '.join(sorted(runs))}")
        return run_sockets.find(session, found, _titles(found, saved))
    saved = {}
    with suppress(CapexplorerError):  # an id does without titles
        saved = catalog.logs(paths.usual_sessions())
    return run_sockets.find(session, runs, _titles(runs, saved))


def _titles(runs: Iterable[str], saved: Mapping[str, Path]) -> dict[str, str | None]:
    return {name: files.read_title(saved[name]) for name in runs if name in saved}
