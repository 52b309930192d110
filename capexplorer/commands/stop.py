"""`capexplorer stop`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ..errors import InputError
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
        deadline_s = time.monotonic() + ENDS_WITHIN_S
        while not connection.is_over and not connection.is_lost:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise InputError(f"{connection.welcome.session}: has not ended within {ENDS_WITHIN_S:g} s")
            connection.wait_for_more(left_s)
            connection.take()
    finally:
        connection.close()
    if not connection.is_over:
        raise InputError(f"{connection.welcome.session}: the connection was lost before the session was saved")
    require_log(Path(connection.welcome.path))
    click.echo(connection.welcome.path)
