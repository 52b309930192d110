"""`capexplorer attach`."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import click

from .. import configuration
from ..errors import InputError
from ..model.timeline import Timeline
from ..remote.attached import RemoteControls, RemoteRequests, RunConnection
from ..replay import Replay
from ..session.reader import open_session
from ..tui.screens.view_options import Baselines
from . import shared_options
from .afterwards import print_session, program_name, require_log, run_goes_on
from .compare import baselines
from .configured_preferences import own_preferences
from .stop import ENDS_WITHIN_S, run_of
from .terminal import SERVED, name_of_terminal, print_line, require_screen, signals_to, terminal_or_browser

SCREEN = ("attach", "capexplorer sessions")


@click.command()
@click.argument("session", required=False, shell_complete=shared_options.runs)
@click.option("--watch", is_flag=True, help="Only watch: never take the controls.")
@shared_options.baseline
@click.option("--mouse", is_flag=True, help="Keys, tabs, lists and charts can be clicked; selecting text then needs Shift.")
@click.option(
    "--sessions-dir",
    type=click.Path(path_type=Path),
    default=None,
    help="Only runs that are saved in this folder, in which --baseline looks, too. Without it, this user's runs of all folders"
    " are found.",
)
def command(session: str | None, watch: bool, baseline: str | None, mouse: bool, sessions_dir: Path | None) -> int:
    """Show the live screen of a run that another process started, and control it.

    SESSION is the id of a run, `last`, or any unique part of an id or title; it may be left out if there is only one run
    (`capexplorer sessions` lists them).

    One screen of a run has the controls; the key c asks for them. Closing the screen does not end the run.
    """
    if not os.environ.get(SERVED):
        require_screen(*SCREEN)  # before connecting to the run
    saved_curves = baselines(baseline, sessions_dir or configuration.load().sessions_folder, live=True)
    name, path = run_of(session, sessions_dir)
    connection = RunConnection(path, "watch" if watch else "steer", name_of_terminal())
    try:
        if not Path(connection.welcome.path).exists():
            stop = f"{program_name()} stop {connection.welcome.session}"
            raise InputError(f"{connection.welcome.path}: the run goes on, but its log was removed: only `{stop}` works")
        recording = Replay(Path(connection.welcome.path), follow=True)
        try:
            return _show(connection, recording, saved_curves, watch=watch, mouse=mouse)
        finally:
            recording.close()
    finally:
        connection.close()


def _show(connection: RunConnection, recording: Replay, saved_curves: Baselines, *, watch: bool, mouse: bool) -> int:
    from ..tui.actions.steering import AttachedRunActions
    from ..tui.actions.watching import ViewOnlyActions
    from ..tui.app import ExplorerApp
    from ..tui.feed import AttachedFeed
    from ..tui.protocols import Actions

    controls = RemoteControls(connection)
    feed = AttachedFeed(recording, controls)
    actions: Actions = ViewOnlyActions(controls) if watch else AttachedRunActions(controls)
    preferences = own_preferences()
    with terminal_or_browser(*SCREEN) as terminal:
        app = ExplorerApp(
            feed,
            actions,
            terminal=terminal,
            mouse=mouse,
            preferences=preferences,
            requests=RemoteRequests(controls),
            baselines=saved_curves,
        )
        with signals_to(app.request_exit):
            ending = app.explore()
    if isinstance(actions, AttachedRunActions) and actions.ends_run:
        connection.wait_until_over(ENDS_WITHIN_S)
    _print_state(connection, has_ended=feed.timeline.ended is not None)
    return 128 + getattr(signal, ending.signal) if ending.signal else 0


def _print_state(connection: RunConnection, *, has_ended: bool) -> None:
    """Print what became of the run: its verdict, or how to show it again. Raises InputError if it has ended and its log is
    gone.
    """
    session, path = connection.welcome.session, Path(connection.welcome.path)
    if connection.is_over or has_ended:
        require_log(path)
        with open_session(path) as log:
            print_session(Timeline(log), path)
        return
    if connection.is_lost:
        print_line("the connection to the run was lost")
    for line in run_goes_on(session):
        print_line(line)
