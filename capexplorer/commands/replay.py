"""`capexplorer replay`."""

from __future__ import annotations

import signal
from contextlib import nullcontext
from pathlib import Path

import click

from .. import paths
from ..errors import InputError
from ..model.kept_request import KeptRequests, NoRequests
from ..replay import Replay
from ..session import beside
from ..session.catalog import find
from ..tui.feed import Playback, parse_position
from ..tui.screens.view_options import Baselines
from . import shared_options
from .compare import baselines
from .configured_preferences import own_preferences
from .shared_options import reanalysed_copy
from .terminal import print_line, signals_to, terminal_or_browser

_SPEEDS = ("0.5", "1", "2", "4", "8", "16", "32", "64")


@click.command()
@click.argument("session", shell_complete=shared_options.sessions)
@click.option(
    "--speed", type=click.Choice(_SPEEDS), help="Play from the beginning at this speed: seconds of the session per second."
)
@click.option("--follow", is_flag=True, help="Follow a session that another process is recording.")
@click.option(
    "--at",
    "start",
    metavar="TIME",
    help="Time at which to start: 1:23:45, 90s, 50%; without it, all of an ended session is shown.",
)
@click.option(
    "--mouse",
    is_flag=True,
    help="The transport bar can be dragged, and keys, tabs, lists and charts clicked; selecting text then needs Shift.",
)
@click.option("--reanalyse", is_flag=True, help="Use the marks that this version finds; the log pane (o) lists the changes.")
@shared_options.baseline
@shared_options.sessions_dir
def command(
    session: str,
    speed: str | None,
    follow: bool,
    start: str | None,
    mouse: bool,
    reanalyse: bool,
    baseline: str | None,
    sessions_dir: Path | None,
) -> int:
    """Show a saved session on the live screen: all of it, or from a time on. The space bar plays it.

    SESSION is a path, any unique part of an id or title, `last`, `last-1`, or `sample`, which comes along.
    """
    if start is not None:
        try:
            parse_position(start, 0.0, 1.0)
        except ValueError as error:
            raise InputError(f"--at {start}: {error}") from None
    if reanalyse and follow:
        raise InputError("--reanalyse: the session is still being recorded; without --follow its current part is reanalysed")
    path = find(session, paths.sessions(sessions_dir))
    saved_curves = baselines(baseline, sessions_dir, live=follow)
    with reanalysed_copy(path) if reanalyse else nullcontext(path) as path:
        recording = Replay(path, follow=follow)
        try:
            whole = speed is None and start is None and not follow
            playback = Playback(float(speed or 1), follows=follow)
            return _play(recording, playback, start, saved_curves, mouse=mouse, whole=whole)
        finally:
            recording.close()


def _kept_requests(log: Path) -> KeptRequests:
    """The requests in the file beside the log. Raises SessionError for a file of another kind."""
    path = beside.kept_path(log)
    if not path.exists():
        return NoRequests("no requests were kept: run it with --keep-bodies")
    return beside.RequestsFile(path)


def _play(recording: Replay, playback: Playback, start: str | None, saved_curves: Baselines, *, mouse: bool, whole: bool) -> int:
    from ..tui.actions.transport import Transport
    from ..tui.app import ExplorerApp
    from ..tui.feed import RecordedFeed

    requests = _kept_requests(recording.path)
    feed, preferences = RecordedFeed(recording, playback, start_at=start, whole=whole), own_preferences()
    with terminal_or_browser("replay", "export") as terminal:
        app = ExplorerApp(
            feed,
            Transport(feed),
            terminal=terminal,
            mouse=mouse,
            preferences=preferences,
            whole=whole,
            requests=requests,
            baselines=saved_curves,
        )
        with signals_to(app.request_exit):
            ending = app.explore()
    for note in recording.notes:
        print_line(f"capexplorer: {recording.path}: {note}")
    return 128 + getattr(signal, ending.signal) if ending.signal else 0
