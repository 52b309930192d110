"""Sets up and shuts down a run: supervisor, patched load thread, captured output, screen or progress."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .. import namespace
from ..errors import InputError
from ..model.limits import LEAST_GENERATOR_OPEN_FILES
from ..run.options import RunOptions
from .error_output import print_error
from .signals import signals_to
from .terminals import require_screen

if TYPE_CHECKING:
    from ..load.users import Workload
    from ..run.capture import Capture
    from ..run.live import LiveRun


def explore(options: RunOptions, *, headless: bool) -> int:
    """Run until the user, the plan, a signal or a failure ends it. Returns the exit code of DESIGN section 6."""
    driven = options.steps or options.autopilot
    if headless and not driven and not (options.locustfile and options.follow_shape):
        raise InputError("--headless: needs --plan or --autopilot (or a locustfile with a shape)")
    if not headless:
        require_screen("the live screen", "run --headless --plan ...")
    _check_open_files(options.profile.limits.generator.open_files)
    # before anything heavy is imported: it would have threads
    namespace.enter(options.profile.limits.network, sandbox=options.sandbox)
    return _headless(options) if headless else _on_screen(options)


def _check_open_files(wanted: int | None) -> None:
    """Refuse a run with too few file descriptors, which could not report its failures. `wanted`: the session's own limit."""
    if wanted is not None or sys.platform == "win32":
        return  # the least that may be set is checked where it is read
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < LEAST_GENERATOR_OPEN_FILES:
        needed = f"a run needs {LEAST_GENERATOR_OPEN_FILES}, plus one for each user's connection"
        raise InputError(f"open files: the hard limit here is {hard} (ulimit -Hn), {needed}")


def _headless(options: RunOptions) -> int:
    with live_run(options) as (run, capture):
        from .headless import conclude, watch

        driven = options.steps or options.autopilot
        if not driven and run.session_run.workload.shape is None:
            raise InputError(f"--headless: needs --plan or --autopilot: {options.locustfile} has no shape that would end the run")
        run.session_run.on_path = lambda path: click.echo(path, file=capture.stdout)
        with signals_to(run.outcome.interrupt):
            timeline = watch(run, run.outcome, capture.stderr)
            run.close()
            conclude(run, timeline, capture.stderr)
    return _report_failure(run)


def _on_screen(options: RunOptions) -> int:
    from ..tui.terminal import own_terminal

    with own_terminal() as terminal, live_run(options) as (run, _):
        from ..tui.actions.steering import Steer
        from ..tui.app import ExplorerApp
        from ..tui.live_feed import LiveFeed

        feed = LiveFeed(run)
        app = ExplorerApp(feed, Steer(run), terminal=terminal)
        with signals_to(lambda name: app.request_exit(name)):
            ending = app.explore()
            if ending.signal is not None:
                run.outcome.interrupt(ending.signal)
            run.close()
    feed.take()  # the last marks are made when a run is closed
    from .afterwards import print_session  # imports numpy, which has threads

    print_session(feed.timeline, run.session_run.path)
    return _report_failure(run)


def _report_failure(run: LiveRun) -> int:
    """Print the run's failure, if any, in one line; returns the exit code."""
    if run.outcome.failure is not None:
        print_error(run.outcome.failure.error, run.outcome.failure.output)
    return run.outcome.exit_code


@contextlib.contextmanager
def live_run(options: RunOptions) -> Iterator[tuple[LiveRun, Capture]]:
    """Set up everything that a run needs, in the necessary order (DESIGN section 3); shut down in reverse order."""
    from ..target.supervisor import Supervisor

    supervisor = Supervisor.launch()  # before gevent is imported: a patched, threaded process must not fork
    try:
        from ..load import native

        native.patch(options.profile.limits.generator, options.profile.users.max_body_mb)
        from ..load import proxies
        from ..load.guard import HostGuard
        from ..load.load_host import LoadHost
        from ..run.capture import Capture, LogHandler
        from ..run.live import LiveRun
        from ..run.service import Service

        run, capture = LiveRun(options, Service(options, supervisor)), Capture()
        capture.begin(run.on_log_line, native.start_thread)
        try:
            LogHandler(run.on_log_line).install()
            guard = HostGuard(options.allow_hosts, run.on_host_refused)
            guard.install()
            proxies.install(guard.check)
            for name in proxies.forget_environment():
                run.on_log_line("capexplorer", "warning", f"{name} is ignored: load goes to the service itself, not to a proxy")
            host = LoadHost(run.on_load_report, options.profile.work.endpoints)
            host.recorder.connects_so_far = lambda: guard.connects
            host.start()
            own_events = options.locustfile is None
            users_url = options.users_url(run.service.url)
            run.drive(host, host.load(lambda: _workload(options, run.service.url), users_url, own_events=own_events))
            supervisor.listen(native.start_thread, run.on_target_report)
            try:
                yield run, capture
            finally:
                host.stop()  # a pump that a defect ended stopped nothing; a load thread that outlives the interpreter crashes it
        finally:
            capture.end()
    finally:
        supervisor.close()


def _workload(options: RunOptions, url: str) -> Workload:
    from ..load import users

    if options.locustfile is not None:
        return users.from_locustfile(options.locustfile, options.users_url(url))
    return users.from_profile(options.profile.users, url)
