"""One session in the pump's thread: each second becomes a sample, and reports of load, target and screen become events.

Every method is called in the pump's thread. `load_control` decides who steps the users, and when.
"""

from __future__ import annotations

import gc
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path

from msgspec.structs import replace

from ..analysis.causes.cause_detector import CauseDetector
from ..errors import LogWriteError
from ..load.before_users import client_overhead
from ..load.engine import Report as LoadReport
from ..load.engine import SecondReported, UsersMovedToWorkers, WorkerRefused, WorkersChanged
from ..load.load_thread import LoadThread
from ..load.workload import Workload
from ..model.controls import Param
from ..model.events import SCHEMA, By, ClientOverhead, Command, Ended, Engine, Header, Log
from ..model.watched import PARTS_MOST, PartSpec
from ..profile import plain
from ..read.machine import host_facts
from ..read.probes import Probes
from ..session import beside
from ..session.files import new_path
from ..session.writer import SessionWriter
from ..steer.requested_load import RequestedLoad
from ..target.supervisor import Output
from ..target.supervisor import Report as TargetReport
from .context import EventSink, RunLog
from .load_control import LoadControl
from .load_workers import NoWorkers, WorkerReports, Workers
from .log_failures import FirstFailures
from .options import RunOptions
from .part_watch import PartWatch
from .pump import INTERVAL_S, Pump
from .run_failures import RunFailures, UnusableValueMarks, UserErrorMarks
from .run_outcome import RunOutcome, fail_without_measurement
from .sampling import RequestStore, TickSampler
from .service import Service, TargetLifecycle, composed_parts

STOP_USERS_S = 10.0

LAST_OUTPUT_S = 0.2
"""Seconds in which lines that users print while they stop arrive through the pipes."""


class SessionRun:
    """`open`, then `tick` each second, then `close`. The order of calls is the order of events in the log."""

    load_thread: LoadThread
    workload: Workload

    def __init__(self, options: RunOptions, service: Service, requested_load: RequestedLoad, outcome: RunOutcome) -> None:
        self.options, self.service, self.requested_load, self.outcome = options, service, requested_load, outcome
        self.workers: Workers = NoWorkers()
        self.pump = Pump(self.tick, lambda text: self._failures.on_defect(text))
        self.requests = RequestStore(self.pump.at_s)
        self.sink = EventSink(
            lambda error: self._failures.on_log_failure(error),
            lambda: self._failures.on_log_recovery(),
            lambda: self._failures.on_log_made_again(),
        )
        self.path: Path | None = None
        self.on_path: list[Callable[[Path], None]] = []
        """Called once the log has its header."""
        self.log = RunLog()
        self.target = TargetLifecycle(
            service,
            outcome,
            post=self.pump.post,
            emit=self.sink.emit,
            now_s=self.pump.now_s,
            on_ready=self._on_ready,
        )
        self.sink.marks_of_causes = CauseDetector().process
        self.load_control = LoadControl(
            options,
            requested_load,
            outcome,
            self.sink,
            self.pump,
            lambda: self.target.epoch,
            growth=lambda: self.workers.growth(),
            grow=lambda: self.workers.add("autopilot"),
        )
        self._worker_reports = WorkerReports(
            self.sink,
            self.load_control.levels,
            self.log,
            self.outcome,
            epoch=lambda: self.target.epoch,
            load=lambda: requested_load.load,
            let_users_run=self._let_users_run,
        )
        self._failures = RunFailures(
            self.sink,
            self.pump,
            self.load_control,
            requested_load,
            outcome,
            epoch=lambda: self.target.epoch,
            let_users_run=self._let_users_run,
        )
        self._user_errors = UserErrorMarks()
        self._unusable_values = UnusableValueMarks()
        self._sampler: TickSampler | None = None
        self.parts = PartWatch(self.sink.emit, self.pump.now_s)
        self._first_failures = FirstFailures()

    # -- beginning and end

    def open(self) -> None:
        """Measure client overhead, create the log with its header, start probes and target."""
        try:
            now_s = self.pump.now_s()
            header, self.sink.writer = build_header(self.options, self.load_thread, self.workload, self.service, now_s)
        except LogWriteError as error:
            self.outcome.fail("log", str(error), 4)
            self._failures.log_critical(str(error))
            return
        self.path = self.sink.writer.path
        self.sink.emit(header)
        for act in self.on_path:
            act(self.path)
        probes = Probes(self.load_thread.native_id, os.getpid(), self.pump.thread_id)  # the main thread's id is the process's
        tracker, work = self.load_control.levels.tracker, self.options.profile.work
        self._sampler = TickSampler(
            self.load_thread, probes, self.parts, self.pump, self.requested_load, tracker, work, self.requests
        )
        self.pump.on_beat = self._sampler.beat
        if not self.service.has_containers:  # otherwise in `_on_ready`, when the containers are known
            self._watch(self.options.profile.watch)
        self.load_control.levels.on_opened = self.load_thread.begin_level
        self.load_control.start_alarm()
        self.target.begin()
        self.workers.begin()
        self.pump.is_due = self.load_thread.is_due
        self.pump.start_ticks()
        self.workers.align_seconds(self.pump.boundary_s)

    def close(self) -> None:
        """Record the last tick, stop load and target, then close the log."""
        if self._sampler is None:
            self.load_thread.stop(STOP_USERS_S)
            return
        self.load_control.stop()
        self.load_thread.drain_all()
        self.pump.tick()
        self.parts.report_silent()
        self.load_control.end()
        self.workers.expect_end()
        self.load_thread.stop(STOP_USERS_S)
        self.workers.end()
        self.outcome.wanted_exit_code = self.load_thread.process_exit_code
        self._emit_observed_marks(self.pump.now_s(), all_changes=True)
        self.target.end(self.pump.drain_until)
        self.pump.drain_until(lambda: False, LAST_OUTPUT_S)
        requests_file = self._write_requests()
        self._emit_log(self.pump.now_s())
        fail_without_measurement(self.outcome, self.sink.timeline, self._sampler.requests, self._sampler.failures)
        self.sink.emit(
            Ended(
                t_s=self.pump.now_s(),
                reason=self.outcome.reason or "ended by the user",
                exit_code=self.outcome.exit_code,
                signal=self.outcome.signal,
                requests=self._sampler.requests,
                failures=self._sampler.failures,
                levels=self.load_control.levels.tracker.index + 1,
                requests_kept=len(self.requests.all()) if requests_file is not None else 0,
                requests_file=requests_file,
            )
        )
        self.sink.close()
        self._sampler.close()

    def _write_requests(self) -> str | None:
        """Write the kept requests. Returns the name of their file; None if none was asked for or it cannot be written."""
        if not self.options.keep_bodies or self.path is None:
            return None
        try:
            return beside.write(self.path, self.requests.all()).name
        except OSError as error:
            self.log.add("capexplorer", "error", f"the kept requests cannot be written: {error.strerror or error}")
            return None

    # -- commands of a person

    def command(self, name: str, by: By, args: Mapping[str, Param | None]) -> None:
        """Record a command and who gave it."""
        self.sink.emit(Command(t_s=self.pump.now_s(), name=name, by=by, args=dict(args)))  # type: ignore[arg-type]

    def restart(self, params: Mapping[str, Param]) -> None:
        """Take users to zero and restart the target; the users start again in a new level."""
        self.load_control.pause()
        self.target.restart(params)

    def _on_ready(self) -> None:
        assert self._sampler is not None
        self._sampler.watch(self.service)
        if self.service.has_containers:
            self._watch(composed_parts(self.service.containers, self.options.profile.watch))
        if self.load_control.levels.tracker.index < 0:
            gc.freeze()  # objects from start-up are permanent: garbage collections under load skip them
            gc.set_threshold(700, 10, 10)  # Python's default again, so that unreferenced connections are closed soon
        self._let_users_run()

    def _watch(self, parts: Iterable[PartSpec]) -> None:
        """Watch parts in addition to those that are watched already. Parts beyond PARTS_MOST are named in the log instead."""
        for part in parts:
            if len(self.parts.watched) < PARTS_MOST:
                self.parts.add(part)
            else:
                self.log.add("capexplorer", "warning", f"{part.name} is not watched: at most {PARTS_MOST} parts are")

    def _let_users_run(self) -> None:
        """Let users run if the service is ready and the log can be written."""
        failing = self.sink.writer is not None and self.sink.writer.failure is not None
        if self.target.state == "ready" and self.workers.have_joined and not failing and not self.requested_load.is_open:
            self.load_control.begin(has_shape=self.workload.shape is not None)

    # -- reports of the load thread

    def load_report(self, report: LoadReport) -> None:
        """Handle a report of the load thread, on users or on the workers that run them."""
        match report:
            case SecondReported():
                pass  # the pump then checks whether its tick is due
            case WorkersChanged():
                self._worker_reports.changed(self.workers, report)
            case UsersMovedToWorkers():
                self._worker_reports.took_over(self.workers)
            case WorkerRefused():
                self._worker_reports.refused(report)
            case _:
                self.load_control.load_report(report)

    # -- reports on the target

    def target_report(self, report: TargetReport) -> None:
        """A report of the supervisor. Those on the null responder are dropped."""
        if not self.service.is_ours(report):
            return
        if isinstance(report, Output):
            self.log.add_output(report)
        self.target.on_report(report)

    # -- every second

    def tick(self, started_s: float, ended_s: float) -> None:
        """Emit a sample of what users did and probes read since the last tick, and have it judged."""
        assert self._sampler is not None
        self.load_control.ramp(ended_s)
        sample = self._sampler.sample(started_s, ended_s)
        if self.load_thread.recorder.names.grouping:
            self.log.add_grouping()
        for line in self._first_failures.lines(sample.failures):
            self.log.add("capexplorer", "warning", line)
        self._emit_log(ended_s)
        self._emit_observed_marks(ended_s)
        self._failures.check_load(self.load_thread, ended_s)
        self._worker_reports.ticked(self.workers)
        self.sink.emit(sample)
        if sample.suspended_s:
            self._on_suspension(sample.suspended_s)
        self.load_control.ticked()
        self.sink.flush()

    def _on_suspension(self, seconds: float) -> None:
        """Log a suspension and begin a new level at the same load, for which a plan allows more time."""
        text = f"the process was suspended for {seconds:.1f} s (stopped, or the machine slept): a new level begins here"
        self.sink.emit(Log(t_s=self.pump.now_s(), source="capexplorer", level="warning", text=text))
        start_again = self.workers.resend_users()
        self.load_control.after_suspension(seconds, load_continues=not start_again)

    def _emit_observed_marks(self, t_s: float, *, all_changes: bool = False) -> None:
        assert self._sampler is not None
        epoch, load = self.target.epoch, self.requested_load.load
        for mark in self._user_errors.marks(self.load_thread, t_s, epoch, load, all_changes=all_changes):
            self.sink.emit(mark)
        for mark in self._unusable_values.marks(self._sampler.take_unusable(), t_s, epoch, load, all_changes=all_changes):
            self.sink.emit(mark)

    def _emit_log(self, t_s: float) -> None:
        for log in self.log.drain(t_s):
            self.sink.emit(log)


# -- header --------------------------------------------------------------------------------------------------------------------
# The start of a session: measures client overhead, creates the log, and records the run's conditions in its header.


VERSIONED = ("capexplorer", "locust", "gevent", "geventhttpclient", "requests", "textual", "hdrhistogram")


def build_header(
    options: RunOptions, load_thread: LoadThread, workload: Workload, service: Service, now_s: float
) -> tuple[Header, SessionWriter]:
    """The header, and the log it is to be written to. `now_s`: the session's time. Raises LogWriteError."""
    began = datetime.now().astimezone() - timedelta(seconds=now_s)  # the wall time at which `t_s` is 0
    session_id, path = new_path(options.sessions_dir, options.name, began)
    writer = SessionWriter(path)
    overheads: dict[str, ClientOverhead] = {}

    def measure(url: str) -> None:
        for name, kind in workload.http_clients.items():
            found = load_thread.call(lambda kind=kind: client_overhead(kind, url))  # type: ignore[misc]
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
