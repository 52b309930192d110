"""Sets up and shuts down a run: supervisor, patched load thread, captured output, the socket for attached screens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ...run.options import RunOptions
from ...session.files import make_folder
from ..terminal import print_error
from . import worker_setup

if TYPE_CHECKING:
    from ...load.guard import HostGuard
    from ...load.workload import Workload
    from ...run.capture import Capture
    from ...run.context import RunContext
    from ...run.session_run import LiveRun
    from ...target.supervisor import Supervisor


class AssembledRun(msgspec.Struct, frozen=True):
    """A run with what belongs to its process."""

    run: LiveRun
    capture: Capture


def report_failure(run: LiveRun) -> int:
    """Print the run's failure, if any, in one line; returns the exit code."""
    if run.outcome.failure is not None:
        print_error(run.outcome.failure.error, run.outcome.failure.output)
    return run.outcome.exit_code


@contextlib.contextmanager
def live_run(options: RunOptions) -> Iterator[AssembledRun]:
    """Set up everything that a run needs, in the necessary order; shut down in reverse order. Raises InputError, before
    anything is started, if the session cannot be saved in its folder.
    """
    make_folder(options.sessions_dir)
    from ...target.supervisor import Supervisor

    supervisor = Supervisor.launch()  # before gevent is imported: a patched, threaded process must not fork
    try:
        from ...load import native

        native.patch(options.profile.limits.generator, options.profile.users.max_body_mb)
        from ...run.capture import Capture, LogHandler
        from ...run.context import RunContext

        context, capture = RunContext.of(options), Capture()
        capture.begin(context.log_line)
        try:
            LogHandler(context.log_line).install()
            yield from _started(context, supervisor, capture)
        finally:
            capture.end()
    finally:
        supervisor.close()


def _started(context: RunContext, supervisor: Supervisor, capture: Capture) -> Iterator[AssembledRun]:
    """Start the load thread, without users, and make the run."""
    from ...load import native
    from ...load.kept_requests import RequestSampling
    from ...load.load_thread import LoadThread
    from ...load.local_engine import LocalEngine
    from ...run.service import Service
    from ...run.session_run import LiveRun
    from ...session.redact_request import without_secrets

    options, service = context.options, Service(context.options, supervisor)
    guard, wanted = _install_guard(context), worker_setup.workers_of(options)
    make_engine = worker_setup.engine_maker(options, service, wanted)
    engine = make_engine if options.workers is not None else LocalEngine
    sampling, limits = RequestSampling(without_secrets), options.profile.slo.of_request
    load_thread = LoadThread(context.pump.report, engine, guard=guard, sampling=sampling, limits=limits)
    load_thread.start()
    try:
        own_events = options.locustfile is None
        workload = load_thread.make_workload(
            lambda: _workload(options, service.url), options.users_url(service.url), own_events=own_events
        )
        if not (own_events or options.sandbox):
            _warn_of_sockets_in_c(context)
        workers = worker_setup.load_workers(context, supervisor, load_thread, wanted, make_engine)
        run = LiveRun(context, service, load_thread, workload, workers)
        supervisor.listen(native.start_thread, context.pump.report)
        try:
            yield AssembledRun(run, capture)
        finally:
            run.server.close()
    finally:
        # a pump that a defect ended stopped nothing; a load thread that outlives the interpreter crashes it
        load_thread.stop()


def _install_guard(context: RunContext) -> HostGuard:
    """Restrict where load may go: the guard, and no proxies of the environment."""
    from ...load.guard import HostGuard
    from ...load.hooks import guarding
    from ...load.hooks.hook import put_in_place
    from ...load.hooks.hook_table import GUARD, TRACES

    workers = context.options.workers
    bound = workers.bind[0] if workers is not None and workers.bind is not None else None
    guard = HostGuard(context.options.allow_hosts, partial(_refused, context), joined=bound)
    put_in_place(GUARD, guard)
    if context.options.traceparent:
        put_in_place(TRACES)
    for name in guarding.forget_environment():
        context.log_line("capexplorer", "warning", f"{name} is ignored: load goes to the service itself, not to a proxy")
    return guard


def _refused(context: RunContext, host: str) -> None:
    address = host.partition(" ")[0]  # of `10.1.2.3 (localhost)`
    text = f"load to {host} is not allowed and was refused (only loopback, or --allow-host {address})"
    context.log_line("capexplorer", "error", text)


def _warn_of_sockets_in_c(context: RunContext) -> None:
    """Say of which clients of the locustfile the guard sees no connections."""
    from ...load.guard import opened_in_c

    if clients := ", ".join(opened_in_c()):
        kept = "; --sandbox keeps them on this machine" if context.options.spec is not None else ""
        context.log_line("capexplorer", "warning", f"the guard does not see sockets opened in C: those of {clients}{kept}")


def _workload(options: RunOptions, url: str) -> Workload:
    from ...load import workload

    if options.locustfile is not None:
        arguments, metrics = options.locust_arguments, options.profile.users.metrics
        return workload.from_locustfile(options.locustfile, options.users_url(url), arguments, metrics)
    return workload.from_profile(options.profile.users, url, options.values, options.variables)
