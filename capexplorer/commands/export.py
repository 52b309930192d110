"""`capexplorer export`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click

from .. import paths
from ..errors import InputError
from ..model.timeline import Timeline
from ..report import json as json_report
from ..report.summary import summarise
from ..session.catalog import find
from ..session.reader import open_session

FORMATS = ("json",)


@click.command()
@click.argument("session")
@click.option("--format", "form", type=click.Choice(FORMATS), default="json", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), default=None, help="A file; without it, stdout.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--sessions-dir", type=click.Path(path_type=Path), default=None, help="Where ids are looked up.")
def command(session: str, form: str, output: Path | None, force: bool, sessions_dir: Path | None) -> None:
    """Write a saved session in another format. SESSION is a path, an id, the beginning of one, or `last`."""
    with open_session(find(session, sessions_dir or paths.sessions())) as log:
        timeline = Timeline(log)
        for note in log.notes:
            click.echo(f"capexplorer: {log.path}: {note}", err=True)
    content = json_report.render(summarise(timeline))
    if output is None:
        sys.stdout.buffer.write(content)
    else:
        write_atomically(output, content, force=force)


def write_atomically(path: Path, content: bytes, *, force: bool) -> None:
    """The whole file or none of it. Raises InputError: exists (without force), or cannot be written."""
    if path.exists() and not force:
        raise InputError(f"{path}: exists already; --force overwrites it")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
