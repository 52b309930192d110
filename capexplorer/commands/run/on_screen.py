"""A run on the live screen. When its terminal ends, only the screen ends; the run goes on in the same process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import IO

from ...remote import run_sockets
from ...run.options import RunOptions
from ..compare import baselines
from ..configured_preferences import own_preferences
from ..terminal import give_terminal_back, name_of_terminal, signals_to
from .arguments import RunArguments
from .assembly import AssembledRun, live_run, report_failure

HANG_UP = "SIGHUP"


def explore_on_screen(options: RunOptions, asked: RunArguments) -> int:
    """Run until the user or a signal ends it or, without a screen, until it ends by itself. Returns the exit code."""
    from ...tui.terminal import own_terminal

    with contextlib.ExitStack() as screen:
        terminal = screen.enter_context(own_terminal())
        with live_run(options) as assembled:
            from ...tui.actions.steering import LiveRunActions
            from ...tui.app import ExplorerApp
            from ...tui.feed import LiveFeed

            saved_curves = baselines(asked.baseline, asked.sessions_dir, live=True)  # read now, before there is load
            run = assembled.run
            own, unattended_s = run.screens.begin(name_of_terminal()), run.controls.setup.unattended_s
            feed = LiveFeed(run, run.timeline_of_events())
            app = ExplorerApp(
                feed,
                LiveRunActions(own),
                terminal=terminal,
                mouse=asked.mouse,
                preferences=own_preferences(),
                requests=run.requests,
                baselines=saved_curves,
            )
            run.server.let_end(app.end)
            with signals_to(app.request_exit):
                ending = app.explore()
                if ending.by == "detach" or (ending.signal == HANG_UP and unattended_s > 0):
                    screen.close()
                    own.leave()
                    wait_unattended(assembled, feed.take, detached=ending.by == "detach")
                elif ending.signal is not None:
                    run.outcome.interrupt(ending.signal)
                run.close()
    feed.take()  # the last marks are made when a run is closed
    from ..afterwards import print_session  # imports numpy, which has threads

    print_session(feed.timeline, run.path)
    return report_failure(run)


def wait_unattended(assembled: AssembledRun, take: Callable[[], object], *, detached: bool) -> None:
    """Wait until a run without a screen of its own has ended. Print how to get a screen again, if the terminal is still there.
    `detached`: it is, and its shell gets it back.
    """
    from ...load import native
    from ...run.screens import POLL_S

    run = assembled.run
    unattended = run.unattended()
    run.server.let_end(unattended.stop)
    release_input()
    print_session_goes_on(assembled.capture.stderr, run.path.stem if run.path else None)
    with signals_to(lambda name: None if name == HANG_UP else run.outcome.interrupt(name)):
        if detached and give_terminal_back(assembled.capture.stderr):
            assembled.capture.discard_output()  # the terminal is the shell's now
        while unattended.reason is None:
            native.sleep(POLL_S)
            take()


def release_input() -> None:
    """Release standard input: nothing reads it from now on."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def print_session_goes_on(stderr: IO[str] | None, session: str | None) -> None:
    """Print how to get a screen again; without effect if the terminal is gone."""
    if stderr is None or session is None:
        return
    from ..afterwards import run_goes_on

    why_not = run_sockets.why_none()
    lines = (
        run_goes_on(session)
        if why_not is None
        else (f"the run goes on; no screen can be attached to it: {why_not}", f"to end it: kill {os.getpid()}")
    )
    with contextlib.suppress(OSError):
        stderr.write("\n".join((*lines, "")))
        stderr.flush()
