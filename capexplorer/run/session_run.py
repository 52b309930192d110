"""A live run as the screen and the headless command use it, and its session in the pump's thread: each second becomes a sample,
and reports of load, target and screen become events. `load_control` decides who steps the users, and when.
"""

from __future__ import annotations

import gc
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from importlib import metadata
from pathlib import Path

from msgspec.structs import replace

from ..errors import LogWriteError
from ..load import native
from ..load.before_users import client_overhead, why_unreachable
from ..load.engine import (
    RunnerEnded,
    SecondReported,
    ShapeEnded,
    ShapeStep,
    Spawned,
    UsersMovedToWorkers,
    WorkerRefused,
    WorkersChanged,
)
from ..load.load_thread import LoadThread
from ..load.workload import Workload
from ..model.events import SCHEMA, ClientOverhead, Ended, EndpointTick, Engine, Event, Header, Log
from ..model.load import Users
from ..model.timeline import Timeline
from ..model.watched import PARTS_MOST, PartSpec
from ..profile import plain
from ..read.machine import host_facts
from ..read.probes import Probes
from ..remote.protocol import PROTOCOL, Welcome
from ..session import beside
from ..session.files import new_path
from ..session.writer import SessionWriter
from ..steer.requested_load import Manual, Plan, RequestedLoad
from ..target.supervisor import Exited, Output
from ..target.supervisor import Report as TargetReport
from .context import RunContext
from .control_server import ControlServer
from .load_control import LoadControl
from .load_workers import LoadWorkers
from .part_watch import PartWatch
from .pump import INTERVAL_S, Report
from .run_failures import ObservedMarks, RunFailures
from .sampling import RequestStore, TickSampler
from .screens import LiveControls, Screens, Unattended
from .service import Service, TargetLifecycle, composed_parts
from .sweep import SweepDriver

STOP_USERS_S = 10.0

LAST_OUTPUT_S = 0.2
"""Seconds in which lines that users print while they stop arrive through the pipes."""


class LiveRun:
    """One session: `start`, then `close`. `screens` have its controls, `outcome` says when and how it ended."""

    def __init__(
        self, context: RunContext, service: Service, load_thread: LoadThread, workload: Workload, workers: LoadWorkers
    ) -> None:
        self._context, self._service = context, service
        self._session = SessionRun(context, service, load_thread, workload, workers)
        self.outcome, self.requests = context.outcome, self._session.requests
        self.controls = self._session.controls
        self.screens = Screens(self.controls, context)
        self.server = ControlServer(self.screens, self.requests, context)
        self._closed = False

    @property
    def path(self) -> Path | None:
        """Of the log, once it has its header."""
        return self._session.path

    @property
    def is_driven(self) -> bool:
        """Whether a plan, a shape or the autopilot steps the users, or will once the service is ready."""
        return self._session.is_driven()

    def unattended(self) -> Unattended:
        """The end of the run while no screen has its controls, from now on."""
        return Unattended(self._context, self.screens, self._session.is_driven)

    def sweep(self, timeline: Timeline) -> SweepDriver | None:
        """The driver of a sweep, which ends the run; None if it is none. `timeline`: of the events that are taken."""
        sweep = self._context.options.sweep
        return None if sweep is None else SweepDriver(sweep, self.controls, self.outcome, timeline, self.unattended())

    # -- EventSource

    def start(self, wake: Callable[[], None]) -> None:
        """Begin the session in the pump's thread. Returns at once. `wake` is called whenever there are events to `take`."""
        self._context.sink.wake_by(wake)
        self._context.pump.post(self._open)
        native.start_thread(partial(self._context.pump.run, self._session))

    def _open(self) -> None:
        self._session.open()
        if self.path is not None:
            path = str(self.path.resolve())
            self.server.open(
                Welcome(protocol=PROTOCOL, session=self.path.stem, path=path, pid=os.getpid(), setup=self.controls.setup)
            )

    def take(self) -> Sequence[Event]:
        """All events since the last call."""
        return self._context.sink.take()

    def timeline_of_events(self) -> Timeline:
        """A timeline for the events that are taken, still empty. It shares the columns of the pump's timeline."""
        return Timeline(seconds_of=self._context.timeline)

    def close(self) -> None:
        """Stop users and target, write the final event, and close the log. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._context.pump.end(self._session.close)
        if not self._context.pump.wait_until_left(STOP_USERS_S + self._service.stop_s + 10.0):
            self.outcome.fail("defect", "the run did not end in time: the session may lack its end", 1)
        self._service.supervisor.close()
        self._service.tidy()


class SessionRun:
    """In the pump's thread: `open`, then `tick` each second, then `close`. The order of calls is that of events in the log."""

    def __init__(
        self, context: RunContext, service: Service, load_thread: LoadThread, workload: Workload, workers: LoadWorkers
    ) -> None:
        self.context, self.service, self.workers = context, service, workers
        self._load_thread, self._workload = load_thread, workload
        profile, first = context.options.profile, context.options.start_users
        self.requested_load = RequestedLoad(
            load_thread,
            Users(0 if context.options.steps or context.options.autopilot else first),  # a plan starts from zero users
            context.options.spawn_rate,
            Plan() if context.options.steps else Manual(),
            lock=native.allocate_lock(),
            arrivals=profile.users.arrivals,
            max_users=profile.guards.max_users,
        )
        self.requests = RequestStore(context.pump)
        self.parts = PartWatch(context)
        self.path: Path | None = None
        """Of the log, once it has its header."""
        self.target = TargetLifecycle(context, service, self._reach, self._on_ready)
        self.load_control = LoadControl(context, self.requested_load, workers, self.target.restart_with)
        self.controls = LiveControls(context, service, self.target, self.requested_load, self.load_control, workers, self.parts)
        self._failures = RunFailures(context, load_thread, self.requested_load, self.load_control, self._let_users_run)
        self._observed = ObservedMarks()
        self._sampler: TickSampler | None = None

    def is_driven(self) -> bool:
        """Whether a plan, a shape or the autopilot steps the users, or will once the service is ready."""
        if not isinstance(self.requested_load.driver.kind, Manual):
            return True
        options, begun = self.context.options, self.load_control.levels.index >= 0
        return not begun and (options.autopilot is not None or (options.follow_shape and self._workload.shape is not None))

    # -- beginning and end

    def open(self) -> None:
        """Measure client overhead, create the log with its header, start probes and target."""
        context = self.context
        try:
            header, writer = build_header(context, self.service, self._load_thread, self._workload)
        except LogWriteError as error:
            context.outcome.fail("log", str(error), 4)
            self._failures.log_critical(str(error))
            return
        context.sink.open(writer, self._failures)
        self.path = writer.path
        context.emit(header)
        self._emit_log(context.now_s())  # of the start: whoever looks at the run is warned before users run
        if context.options.sweep is not None:
            context.emit(replace(context.options.sweep, t_s=context.now_s()))
        if context.options.metrics is not None:
            self._serve_metrics(writer.path, *context.options.metrics)
        self._sampler = TickSampler(
            context,
            self._load_thread,
            self.requested_load,
            self.load_control.levels,
            self.parts,
            self.requests,
            Probes(self._load_thread.native_id, os.getpid(), context.pump.thread_id),  # the main thread's id is the process's
        )
        if not self.service.has_containers:  # otherwise in `_on_ready`, when the containers are known
            self._watch(part for part in context.options.profile.watch if not part.needs_port)
        self.target.begin()
        self.workers.begin()
        context.pump.start_ticks()
        self.workers.align_seconds(context.pump.boundary_s)

    def close(self) -> None:
        """Record the last tick, stop load and target, then close the log."""
        context, load_thread, sampler = self.context, self._load_thread, self._sampler
        if sampler is None:
            load_thread.stop(STOP_USERS_S)
            return
        self.load_control.stop()
        load_thread.drain_all()
        context.pump.tick(self)
        self.parts.report_silent()
        self.load_control.end()
        self.workers.expect_end()
        load_thread.stop(STOP_USERS_S)
        self.workers.end()
        context.outcome.want_exit_code(load_thread.process_exit_code)
        self._emit_observed_marks(context.now_s(), all_changes=True)
        self.target.end()
        context.pump.drain_until(self, lambda: not self.target.is_up, self.service.stop_s)
        context.pump.drain_until(self, lambda: False, LAST_OUTPUT_S)
        requests_file = self._write_requests()
        self._emit_log(context.now_s())
        context.outcome.fail_without_measurement(context.timeline, sampler.requests, sampler.failures)
        context.emit(
            Ended(
                t_s=context.now_s(),
                reason=context.outcome.reason or "ended by the user",
                exit_code=context.outcome.exit_code,
                signal=context.outcome.signal,
                requests=sampler.requests,
                failures=sampler.failures,
                levels=self.load_control.levels.index + 1,
                requests_kept=len(self.requests.all()) if requests_file is not None else 0,
                requests_file=requests_file,
            )
        )
        context.sink.close()
        sampler.close()

    def _write_requests(self) -> str | None:
        """Write the kept requests. Returns the name of their file; None if none was asked for or it cannot be written."""
        if not self.context.options.keep_bodies or self.path is None:
            return None
        try:
            return beside.write(self.path, self.requests.all()).name
        except OSError as error:
            self._log("error", f"the kept requests cannot be written: {error.strerror or error}")
            return None

    def _log(self, level: str, text: str) -> None:
        self.context.log.add("capexplorer", level, text)

    def _serve_metrics(self, path: Path, address: str, port: int) -> None:
        """Start the command that reads the log and answers Prometheus. It is ended with the supervisor."""
        argv = (sys.executable, "-P", "-m", "capexplorer", "metrics", str(path.resolve()), "--listen", f"{address}:{port}")

        def on_report(report: TargetReport) -> None:
            match report:
                case Output(lines=lines):
                    for line in lines:
                        self.context.pump.post(self._log, "info", f"metrics: {line}")
                case Exited(stopped=False):
                    self.context.pump.post(self._log, "error", f"metrics: its process ended: {report.how_it_ended()}")

        self.service.supervisor.start_auxiliary(argv, {}, on_report)

    # -- the target

    def _reach(self) -> str | None:
        """Why an already running service cannot be reached; None if it can. Blocks for seconds."""
        return self._load_thread.call(partial(why_unreachable, self.service.url, http=bool(self._workload.http_clients)))

    def _on_ready(self) -> None:
        assert self._sampler is not None
        self._sampler.watch(self.service)
        parts = [part.with_port(self.service.port) for part in self.context.options.profile.watch]
        if self.service.has_containers:
            self._watch(composed_parts(self.service.containers, parts))
        else:
            self._watch(parts[at] for at, part in enumerate(self.context.options.profile.watch) if part.needs_port)
        if self.load_control.levels.index < 0:
            gc.freeze()  # objects from start-up are permanent: garbage collections under load skip them
            gc.set_threshold(700, 10, 10)  # Python's default again, so that unreferenced connections are closed soon
        self._let_users_run()

    def _watch(self, parts: Iterable[PartSpec]) -> None:
        """Watch parts in addition to those that are watched already. Parts beyond PARTS_MOST are named in the log instead."""
        for part in parts:
            if len(self.parts.watched) < PARTS_MOST:
                self.parts.add(part)
            else:
                self._log("warning", f"{part.name} is not watched: at most {PARTS_MOST} parts are")

    def _let_users_run(self) -> None:
        """Let users run if the service is ready and the log can be written."""
        is_ready = self.target.state == "ready" and self.workers.have_joined and not self.context.sink.is_failing
        if is_ready and not self.requested_load.is_open:
            self.load_control.begin(has_shape=self._workload.shape is not None)

    # -- reports of other threads

    def report(self, report: Report) -> None:
        """A report of the load thread, on users or on the workers that run them, or of the supervisor."""
        match report:
            case SecondReported():
                pass  # the pump then checks whether its tick is due
            case WorkersChanged():
                self._workers_changed(report)
            case UsersMovedToWorkers():
                self.load_control.levels.run_by(self.workers.count)
            case WorkerRefused(host, why):
                self._log("error", f"a worker on {host} was refused: {why}")
            case Spawned() | ShapeStep() | ShapeEnded() | RunnerEnded():
                self.load_control.load_report(report)
            case _ if self.service.is_ours(report):
                if isinstance(report, Output):
                    self.context.log.add_output(report)
                self.target.on_report(report)

    def _workers_changed(self, report: WorkersChanged) -> None:
        """A worker has joined, left or was lost. The level ends here, void if a worker was lost in it, and a new one begins: its
        figures never mix two sets of workers.
        """
        if self.workers.is_ending:
            return
        self.workers.changed(report, self.requested_load.load)
        if self.workers.is_taking_over:
            return  # users still run in this process
        self.workers.emit_mark(self.requested_load.load)
        self.load_control.levels.run_by(report.count, "worker_lost" if report.change == "lost" else None)
        if report.count:
            self.context.outcome.recover("workers")
            self._let_users_run()
        else:
            self.context.outcome.fail("workers", "no worker is left" + (f": {report.why}" if report.why else ""), 4)

    def on_defect(self, text: str) -> None:
        """A defect of capexplorer has ended the pump's thread. `text`: the traceback."""
        self._failures.on_defect(text)

    # -- every second

    def beat(self) -> None:
        """Several times a second."""
        if self._sampler is not None:
            self._sampler.beat()
            self.load_control.beat()

    def is_due(self, boundary_s: float) -> bool:
        """Whether all requests up to this moment (`time.monotonic`) can be drained."""
        return self._load_thread.is_due(boundary_s)

    @property
    def alarm_s(self) -> float | None:
        """Session time of the plan's next step."""
        return self.load_control.alarm_s

    def on_alarm(self) -> None:
        """The plan's next step is due."""
        self.load_control.advance_plan()

    def tick(self, started_s: float, ended_s: float) -> None:
        """Emit a sample of what users did and probes read since the last tick, and have it judged."""
        assert self._sampler is not None
        self.load_control.ramp(ended_s)
        sample = self._sampler.sample(started_s, ended_s)
        if self._load_thread.recorder.names.grouping:
            self.context.log.add_grouping()
        self.context.log.add_failures(sample.failures)
        self._emit_log(ended_s)
        self._emit_observed_marks(ended_s, sample.metrics)
        self._failures.check_load(ended_s)
        self.workers.emit_mark(self.requested_load.load)
        if self.workers.join_failure:
            self.context.outcome.fail("workers", self.workers.join_failure, 4)
        self.context.emit(sample)
        if sample.suspended_s:
            self._on_suspension(sample.suspended_s)
        self.load_control.ticked()
        self.context.sink.flush()

    def _on_suspension(self, seconds: float) -> None:
        """Log a suspension and begin a new level at the same load, for which a plan allows more time."""
        text = f"the process was suspended for {seconds:.1f} s (stopped, or the machine slept): a new level begins here"
        self.context.emit(Log(t_s=self.context.now_s(), source="capexplorer", level="warning", text=text))
        start_again = self.workers.resend_users()
        self.load_control.after_suspension(seconds, load_continues=not start_again)

    def _emit_observed_marks(self, t_s: float, metrics: Iterable[EndpointTick] = (), *, all_changes: bool = False) -> None:
        assert self._sampler is not None
        unusable, load, epoch = self._sampler.take_unusable(), self.requested_load.load, self.context.epoch
        marks = self._observed.marks(self._load_thread, unusable, t_s, epoch, load, metrics=metrics, all_changes=all_changes)
        for mark in marks:
            self.context.emit(mark)

    def _emit_log(self, t_s: float) -> None:
        for log in self.context.log.drain(t_s):
            self.context.emit(log)


VERSIONED = ("capexplorer", "locust", "gevent", "geventhttpclient", "requests", "textual", "hdrhistogram")


def build_header(
    context: RunContext, service: Service, load_thread: LoadThread, workload: Workload
) -> tuple[Header, SessionWriter]:
    """The header with the run's conditions, and the log it is to be written to. Raises LogWriteError."""
    options = context.options
    began = datetime.now().astimezone() - timedelta(seconds=context.now_s())  # the wall time at which `t_s` is 0
    session_id, path = new_path(options.sessions_dir, options.name, began)
    writer = SessionWriter(path)
    overheads: dict[str, ClientOverhead] = {}

    def measure(url: str) -> None:
        for name, kind in workload.http_clients.items():
            found = load_thread.call(partial(client_overhead, kind, url))
            if found is not None:
                overheads[name] = found

    service.measure_client_overhead(measure)
    header = Header(
        t_s=0.0,
        schema=SCHEMA,
        id=session_id,
        started_at=began.isoformat(timespec="milliseconds"),
        label=options.label,
        versions=versions(),
        clients=workload.clients,
        client_overhead_ms=overheads,
        pacing_s=workload.pacing_s,
        profile=plain(options.profile, options.name, options.locustfile),
        target=replace(service.facts, version=options.version),
        host=host_facts(),
        engine=Engine(mode="workers", workers=options.workers.count) if options.workers else Engine(),
        interval_s=INTERVAL_S,
        trace_url=options.trace_url,
    )
    return header, writer


def versions() -> dict[str, str]:
    """Versions of the software that influence the figures."""
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
