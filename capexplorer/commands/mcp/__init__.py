"""`capexplorer mcp`: a server of the Model Context Protocol on standard input and output, by which an agent explores capacity."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import click

from ... import paths
from ...extras import require
from ..terminal import print_line
from .guards import Guards

MAX_USERS = 500
MAX_SECONDS = 600.0


@click.command()
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder whose profiles may run, and those below it; repeatable. Default: the working folder. Samples always may.",
)
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="HOST",
    help="A host other than loopback that may receive load; repeatable.",
)
@click.option("--allow-commands", is_flag=True, help="A tool call may name the command that starts the service (--target-cmd).")
@click.option(
    "--max-users", type=click.IntRange(min=1), metavar="N", default=MAX_USERS, show_default=True, help="Most users of a run."
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    default=MAX_SECONDS,
    show_default=True,
    help="Longest run, the start of its service included; then it is ended and saved.",
)
@click.option("--runs", type=click.IntRange(min=1), metavar="N", default=1, show_default=True, help="Most runs at a time.")
@click.option("--sessions-dir", type=click.Path(path_type=Path), help="Folder in which sessions are saved and looked up.")
def command(folders: tuple[Path, ...], sessions_dir: Path | None, **given: Any) -> None:
    """Serve the tools of capexplorer to an agent, by the Model Context Protocol on standard input and output.

    The client starts this command and speaks to it (docs/agents.md). A run that an agent starts ends with this process, however
    it ends; its session is saved.
    """
    require("mcp", "mcp")
    if os.isatty(0):
        print_line("capexplorer mcp: waits for messages of the Model Context Protocol: a client starts it (docs/agents.md)")
    from .serving import serve

    guards = Guards(
        folders=tuple(each.resolve() for each in folders or (Path.cwd(),)), sessions=paths.sessions(sessions_dir), **given
    )
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends it at once, as SIGTERM does; nothing here is to be saved
    serve(guards)
