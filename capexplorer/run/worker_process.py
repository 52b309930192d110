"""A worker's process: the load thread runs users; once a second the main thread drains their requests and reports them."""

from __future__ import annotations

import gc
import os
import socket
import time
from _thread import get_native_id
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from ..addresses import is_loopback
from ..errors import InputError
from ..load import native, variables, workload
from ..load.engine import Report, RunnerEnded
from ..load.guard import HostGuard
from ..load.hooks import guarding
from ..load.hooks.hook import put_in_place
from ..load.hooks.hook_table import GUARD, TRACES
from ..load.kept_requests import RequestSampling
from ..load.load_thread import LoadThread
from ..load.workers import messages as jobs
from ..load.workers import worker_engine
from ..load.workers.messages import ENDED, Job, WorkerHello, WorkerSecond
from ..load.workers.worker_engine import WorkerEngine, second_of
from ..load.workload import Workload
from ..profile import locustfiles
from ..read.probes import WorkerProbes
from ..session import redact
from ..session.canonical import canonical
from ..session.redact_request import without_secrets

INTERVAL_S = 1.0
LOOK_S = 0.2
STOP_USERS_S = 8.0

KEPT_A_SECOND_MOST = 8
"""Whole requests that one report carries: with all of their bounds 130 KB."""


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker finds its run, and which hosts it may load."""

    host: str
    port: int
    locustfile: Path | None = None
    """The locustfile on this machine; None: at the path that the run gives."""
    allow_hosts: tuple[str, ...] = ()
    token: str = ""
    """The token that the run gave to a worker which it started itself; empty for others."""
    join_within_s: float = 30.0


class WorkerProcess:
    """`join`, then `work` until the run ends or `end` is called."""

    def __init__(self, options: WorkerOptions, print_line: Callable[[str], None]) -> None:
        """`print_line`: takes lines for the terminal in which the worker was started."""
        self._options, self._print_line = options, print_line
        self._hello = WorkerHello(
            versions=jobs.versions(), host=socket.gethostname(), pid=os.getpid(), cpus=os.cpu_count() or 1, token=options.token
        )
        self._boundary_s = time.monotonic() + INTERVAL_S
        """The end of the present tick, by this machine's clock; a guess until the run has sent the boundaries of its ticks."""
        self._ending = False
        engine = partial(
            WorkerEngine,
            address=(options.host, options.port),
            hello=jobs.packed(self._hello),
            on_boundary=self._on_boundary,
        )
        self._guard = HostGuard(
            options.allow_hosts,
            lambda host: self._print_line(f"load to {host} is not allowed and was refused"),
            joined=options.host,
        )
        sampling = RequestSampling(without_secrets, a_drain_most=KEPT_A_SECOND_MOST)
        self._load_thread = LoadThread(self._on_report, engine, guard=self._guard, sampling=sampling)

    def join(self) -> None:
        """Get the run's job and join. Raises InputError if there is no run or it refuses this worker, if the locustfile
        differs, or if load to the service is not allowed here.
        """
        self._load_thread.start()
        options = self._options
        job = self._load_thread.call(lambda: worker_engine.ask(options.host, options.port, self._hello, options.join_within_s))
        self._check(job)
        native.bound_bodies(job.max_body_mb)
        self._load_thread.recorder.limits = job.limits
        put_in_place(GUARD, self._guard)
        if job.traceparent:
            put_in_place(TRACES)
        guarding.forget_environment()
        if job.users is not None:
            redact.remember(variables.values(job.users, os.environ))  # here they may be others than those of the run
        self._load_thread.make_workload(lambda: self._workload(job), job.url, own_events=job.locustfile is None)
        gc.freeze()  # as in a run's own process
        gc.set_threshold(700, 10, 10)

    def _check(self, job: Job) -> None:
        """Raises InputError."""
        service = urlsplit(job.url if job.url and "://" in job.url else f"http://{job.url or ''}").hostname
        if service is None:
            return
        if is_loopback(service) and not is_loopback(self._options.host) and not self._options.token:
            raise InputError(f"the run loads {job.url}, which is this machine from here: it needs --host with another address")
        if not is_loopback(service) and service not in {host.lower().strip("[]") for host in self._options.allow_hosts}:
            raise InputError(f"the run loads {service}: only loopback is allowed here, or add --allow-host {service}")

    def _workload(self, job: Job) -> Workload:
        if job.users is not None and job.locustfile is None:
            return workload.from_profile(job.users, job.url or "", job.values, os.environ)
        path = self._options.locustfile or Path(job.locustfile or "")
        try:
            locustfiles(path)
        except InputError as error:
            raise InputError(f"{error} here; give the run's file with -f") from None
        jobs.check_locustfile(job, path)
        return workload.from_locustfile(path, job.url, job.arguments, job.metrics)

    def work(self) -> str:
        """Report each second until the run ends this worker or `end` is called. Returns the run's reason; empty for a normal
        end.
        """
        probes = WorkerProbes(self._load_thread.native_id, get_native_id(), with_ports=not is_loopback(self._options.host))
        began_s = time.monotonic()
        while not self._is_over():
            ended_s = self._wait_for_boundary()
            if ended_s is not None:
                self._report(began_s, ended_s, probes)
                began_s = ended_s
        runner = self._load_thread.engine.runner
        self._load_thread.stop(STOP_USERS_S)
        return str(runner.ended_because)

    def _is_over(self) -> bool:
        return self._ending or self._load_thread.has_ended or self._load_thread.engine.runner.has_ended

    def _wait_for_boundary(self) -> float | None:
        """Sleep until the next boundary, but no longer than LOOK_S. Returns the time there; None if it has not been reached."""
        left_s = self._boundary_s - time.monotonic()
        if left_s > LOOK_S:
            native.sleep(LOOK_S)
            return None
        if left_s > 0:
            native.sleep(left_s)
        now_s = time.monotonic()
        self._boundary_s += INTERVAL_S * max(1.0, 1 + (now_s - self._boundary_s) // INTERVAL_S)
        return now_s

    def _report(self, began_s: float, ended_s: float, probes: WorkerProbes) -> None:
        load_thread = self._load_thread
        generator, ports = probes.read(ended_s - began_s)
        second = second_of(
            load_thread.drain(ended_s).tick,
            began_s=began_s,
            lag=load_thread.lag.drain(),
            errors=load_thread.errors,
            replaced=load_thread.replaced,
            generator=generator,
            ports=ports,
        )
        report = jobs.packed(_redacted(second))
        load_thread.post(lambda: load_thread.engine.runner.report(report))

    def end(self) -> None:
        """Make `work` return soon. From any thread, or a signal handler."""
        self._ending = True

    # -- in the load thread

    def _on_boundary(self, boundary_s: float) -> None:
        """Take over a boundary between ticks: the next one is a whole number of seconds after it."""
        behind_s = time.monotonic() - boundary_s
        self._boundary_s = boundary_s + INTERVAL_S * (behind_s // INTERVAL_S + 1)

    def _on_report(self, report: Report) -> None:
        if isinstance(report, RunnerEnded):
            self._load_thread.engine.runner.send_message(ENDED, report.by)


def _redacted(second: WorkerSecond) -> WorkerSecond:
    """The second without secrets of this machine in what services and user code say: the run may not know their values."""
    return msgspec.structs.replace(
        second,
        failures=tuple(map(canonical, second.failures)),
        retried=tuple(map(canonical, second.retried)),
        user_errors=tuple(map(canonical, second.user_errors)),
    )
