"""Who steps the users (a person, a plan, a shape, the autopilot), what ends that, and the levels that come of it.

Every method is called in the pump's thread. It tells levels and marks as events; must not know probes, log or target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from .. import wording
from ..analysis.stop_rules import Struck
from ..load.host import Report as LoadReport
from ..load.host import RunnerEnded, ShapeEnded, ShapeStep, Spawned
from ..load.plan import Step
from ..model.events import By, Command
from ..model.stream import Param
from .current_epoch import Look
from .drivers.autopilot import Pilot
from .drivers.load_target import Steering
from .drivers.plan import FindKnee, Go, Lost, Planned
from .drivers.stop_watch import Driver, StopWatch
from .event_sink import Outlet
from .level_tracker import RAMP_OVER_S, Course
from .live_marks import LiveMarks
from .options import RunOptions
from .pump import Pump
from .run_outcome import Outcome

EndedBy = Literal["finished", "taken_over", "stop_rule", "no_knee", "restart"]
"""Why a plan or a shape steps no more."""


class Driving:
    """`begin` when the service is ready, `ramp` before each tick is read, `ticked` after it was told; `stop`, then `end`."""

    def __init__(
        self, options: RunOptions, steering: Steering, outcome: Outcome, outlet: Outlet, pump: Pump, epoch: Callable[[], int]
    ) -> None:
        self._options, self._steering, self._outcome = options, steering, outcome
        self._emit, self._pump, self._epoch = outlet.emit, pump, epoch
        timeline, max_users = outlet.timeline, options.profile.guards.max_users
        self._timeline = timeline
        self.course = Course(timeline)
        self._marks = LiveMarks(timeline, outlet.emit, pump.now_s, self._split_level)
        self._stop_watch = StopWatch(options.profile.stop, timeline)
        self._plan = Planned(options.steps, timeline, max_users)
        self._pilot = Pilot(
            timeline,
            steering,
            max_users=max_users,
            tell=lambda name, args: self._emit(Command(t_s=pump.now_s(), name=name, by="autopilot", args=dict(args))),
            open_level=lambda users, rate: self.step(users, "autopilot", rate),
            finish=self._autopilot_finished,
        )
        self._shaped = False
        self._shape_changed_s = 0.0

    # -- who drives

    @property
    def driver(self) -> Driver | None:
        """What steps the users now, if it is not a person."""
        if self._pilot.is_on:
            return "autopilot"
        return "plan" if self._shaped or self._plan.is_on else None

    def begin(self, *, has_shape: bool) -> None:
        """Users may run, first or again: whoever drives goes on; where nobody does, users wanted meanwhile come."""
        first = self.course.index < 0
        self._steering.is_open = True  # before the rest: a step by hand reaches the load itself from now on
        if self._plan.is_on and not self._plan.has_begun and self._steering.planned:
            self._advance_plan()
        elif first and self._options.autopilot:
            self._pilot.begin(self._options.start_users)
            self._pilot.ticked(Look(self._timeline))
        elif first and has_shape and self._options.follow_shape:
            self._shaped = True
            self._steering.follow_shape()
        elif self.course.opened is None or self.course.opened.users != self._steering.wanted:
            self.step(self._steering.wanted, "autopilot" if self._pilot.is_on else "user", self._steering.open())

    def pause(self) -> None:
        """The target restarts: no users and no level until `begin`. A plan that has not begun waits for that."""
        if self._shaped or self._plan.has_begun:
            self._undrive("restart", "user")
        self.close_level()
        self._steering.shut()

    def begin_plan(self, steps: tuple[Step, ...]) -> None:
        """From its first step, in place of whatever drove."""
        self._undrive("taken_over", "plan")
        self._pilot.taken_over("plan")
        self._plan.begin(steps)
        if self._steering.is_open:
            self._advance_plan()

    def switch_autopilot(self, on: bool) -> None:
        """From what is known now on; it ends a plan or a shape."""
        self._undrive("taken_over", "autopilot" if on else "user")
        if on:
            self._begin_autopilot(self._options.start_users)
        else:
            self._pilot.end()

    def _begin_autopilot(self, first_users: int) -> None:
        """In a level that it can judge: a ramp has no figures of its own."""
        self._pilot.begin(first_users)
        opened = self.course.opened
        if self._steering.is_open and (opened.ramp if opened is not None else self.course.index >= 0):
            users = self._steering.wanted
            rate = self._steering.pilot(users)
            if rate is not None:
                self.step(users, "autopilot", rate)

    def _autopilot_finished(self, reason: str) -> None:
        self._plan.found(self._pump.now_s())
        if self._options.autopilot:
            self._outcome.finish(reason)

    def _undrive(self, why: EndedBy, who: By) -> None:
        """A plan or a shape steps no more, and the session says so; the autopilot ends by itself."""
        if self._plan.is_on or self._shaped:
            self._tell_end(why, who)
        self._plan.end()
        self._shaped = False

    def _tell_end(self, why: EndedBy, who: By) -> None:
        what = "shape" if self._shaped else "plan"
        args: dict[str, Param | None] = {"on": False, "what": what, "why": why, "users": self._steering.wanted}
        self._emit(Command(t_s=self._pump.now_s(), name="plan", by=who, args=args))

    # -- steps and levels

    def step(self, users: int, by: By, spawn_rate: float, *, ramp: bool = False) -> None:
        """The load was told to go to `users`: a new level. A step by hand or by a guard ends a plan."""
        if by == "user":
            self._outcome.recover("stop_rule")
        if by in ("user", "guard"):
            self._undrive("taken_over", by)
        if by != "autopilot":
            self._pilot.taken_over(by)
        if users != self._steering.wanted and not ramp:
            return  # a later step overtook this one in another thread: the level is that one's
        if self._steering.is_open:  # else kept as wanted until the service is ready
            self.close_level()
        if not self._steering.is_open:
            return  # the log failed as the level closed, and users went to zero in a level of their own
        self.course.epoch = self._epoch()
        self._emit(self.course.open(self._pump.now_s(), users, spawn_rate, by, ramp=ramp))

    def to_zero(self, by: By) -> None:
        """No users, in a level of its own."""
        self.step(0, by, self._steering.step(0))

    def close_level(self) -> None:
        """The open level's end, if one is open, and what it says."""
        closed = self.course.close(self._pump.now_s())
        if closed is not None:
            self._emit(closed)
            self._marks.judge()

    def reopen_level(self) -> None:
        """The same users, measured anew; whoever drives goes on."""
        opened = self.course.opened
        if opened is not None:
            self.close_level()
            self._emit(self.course.open(self._pump.now_s(), opened.users, opened.spawn_rate, opened.by, ramp=opened.ramp))

    def _split_level(self, since_s: float, shifted: Literal["goodput", "latency"]) -> bool:
        parts = self.course.split(self._pump.now_s(), since_s, shifted)
        for event in parts or ():
            self._emit(event)
        return parts is not None

    def load_report(self, report: LoadReport) -> None:
        """Of the load thread."""
        match report:
            case Spawned(users, at_s):
                if users == self._steering.wanted:
                    self.course.spawned(self._pump.at_s(at_s))
                    self._plan.spawned(self._pump.at_s(at_s))
            case ShapeStep(users, spawn_rate):
                self._follow_shape(users, spawn_rate)
            case ShapeEnded() if self._steering.shaped:
                self._undrive("finished", "plan")
                self.to_zero("plan")
                self._outcome.finish("shape finished")
            case RunnerEnded(call):
                self._emit(Command(t_s=self._pump.now_s(), name="runner", by="plan", args={"call": call}))
                self.to_zero("user")
                self._outcome.fail("locustfile", f"the locustfile ended the load: runner.{call}()", 0)

    def _follow_shape(self, users: int, spawn_rate: float) -> None:
        """A shape that changes before its level settled is a ramp: one level, binned by user count."""
        if not self._steering.shape(users):
            return
        opened, self._shape_changed_s = self.course.opened, self._pump.now_s()
        if opened is None or not opened.ramp:
            moving = opened is not None and opened.by == "plan" and self.course.phase != "settled"
            self.step(users, "plan", spawn_rate, ramp=moving)

    # -- as time goes on

    def start_alarm(self) -> None:
        """From now on the pump wakes for a plan's moves."""
        self._pump.alarm, self._pump.on_alarm = lambda: self._plan.next_s, self._advance_plan

    def _advance_plan(self) -> None:
        now_s = self._pump.now_s()
        ramping = self._plan.ramping(now_s)
        if ramping is not None:
            self._steering.ramp(ramping)  # its last users, before the next move
        match self._plan.due(now_s, self._steering.wanted):
            case Go(users, None, at_once):
                rate = self._steering.plan(users, at_once=at_once)
                if rate is not None:
                    self.step(users, "plan", rate)
            case Go(users, over_s):
                change = abs(users - self._steering.wanted)
                if self._steering.begin_ramp():
                    self.step(users, "plan", max(change, 1) / (over_s or 1.0), ramp=True)
            case FindKnee() if self._steering.planned:
                self._begin_autopilot(max(1, self._steering.wanted))
                self._pilot.ticked(Look(self._timeline))
            case Lost(why):
                self._tell_end("no_knee", "plan")
                self.to_zero("guard")
                self._outcome.fail("plan", why, 3)
            case None if self._plan.is_over:
                self._finish_plan()

    def _finish_plan(self) -> None:
        """Users stay, and so does their level: whoever watches goes on by hand. A ramp's level ends as that of a shape does."""
        self._tell_end("finished", "plan")
        self._plan.end()
        self._shape_changed_s = self._pump.now_s()
        self._outcome.finish("plan finished")

    def ramp(self, now_s: float) -> None:
        """A ramp's next users; the end of that of a shape that stands still. A plan knows when its ramps end."""
        ramping = self._plan.ramping(now_s)
        if ramping is not None:
            self._steering.ramp(ramping)
            return
        opened = self.course.opened
        if opened is not None and opened.ramp and now_s - self._shape_changed_s >= RAMP_OVER_S:
            self.step(self._steering.wanted, "plan", opened.spawn_rate)

    def ticked(self) -> None:
        """A second was folded into the timeline: what it shows is marked, and whoever drives looks at it."""
        self._marks.look_for_shifts()
        look = Look(self._timeline)
        self._marks.ticked(look)
        self._strike(self._stop_watch.look(look))
        self._pilot.ticked(look)

    def _strike(self, found: Sequence[Struck]) -> None:
        """Stop rules: told, and the end of whatever drives. By hand they only mark."""
        driver = self.driver
        for each in found:
            self._emit(self._stop_watch.mark(each, self._pump.now_s(), driver))
        if found and driver is not None:
            said = wording.stop_rule(found[0].rule, found[0].measured, found[0].limit, float(self._steering.wanted))
            self._undrive("stop_rule", "guard")
            self.to_zero("guard")
            self._outcome.fail("stop_rule", said, 3)

    def stop(self) -> None:
        """The last level ends, and nobody steps. The last tick is a part of a second, which makes no level's figures."""
        self._steering.hand_to(None)
        self.close_level()

    def end(self) -> None:
        """The last word on what was marked; after the last tick."""
        self._marks.end()
