"""`capexplorer stop`."""

from __future__ import annotations

from pathlib import Path

import click

from ..remote import run_sockets
from ..remote.protocol import Stop
from ..remote.run_connection import RunConnection
from .afterwards import require_log

ENDS_WITHIN_S = 60.0
"""Users get 10 s to stop and the target as long as its kind needs; then the last marks are made and the log is closed."""


@click.command()
@click.argument("session", required=False)
def command(session: str | None) -> None:
    """End a run, wait until its session is saved, and print the session's path.

    SESSION is the id of a run, or the beginning of one; it may be left out if there is only one run.
    """
    _, path = run_sockets.find(session)
    connection = RunConnection(path, "stop", "stop")
    try:
        connection.send(Stop(number=1))
        connection.wait_until_over(ENDS_WITHIN_S)
    finally:
        connection.close()
    require_log(Path(connection.welcome.path))
    click.echo(connection.welcome.path)
