"""`capexplorer import`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from .. import paths
from ..analysis.epoch.level_clock import settling_s
from ..analysis.reanalysis import detect, with_marks
from ..errors import InputError, LogWriteError
from ..model.events import Event, Header
from ..model.timeline import Timeline
from ..session.files import SUFFIX, make_folder
from ..session.importers import imported
from ..session.writer import SessionWriter
from .shared_options import LocalFile


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=LocalFile())
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The session's file; without it one among the sessions.")
@click.option("--sessions-dir", type=click.Path(path_type=Path), help="Where the session is saved.")
@click.option("--label", help="Label stored in the session.")
def command(files: tuple[Path, ...], output: Path | None, sessions_dir: Path | None, label: str | None) -> None:
    """Create a session from Locust's *_stats_history.csv files (several files make one session) or from a table of levels.

    A table is CSV: `users,throughput_rps` and optionally `latency_ms,failure_ratio`. Without `failure_ratio` its throughput is
    counted as goodput. The session's path is printed on stdout.
    """
    events = imported(files, label, settling_s)
    events = list(with_marks(events, detect(Timeline(events))))
    path = output or _among(paths.new_sessions(sessions_dir), events[0])
    if path.exists():
        raise InputError(f"{path}: exists already; it is not overwritten")
    save(path, events)
    click.echo(path)


def save(path: Path, events: Sequence[Event]) -> None:
    """Writes the whole session or nothing. Raises LogWriteError."""
    writer = SessionWriter(path)
    try:
        try:
            for event in events:
                writer.write(event)
        finally:
            writer.close()
    except LogWriteError:
        path.unlink(missing_ok=True)
        raise


def _among(folder: Path, header: Event) -> Path:
    assert isinstance(header, Header)  # it comes first
    make_folder(folder)
    return folder / f"{header.id}{SUFFIX}"
