"""What a shell completes for arguments: names of profiles and sessions. Reads only names of files, and never fails."""

from __future__ import annotations

from pathlib import Path

import click

from .. import configuration, paths
from ..errors import CapexplorerError
from ..session.names import SUFFIX

SESSIONS_MOST = 200
"""Newest sessions that are offered."""


def profiles(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Names that begin with what was typed."""
    return [name for name in paths.profiles() if name.startswith(typed)]


def sessions(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """`last`, the newest sessions by their ids, and the samples."""
    try:
        own = configuration.load().sessions_dir
    except CapexplorerError:
        own = None
    folder: Path = ctx.params.get("sessions_dir") or (Path(own).expanduser() if own else paths.sessions())
    ids = sorted((path.stem for path in folder.glob(f"*{SUFFIX}")), reverse=True)
    names = dict.fromkeys(["last", *ids[:SESSIONS_MOST], *paths.sample_sessions()])
    return [name for name in names if name.startswith(typed)]


def runs(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """The ids of the runs that are going on."""
    from ..remote import run_sockets

    return [name for name in run_sockets.running() if name.startswith(typed)]
