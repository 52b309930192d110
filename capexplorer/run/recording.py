"""The pump's side of a run: levels, plan, ticks, the log. Every method but `begin` is called in the pump's thread."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..analysis import wording
from ..analysis.stop_rules import Struck
from ..analysis.watch import CauseWatch
from ..errors import LogWriteError
from ..load.endpoints import NAMES
from ..load.host import LoadHost, Report, ShapeEnded, ShapeStep, Spawned
from ..load.plan import Step
from ..load.users import Workload
from ..model.events import By, Command, Ended, Log, Mark, Note
from ..model.stream import Param
from ..probe.panel import Probes
from ..target.reports import Output
from ..target.reports import Report as TargetReport
from . import sampling
from .autopilot import Pilot
from .capture import LogGate
from .course import RAMP_OVER_S, Course
from .header import build_header
from .marking import LiveMarks
from .options import RunOptions
from .outcome import Outcome
from .outlet import Outlet
from .planned import FindKnee, Go, Lost, Planned
from .pump import Pump
from .service import Service
from .steering import Steering
from .stopping import Driver, StopWatch
from .target_life import TargetLife
from .user_errors import UserErrors

STOP_USERS_S = 10.0

LAST_OUTPUT_S = 0.2
"""What users print as they stop is still on its way through the pipes."""


class Recording:
    """What happens becomes events here, in the order in which it is told."""

    host: LoadHost
    workload: Workload

    def __init__(self, options: RunOptions, service: Service, steering: Steering, outcome: Outcome) -> None:
        self.options, self.service, self.steering, self.outcome = options, service, steering, outcome
        self.pump = Pump(self.tick, self._on_defect)
        self.outlet = Outlet(self._on_log_failure, self._on_log_recovery)
        self.path: Path | None = None
        self.on_path: Callable[[Path], None] = lambda path: None
        self.gate = LogGate()
        self.target = TargetLife(
            service,
            outcome,
            post=self.pump.post,
            emit=self.outlet.emit,
            now_s=self.pump.now_s,
            on_ready=self._on_ready,
        )
        self.outlet.watch = CauseWatch().apply
        timeline = self.outlet.timeline
        self._course = Course(timeline)
        self._marks = LiveMarks(timeline, self.outlet.emit, self.pump.now_s, self._split_level)
        self._stop_watch = StopWatch(options.profile.stop, timeline)
        self._plan = Planned(options.steps, timeline, options.profile.guards.max_users)
        self._shaped = False
        self.pilot = Pilot(
            timeline,
            steering,
            max_users=options.profile.guards.max_users,
            tell=lambda name, args: self.command(name, "autopilot", args),
            open_level=lambda users, rate: self.step(users, "autopilot", rate),
            finish=self._autopilot_finished,
        )
        self._work = sampling.WorkMeter(options.profile.work)
        self._user_errors = UserErrors()
        self._probes: Probes | None = None
        self._shape_changed_s = 0.0
        self._requests = self._failures = 0
        self._log_marks = 0
        self._log_failed: dict[str, Any] = {}
        self._grouping_told = False

    # -- beginning and end -----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Floors, header, log, probes, target."""
        try:
            header, self.outlet.writer = build_header(self.options, self.host, self.workload, self.service, self.pump.now_s())
        except LogWriteError as error:
            self.outcome.fail("log", str(error), 4)
            self._critical(str(error))
            return
        self.path = self.outlet.writer.path
        self.outlet.emit(header)
        self.on_path(self.path)
        self._probes = Probes(self.host.thread_id, os.getpid(), self.pump.thread_id)  # the main thread's id is the process's
        self.pump.alarm, self.pump.on_alarm = lambda: self._plan.next_s, self._advance_plan
        self.target.begin()
        self.pump.start_ticks()

    def close(self) -> None:
        """The last tick, then load and target end, then the log."""
        if self._probes is None:
            self.host.stop(STOP_USERS_S)
            return
        self.host.recorder.tell_all()
        self.pump.tick()
        self._close_level()
        self._marks.end()
        self._tell_user_errors(self.pump.now_s(), exactly=True)
        self.host.stop(STOP_USERS_S)
        self.target.end(self.pump.drain_until)
        self.pump.drain_until(lambda: False, LAST_OUTPUT_S)
        self._emit_log(self.pump.now_s())
        self.outlet.emit(
            Ended(
                t_s=self.pump.now_s(),
                reason=self.outcome.reason or "ended by the user",
                exit_code=self.outcome.exit_code,
                signal=self.outcome.signal,
                requests=self._requests,
                failures=self._failures,
                levels=self._course.index + 1,
            )
        )
        self.outlet.close()
        self._probes.close()

    # -- what is asked ---------------------------------------------------------------------------------------------------------

    def command(self, name: str, by: By, args: Mapping[str, Param | None]) -> None:
        """What was asked, and by whom."""
        self.outlet.emit(Command(t_s=self.pump.now_s(), name=name, by=by, args=dict(args)))  # type: ignore[arg-type]

    def note(self, text: str) -> None:
        """What the user wrote."""
        self.outlet.emit(Note(t_s=self.pump.now_s(), text=text))

    def step(self, users: int, by: By, spawn_rate: float, *, ramp: bool = False) -> None:
        """The load was told to go to `users`: a new level. A step by hand ends a plan."""
        if by == "user":
            self._undrive()
            self.outcome.recover("stop_rule")
        if by != "autopilot":
            self.pilot.taken_over(by)
        if not self.steering.is_open:
            return  # kept as wanted until the service is ready
        self._close_level()
        self._course.epoch = self.target.epoch
        self.outlet.emit(self._course.open(self.pump.now_s(), users, spawn_rate, by, ramp=ramp))

    @property
    def driver(self) -> Driver | None:
        """What steps the users now, if it is not a person."""
        if self.pilot.is_on:
            return "autopilot"
        return "plan" if self._shaped or self._plan.is_on else None

    def _undrive(self) -> None:
        """Whoever stepped the users steps no more; the autopilot ends by itself."""
        self._plan.end()
        self._shaped = False

    def begin_plan(self, steps: tuple[Step, ...]) -> None:
        """From its first step, in place of whatever drove."""
        self._undrive()
        self.pilot.taken_over("plan")
        self._plan.begin(steps)
        if self.steering.is_open:
            self._advance_plan()

    def switch_autopilot(self, on: bool) -> None:
        """From what is known now on; it ends a plan or a shape."""
        if on:
            self._undrive()
            self.pilot.begin(self.options.start_users)
        else:
            self.pilot.end()

    def _autopilot_finished(self, reason: str) -> None:
        self._plan.found(self.pump.now_s())
        if self.options.autopilot:
            self.outcome.finish(reason)

    def restart(self, params: Mapping[str, Param]) -> None:
        """Users go to zero, the target restarts; then users come back in a new level."""
        self._close_level()
        self.steering.shut()
        self.target.restart(params)

    def _on_ready(self) -> None:
        assert self._probes is not None
        port = self.service.port if self.service.url else None  # users may have hosts of their own
        self._probes.watch(self.service.pid, port, self.service.metrics_url)
        first = self._course.index < 0
        if first:
            gc.collect()
            gc.freeze()  # what start-up made stays: no collection under load walks it again
        if self._plan.is_on and (first or not self._plan.has_begun):
            self.steering.is_open = True
            self._advance_plan()
        elif first and self.options.autopilot:
            self.steering.is_open = True
            self.pilot.begin(self.options.start_users)
            self.pilot.ticked()
        elif first and self.workload.shape is not None and self.options.follow_shape:
            self._shaped = True
            self.steering.follow_shape()
        else:
            self.step(self.steering.wanted, "autopilot" if self.pilot.is_on else "user", self.steering.open())

    # -- what load and target tell -----------------------------------------------------------------------------------------------

    def load_report(self, report: Report) -> None:
        """Of the load thread."""
        match report:
            case Spawned(users, at_s):
                if users == self.steering.wanted:
                    self._course.spawned(self.pump.at_s(at_s))
                    self._plan.spawned(self.pump.at_s(at_s))
            case ShapeStep(users, spawn_rate):
                self._follow_shape(users, spawn_rate)
            case ShapeEnded():
                self.step(0, "plan", self.steering.step(0))
                self.outcome.finish("shape finished")

    def target_report(self, report: TargetReport) -> None:
        """Of the supervisor; those on the null responder are not ours."""
        if not self.service.is_ours(report):
            return
        if isinstance(report, Output):
            for line in report.lines:
                self.gate.add("target", "info", line)
            if report.dropped:
                self.gate.add("capexplorer", "warning", f"{report.dropped} lines of the target's output were left out")
        self.target.on_report(report)

    def _follow_shape(self, users: int, spawn_rate: float) -> None:
        """A shape that changes before its level settled is a ramp: one level, binned by user count."""
        opened = self._course.opened
        self.steering.wanted, self._shape_changed_s = users, self.pump.now_s()
        if opened is None or not opened.ramp:
            moving = opened is not None and opened.by == "plan" and self._course.phase != "settled"
            self.step(users, "plan", spawn_rate, ramp=moving)

    def _advance_plan(self) -> None:
        match self._plan.due(self.pump.now_s(), self.steering.wanted):
            case Go(users, None, at_once):
                self.step(users, "plan", self.steering.step(users, at_once=at_once))
            case Go(users, over_s):
                change = abs(users - self.steering.wanted)
                self.steering.begin_ramp()
                self.step(users, "plan", max(change, 1) / (over_s or 1.0), ramp=True)
            case FindKnee():
                self.pilot.begin(max(1, self.steering.wanted))
                self.pilot.ticked()
            case Lost(why):
                self.step(0, "guard", self.steering.step(0))
                self.outcome.fail("plan", why, 3)
            case None if self._plan.is_over:
                self._close_level()
                self.outcome.finish("plan finished")

    def _close_level(self) -> None:
        closed = self._course.close(self.pump.now_s())
        if closed is not None:
            self.outlet.emit(closed)
            self._marks.judge()

    def _split_level(self, since_s: float, shifted: Literal["goodput", "latency"]) -> bool:
        parts = self._course.split(self.pump.now_s(), since_s, shifted)
        for event in parts or ():
            self.outlet.emit(event)
        return parts is not None

    def _strike(self, found: Sequence[Struck]) -> None:
        """Stop rules: told, and the end of whatever drives. By hand they only mark."""
        driver = self.driver
        for each in found:
            self.outlet.emit(self._stop_watch.mark(each, self.pump.now_s(), driver))
        if found and driver is not None:
            said = wording.stop_rule(found[0].rule, found[0].measured, found[0].limit, float(self.steering.wanted))
            self._undrive()
            self.step(0, "guard", self.steering.step(0))
            self.outcome.fail("stop_rule", said, 3)

    # -- every second ------------------------------------------------------------------------------------------------------------

    def tick(self, started_s: float, ended_s: float) -> None:
        """What users did and probes read since the last tick, as a sample."""
        assert self._probes is not None
        self._end_ramp(ended_s)
        tick, lag, users = self.host.recorder.drain(), self.host.lag.drain(), self.host.users
        exhausted = any(failure.signature.errno == errno.EADDRNOTAVAIL for failure in tick.failures)
        readings = self._probes.read(ended_s - started_s, ports_exhausted=exhausted)
        phase, settled = self._course.tick(started_s, ended_s, users, tick)
        sample = sampling.build(
            started_s=started_s,
            ended_s=ended_s,
            level=max(0, self._course.index),
            users=users,
            wanted=self.steering.wanted,
            phase=phase,
            settled=settled,
            tick=tick,
            work=self._work.read(tick, readings.app),
            lag=lag,
            readings=readings,
        )
        self._tell_grouping()
        self._requests += tick.all_requests
        self._failures += sum(failure.count for failure in tick.failures)
        self._emit_log(ended_s)
        self._tell_user_errors(ended_s)
        self.outlet.emit(sample)
        self._marks.ticked()
        self._strike(self._stop_watch.look())
        self.pilot.ticked()
        self.outlet.flush()

    def _tell_user_errors(self, t_s: float, *, exactly: bool = False) -> None:
        mark = self._user_errors.mark(self.host, t_s, self.target.epoch, self.steering.wanted, exactly=exactly)
        if mark is not None:
            self.outlet.emit(mark)

    def _end_ramp(self, now_s: float) -> None:
        """Of a shape that stands still; a plan knows when its ramps end."""
        ramping = self._plan.ramping(now_s)
        if ramping is not None:
            self.steering.ramp(ramping)
            return
        opened = self._course.opened
        if opened is not None and opened.ramp and now_s - self._shape_changed_s >= RAMP_OVER_S:
            self.step(self.steering.wanted, "plan", opened.spawn_rate)

    def _tell_grouping(self) -> None:
        if self.host.recorder.names.grouping and not self._grouping_told:
            self._grouping_told = True
            text = f"more than {NAMES} endpoint names: from here on, parts that look like ids are counted together as {{id}}"
            self.gate.add("capexplorer", "warning", text)

    def _emit_log(self, t_s: float) -> None:
        for log in self.gate.drain(t_s):
            self.outlet.emit(log)

    # -- failing -----------------------------------------------------------------------------------------------------------------

    def _on_log_failure(self, error: LogWriteError) -> None:
        """Users go to zero. What happens from now on is kept in memory, and written if space comes back."""
        if self.steering.is_open:
            self.step(0, "guard", self.steering.step(0))
        self.steering.shut()
        self._critical(str(error))
        now_s = self.pump.now_s()
        self._log_failed = {"count": self._log_failed.get("count", 0) + 1, "first_s": now_s, "example": str(error)}
        self._mark_log("open")
        self.outcome.fail("log", str(error), 4)

    def _on_log_recovery(self) -> None:
        """All that was kept is written; users may run again, when someone says so."""
        self.steering.is_open = self.target.state == "ready"
        self._mark_log("closed")
        self.outcome.recover("log")

    def _mark_log(self, state: Literal["open", "closed"]) -> None:
        self._log_marks += 1
        evidence = {**self._log_failed, "last_s": self.pump.now_s()}
        mark = Mark(
            t_s=self.pump.now_s(),
            key="cause:log_write_failed",
            revision=self._log_marks,
            state=state,
            kind="cause",
            id="log_write_failed",
            epoch=self.target.epoch,
            severity="critical",
            confidence="high",
            evidence=evidence,
            advice=wording.advice("log_write_failed", evidence),
        )
        self.outlet.emit(mark)

    def _on_defect(self, text: str) -> None:
        """The load ends and whoever waits is told before anything else that the defect may reach, too."""
        self.steering.shut()
        self.outcome.fail("defect", f"a defect in capexplorer: {text.strip().splitlines()[-1]}", 1, tuple(text.splitlines()))
        self.outlet.watch = lambda event: ()
        self._critical(text)

    def _critical(self, text: str) -> None:
        self.outlet.emit(Log(t_s=self.pump.now_s(), source="capexplorer", level="critical", text=text))
