"""A live run as others see it: an EventSource and Controls.

Calls of `Controls` act on the load at once, in the caller's thread, and are told to the pump, which alone orders and records.
Methods that begin with `_on_` run in the pump's thread.
"""

from __future__ import annotations

import errno
import os
import signal
from _queue import Empty
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import InputError, LogWriteError, TargetError
from ..load import native
from ..load.host import LoadHost, ShapeEnded, ShapeStep, Spawned, UserError
from ..load.host import Report as LoadReport
from ..load.plan import PlanCursor
from ..load.users import Workload
from ..model.events import By, Command, Ended, Event, Log, Mark, Note, Target, TargetState
from ..model.stream import Param
from ..probe.panel import Probes
from . import sampling
from .capture import LogGate
from .course import RAMP_OVER_S, Course
from .header import build_header
from .options import RunOptions
from .outlet import Outlet
from .pump import Pump
from .service import Exited, Output, Service, Started
from .service import Report as TargetReport

SPAWN_RATE_MOST = 100.0
"""Users a second, unless told otherwise; beyond it Locust itself warns."""

STOP_USERS_S = 10.0
STOP_TARGET_S = 8.0


class LiveRun:
    """One session. `start`, then `Controls`, then `close`; `outcome` tells when a headless run is over."""

    host: LoadHost
    workload: Workload

    def __init__(self, options: RunOptions, service: Service) -> None:
        self.options, self.service = options, service
        self.path: Path | None = None
        self.on_path: Callable[[Path], None] = lambda path: None
        """Called (pump's thread) as soon as the log exists."""
        self.outcome: str | None = None
        """Why a run that ends by itself is over: `plan finished`, `target died`, `log write failed`."""
        self.exit_code = 0
        self.error = ""
        """One line for whoever sees no screen, with the target's last output lines in `output`."""
        self.output: tuple[str, ...] = ()
        self._pump = Pump(self._on_tick, self._on_defect)
        self._outlet = Outlet(self._on_log_failure)
        self._course = Course()
        self._gate = LogGate()
        self._work = sampling.WorkMeter(options.profile.work)
        self._plan = PlanCursor(options.steps)
        self._probes: Probes | None = None
        self._wanted = options.start_users
        self._spawn_rate = options.spawn_rate
        self._loaded = False
        """The service is ready, so users may run."""
        self._target_state: TargetState | None = None
        self._shape_changed_s = 0.0
        self._closing = self._closed = False
        self._ended_by: tuple[str, str | None] = ("ended by the user", None)
        self._totals = {"requests": 0, "failures": 0}
        self._user_errors = 0
        self._user_error_revision = 0
        self._last_user_error = ""
        self._replaced = 0
        self._log_failed = False

    def drive(self, host: LoadHost, workload: Workload) -> None:
        """The load to control; before `start`."""
        self.host, self.workload = host, workload

    # -- EventSource ---------------------------------------------------------------------------------------------------------

    def start(self, wake: Callable[[], None]) -> None:
        """Begin: floors, header, target, users; all in the pump's thread. Returns at once."""
        self._outlet.wake = wake
        self._pump.alarm = lambda: self._plan.next_s
        self._pump.on_alarm = self._on_plan
        self._pump.post(self._on_begin)
        native.start_thread(self._pump.run)

    def take(self) -> Sequence[Event]:
        """All events since the last call."""
        return self._outlet.take()

    def interrupt(self, name: str) -> None:
        """A signal asks for the end; `close` does it. From any thread."""
        self._ended_by = (f"ended by {name}", name)
        self.exit_code = 128 + signal.Signals[name]
        self.outcome = self.outcome or self._ended_by[0]
        self._outlet.wake()

    def close(self) -> None:
        """Stop users and target, write the end, close the log."""
        if self._closed:
            return
        self._closed = True
        self._pump.end(self._on_end)
        try:
            self._pump.finished.get(timeout=STOP_USERS_S + STOP_TARGET_S + 10.0)
        except Empty:
            self.error = self.error or "the run did not end in time"
            self.exit_code = self.exit_code or 1
        self.service.supervisor.close()

    # -- Controls ------------------------------------------------------------------------------------------------------------

    @property
    def wanted(self) -> int:
        """Users wanted now."""
        return self._wanted

    @property
    def max_users(self) -> int:
        """The profile's guard."""
        return self.options.profile.guards.max_users

    @property
    def spawn_rate(self) -> float | None:
        """Users a second; None: automatic."""
        return self._spawn_rate

    @property
    def target_params(self) -> Mapping[str, Param]:
        """Of the target that we started."""
        return self.service.params

    @property
    def can_restart(self) -> bool:
        """Whether we started the target."""
        return self.service.spec is not None

    def set_users(self, users: int) -> int:
        """Step by hand; ends a plan or a shape."""
        users = max(0, min(users, self.max_users))
        self._tell("users", users=users, before=self._wanted)
        self._step(users, "user")
        return users

    def set_step(self, step: int) -> None:
        """Only for the record."""
        self._tell("step", step=step)

    def set_spawn_rate(self, rate: float | None) -> None:
        """From the next step on."""
        self._spawn_rate = rate
        self._tell("spawn_rate", rate=rate)

    def new_level(self) -> None:
        """A new level at the same count."""
        wanted = self._wanted
        self._tell("new_level", users=wanted)
        self._pump.post(lambda: self._on_step(wanted, "user"))

    def zero(self) -> None:
        """All users stop at once."""
        self._tell("zero", before=self._wanted)
        self._step(0, "user")

    def note(self, text: str) -> None:
        """A note at this moment."""
        self._tell("note", text=text)
        self._pump.post(lambda: self._emit(Note(t_s=self._pump.now_s(), text=text)))

    def restart_target(self, params: Mapping[str, str]) -> None:
        """Users go to zero, the target restarts, users come back in a new level."""
        if self.service.spec is None:
            raise InputError("the target was not started by capexplorer, so it cannot be restarted here")
        resolved = self.service.spec.resolve({**self.service.params, **params}, "restart")
        self._tell("restart", **resolved)
        self._pump.post(lambda: self._on_restart(resolved))

    def quit(self) -> None:
        """For the record; `close` ends."""
        self._tell("quit")

    def _tell(self, name: str, **args: Param | None) -> None:
        self._pump.post(lambda: self._emit(Command(t_s=self._pump.now_s(), name=name, args=args)))  # type: ignore[arg-type]

    def _step(self, users: int, by: By) -> None:
        """Act on the load now; the pump records it."""
        rate = self._rate_to(users)
        self._wanted = users
        if self._loaded:
            self.host.set_users(users, rate)
        self._pump.post(lambda: self._on_step(users, by, rate))

    def _rate_to(self, users: int) -> float:
        difference = max(1, abs(users - self._wanted))
        if users == 0:
            return float(difference)  # to zero is always at once
        return self._spawn_rate if self._spawn_rate is not None else min(SPAWN_RATE_MOST, float(difference))

    # -- from other threads --------------------------------------------------------------------------------------------------

    def told_by_load(self, report: LoadReport) -> None:
        """A report of the load thread."""
        self._pump.post(lambda: self._on_load_report(report))

    def told_by_target(self, report: TargetReport) -> None:
        """A report of the supervisor."""
        self._pump.post(lambda: self._on_target_report(report))

    def told_by_guard(self, host: str) -> None:
        """A connection to a host that is not allowed was refused."""
        text = f"load to {host} is not allowed and was refused (only loopback, or --allow-host {host})"
        self._pump.post(lambda: self._gate.add("capexplorer", "error", text))

    def told_by_log(self, source: str, level: str, text: str) -> None:
        """A line that was logged or printed."""
        self._pump.post(lambda: self._gate.add(source, level, text))

    # -- in the pump's thread: beginning and end -------------------------------------------------------------------------------

    def _on_begin(self) -> None:
        try:
            header, writer = build_header(self.options, self.host, self.workload, self.service)
        except LogWriteError as error:
            self._fail(str(error), 4)
            self._outlet.show(Log(t_s=self._pump.now_s(), source="capexplorer", level="critical", text=str(error)))
            return
        self._outlet.writer = writer
        self.path = writer.path
        self._emit(header)
        self._outlet.flush()
        self.on_path(writer.path)
        self._probes = Probes(self.host.thread_id, os.getpid(), self._pump.thread_id)  # the main thread's id is the process's
        if self.service.spec is None:
            self._on_ready()
        else:
            self._bring_up(self.service.params)
        self._pump.start_ticks()

    def _bring_up(self, params: Mapping[str, Param]) -> None:
        self._target("starting", params=dict(params))

        def body() -> None:
            try:
                self.service.bring_up(params)
            except TargetError as error:
                failure = error
                self._pump.post(lambda: self._on_not_ready(failure))
            else:
                self._pump.post(self._on_ready)

        native.start_thread(body)

    def _on_not_ready(self, error: TargetError) -> None:
        self._target("failed", reason=str(error), output=error.output)
        self._fail(str(error), 4, error.output)

    def _on_ready(self) -> None:
        if self._closing:
            return
        assert self._probes is not None
        self._probes.watch(self.service.find_pid(), self.service.port, self.service.metrics_url)
        if self.service.spec is not None:
            self.exit_code, self.error = 0, ""
        self._target("ready", pid=self.service.pid, params=dict(self.service.params))
        self._loaded = True
        if self.options.steps and self._plan.index < 0:
            self._on_plan()
        elif self.workload.shape is not None and self.options.follow_shape and self._course.index < 0:
            self.host.start_shape()
        else:
            rate = self._spawn_rate or min(SPAWN_RATE_MOST, float(max(1, self._wanted)))
            self.host.set_users(self._wanted, rate)
            self._on_step(self._wanted, "user", rate)

    def _on_end(self) -> None:
        self._closing = True
        if self._pump.now_s() > 0 and self._probes is not None:
            self._pump.tick()
        self._close_level()
        self.host.stop(STOP_USERS_S)
        if self._target_state in ("starting", "ready"):
            self._target("stopping", pid=self.service.pid)
            self.service.stop()
            self._pump.drain_until(lambda: self._target_state in ("stopped", "died", "failed"), STOP_TARGET_S)
        for log in self._gate.drain(self._pump.now_s()):
            self._emit(log)
        reason, signal_name = self._ended_by
        reason = self.outcome or reason
        self._emit(
            Ended(
                t_s=self._pump.now_s(),
                reason=reason,
                exit_code=self.exit_code,
                signal=signal_name,
                levels=self._course.index + 1,
                **self._totals,
            )
        )
        self._outlet.close()
        if self._probes is not None:
            self._probes.close()

    # -- in the pump's thread: levels ------------------------------------------------------------------------------------------

    def _on_step(self, users: int, by: By, rate: float | None = None, *, ramp: bool = False) -> None:
        if by == "user":
            self._plan = PlanCursor(())
        if not self._loaded:
            return  # kept in `_wanted` until the service is ready
        self._close_level()
        self._emit(self._course.open(self._pump.now_s(), users, rate or self._rate_to(users), by, ramp=ramp))

    def _close_level(self) -> None:
        closed = self._course.close(self._pump.now_s())
        if closed is not None:
            self._emit(closed)

    def _on_plan(self) -> None:
        step = self._plan.due(self._pump.now_s())
        if step is not None:
            self._step(step.users, "plan")
        elif self._plan.finished and self._plan.steps:
            self._close_level()
            self.outcome = self.outcome or "plan finished"
            self._outlet.wake()

    def _on_load_report(self, report: LoadReport) -> None:
        match report:
            case Spawned(users, at_s):
                if users == self._wanted:
                    self._course.spawned(self._pump.at_s(at_s))
                    self._plan.spawned(self._pump.at_s(at_s))
            case ShapeStep(users, spawn_rate):
                self._on_shape(users, spawn_rate)
            case ShapeEnded():
                self._close_level()
                self._step(0, "plan")
                self.outcome = self.outcome or "shape finished"
                self._outlet.wake()

    def _on_shape(self, users: int, spawn_rate: float) -> None:
        """A shape that changes before its level settled is a ramp: one level, binned later."""
        opened, now_s = self._course.opened, self._pump.now_s()
        self._wanted, self._shape_changed_s = users, now_s
        if opened is not None and opened.ramp:
            return
        moving = opened is not None and opened.by == "plan" and self._course.phase != "settled"
        self._on_step(users, "plan", spawn_rate, ramp=moving)

    # -- in the pump's thread: every second --------------------------------------------------------------------------------------

    def _on_tick(self, started_s: float, ended_s: float) -> None:
        assert self._probes is not None
        opened = self._course.opened
        if opened is not None and opened.ramp and ended_s - self._shape_changed_s >= RAMP_OVER_S and not self._closing:
            self._on_step(self._wanted, "plan")
        tick, lag, users = self.host.recorder.drain(), self.host.lag.drain(), self.host.users
        exhausted = any(failure.signature.errno == errno.EADDRNOTAVAIL for failure in tick.failures)
        readings = self._probes.read(ended_s - started_s, ports_exhausted=exhausted)
        phase, settled = self._course.tick(started_s, ended_s, users, tick)
        sample = sampling.build(
            started_s=started_s,
            ended_s=ended_s,
            level=max(0, self._course.index),
            users=users,
            wanted=self._wanted,
            phase=phase,
            settled=settled,
            tick=tick,
            work=self._work.read(tick, readings.app),
            lag=lag,
            readings=readings,
        )
        self._course.add(sample)
        self._totals["requests"] += sum(each.requests + each.warmup_requests for each in tick.endpoints)
        self._totals["failures"] += sum(each.failures + each.warmup_failures for each in tick.endpoints)
        for log in self._gate.drain(ended_s):
            self._emit(log)
        self._mark_user_errors(ended_s)
        self._emit(sample)
        self._outlet.flush()

    def _mark_user_errors(self, t_s: float) -> None:
        errors: list[UserError] = [self.host.user_errors.popleft() for _ in range(len(self.host.user_errors))]
        if not errors and self.host.replaced == self._replaced:
            return
        first = self._user_errors == 0 and self._replaced == 0
        self._user_errors += len(errors)
        self._replaced = self.host.replaced
        if not self._user_errors:
            return  # users that ended by themselves (StopUser) were replaced: no error
        self._user_error_revision += 1
        evidence: dict[str, Param] = {"exceptions": self._user_errors, "users_replaced": self._replaced}
        if errors:
            self._last_user_error = f"{errors[-1].type}: {errors[-1].text} ({errors[-1].line})"
        evidence["last"] = self._last_user_error
        self._emit(
            Mark(
                t_s=t_s,
                key="cause:user_code_error",
                revision=self._user_error_revision,
                state="open" if first else "updated",
                kind="cause",
                id="user_code_error",
                epoch=self._course.epoch,
                users=self._wanted,
                severity="error",
                confidence="high",
                evidence=evidence,
                advice="mend the locustfile: users that die do not make the load that was asked for",
            )
        )

    # -- in the pump's thread: the target ----------------------------------------------------------------------------------------

    def _on_restart(self, params: Mapping[str, Param]) -> None:
        self._close_level()
        self._loaded = False
        self.host.set_users(0, max(1.0, float(self.host.users)))
        if dict(params) != dict(self.service.params):
            self._course.epoch += 1
        self._target("stopping", pid=self.service.pid)
        self._bring_up(params)

    def _on_target_report(self, report: TargetReport) -> None:
        if not self.service.is_current(report):
            return
        match report:
            case Output():
                for line in report.lines:
                    self._gate.add("target", "info", line)
                if report.dropped:
                    self._gate.add("capexplorer", "warning", f"{report.dropped} lines of the target's output were left out")
            case Exited() if self._target_state == "stopping":
                self._target("stopped", exit_code=report.code, signal=report.signal)
            case Exited() if self._target_state == "ready":
                self._target("died", exit_code=report.code, signal=report.signal, output=report.output)
                self._fail(f"{self.service.facts.name}: the target died: {report.how()}", 4, report.output)
            case Exited() | Started():
                pass  # while starting, readiness tells

    def _target(
        self,
        state: TargetState,
        *,
        pid: int | None = None,
        exit_code: int | None = None,
        signal: str | None = None,
        reason: str | None = None,
        params: Mapping[str, Param] | None = None,
        output: tuple[str, ...] = (),
    ) -> None:
        self._target_state = state
        self._emit(
            Target(
                t_s=self._pump.now_s(),
                state=state,
                epoch=self._course.epoch,
                pid=pid,
                exit_code=exit_code,
                signal=signal,
                reason=reason,
                params=dict(params or {}),
                output=output,
            )
        )

    # -- in the pump's thread: failing -------------------------------------------------------------------------------------------

    def _emit(self, event: Event) -> None:
        self._outlet.emit(event)

    def _fail(self, error: str, exit_code: int, output: tuple[str, ...] = ()) -> None:
        self.error, self.exit_code, self.output = error, exit_code, output
        self.outcome = error if self.outcome is None else self.outcome
        self._outlet.wake()

    def _on_log_failure(self, error: LogWriteError) -> None:
        if self._log_failed:
            return
        self._log_failed = True
        self._loaded = False
        self.host.set_users(0, max(1.0, float(self.host.users)))
        self._wanted = 0
        t_s = self._pump.now_s()
        self._outlet.show(Log(t_s=t_s, source="capexplorer", level="critical", text=str(error)))
        self._outlet.show(
            Mark(
                t_s=t_s,
                key="cause:log_write_failed",
                state="open",
                kind="cause",
                id="log_write_failed",
                severity="critical",
                confidence="high",
                evidence={"error": str(error)},
                advice="free space on the disk of the sessions folder; users went to zero, nothing recorded is lost",
            )
        )
        self._fail(str(error), 4)

    def _on_defect(self, text: str) -> None:
        self._fail(f"a defect in capexplorer's recorder: {text.strip().splitlines()[-1]}", 1, tuple(text.splitlines()))
        self.host.set_users(0, max(1.0, float(self.host.users)))
        self._outlet.show(Log(t_s=self._pump.now_s(), source="capexplorer", level="critical", text=text))
