"""Sets up and shuts down a run: supervisor, patched load thread, captured output, the socket for attached screens."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...run.options import RunOptions
from ..terminal import print_error
from . import worker_setup

if TYPE_CHECKING:
    from ...load.guard import HostGuard
    from ...load.load_thread import LoadThread
    from ...load.workload import Workload
    from ...run.capture import Capture
    from ...run.control_server import ControlServer
    from ...run.live import LiveRun


class AssembledRun(msgspec.Struct, frozen=True):
    """A run with what belongs to its process."""

    run: LiveRun
    capture: Capture
    server: ControlServer


def report_failure(run: LiveRun) -> int:
    """Print the run's failure, if any, in one line; returns the exit code."""
    if run.outcome.failure is not None:
        print_error(run.outcome.failure.error, run.outcome.failure.output)
    return run.outcome.exit_code


@contextlib.contextmanager
def live_run(options: RunOptions) -> Iterator[AssembledRun]:
    """Set up everything that a run needs, in the necessary order; shut down in reverse order."""
    from ...target.supervisor import Supervisor

    supervisor = Supervisor.launch()  # before gevent is imported: a patched, threaded process must not fork
    try:
        from ...load import native

        native.patch(options.profile.limits.generator, options.profile.users.max_body_mb)
        from ...run.capture import Capture, LogHandler
        from ...run.control_server import ControlServer
        from ...run.live import LiveRun
        from ...run.service import Service

        run, capture = LiveRun(options, Service(options, supervisor)), Capture()
        capture.begin(run.on_log_line, native.start_thread)
        server = ControlServer(run.screens, run.requests, lambda level, text: run.on_log_line("capexplorer", level, text))
        run.session_run.on_path.append(lambda path: _open(server, run, path))
        try:
            LogHandler(run.on_log_line).install()
            load_thread = _start_load(options, run, _install_guard(options, run))
            supervisor.listen(native.start_thread, run.on_target_report)
            try:
                yield AssembledRun(run, capture, server)
            finally:
                # a pump that a defect ended stopped nothing; a load thread that outlives the interpreter crashes it
                load_thread.stop()
        finally:
            server.close()
            capture.end()
    finally:
        supervisor.close()


def _install_guard(options: RunOptions, run: LiveRun) -> HostGuard:
    """Restrict where load may go: the guard, and no proxies of the environment."""
    from ...load.guard import HostGuard
    from ...load.hooks import guarding
    from ...load.hooks.hook import put_in_place
    from ...load.hooks.hook_table import GUARD

    workers = options.workers
    bound = workers.bind[0] if workers is not None and workers.bind is not None else None
    guard = HostGuard(options.allow_hosts, run.on_host_refused, joined=bound)
    put_in_place(GUARD, guard)
    for name in guarding.forget_environment():
        run.on_log_line("capexplorer", "warning", f"{name} is ignored: load goes to the service itself, not to a proxy")
    return guard


def _start_load(options: RunOptions, run: LiveRun, guard: HostGuard) -> LoadThread:
    """Start the load thread, without users, and give it to the run."""
    from ...load.kept_requests import RequestSampling
    from ...load.load_thread import LoadThread
    from ...load.local_engine import LocalEngine
    from ...session.redact_request import without_secrets

    workers = worker_setup.load_workers_of(options, run)
    run.use_workers(workers)
    engine = workers.make_engine if options.workers is not None else LocalEngine
    load_thread = LoadThread(run.on_load_report, engine, guard=guard, sampling=RequestSampling(without_secrets))
    load_thread.start()
    own_events = options.locustfile is None
    users_url = options.users_url(run.service.url)
    run.drive(
        load_thread, load_thread.make_workload(lambda: _workload(options, run.service.url), users_url, own_events=own_events)
    )
    return load_thread


def _open(server: ControlServer, run: LiveRun, path: Path) -> None:
    from ...remote.protocol import PROTOCOL, Welcome

    server.open(
        Welcome(protocol=PROTOCOL, session=path.stem, path=str(path.resolve()), pid=os.getpid(), setup=run.controls.setup)
    )


def _workload(options: RunOptions, url: str) -> Workload:
    from ...load import workload

    if options.locustfile is not None:
        return workload.from_locustfile(options.locustfile, options.users_url(url), options.locust_arguments)
    return workload.from_profile(options.profile.users, url, options.values, options.variables)
