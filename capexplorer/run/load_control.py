"""Starts and ends drivers, carries out their steps, and opens the levels of those steps.

Every method is called in the pump's thread. Levels and marks leave as events; probes, log and target are not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from .. import wording
from ..analysis.epoch.measured_epoch import MeasuredEpoch
from ..analysis.ladder import LadderLevel
from ..analysis.stop_rules import METRIC_PREFIX, TriggeredRule, triggered_rules
from ..load.engine import RunnerEnded, ShapeEnded, ShapeStep, Spawned
from ..model.controls import Param
from ..model.events import By, LevelOpened, Mark, Phase
from ..model.experiments import Experiment
from ..model.findings import StopRule
from ..model.level import Level
from ..model.load import NO_LOAD, Load, Rate, Users
from ..model.proposals import Hold
from ..model.timeline import Timeline
from ..profile import StopRules
from ..steer.experiment_search import is_over
from ..steer.plan import Share, Step
from ..steer.plan_moves import CannotGoOn, LetAutopilot, Move, PlanDriver, SampleHere
from ..steer.requested_load import POOL_SPAWN_RATE, Autopilot, Driving, Manual, Plan, RequestedLoad, Shape
from ..steer.stack_steps import steps_at_knee, steps_here
from ..wording import units
from .autopilot import AutopilotDriver, Workers
from .context import RunContext
from .live_answers import LiveAnswers
from .live_levels import CurrentEpoch, LiveLevels
from .options import Task
from .stack_sampling import StackSampling

EndedBy = Literal["finished", "taken_over", "stop_rule", "no_knee", "restart", "decided", "within"]
"""Why a plan or a shape ended."""

Planned = Literal["plan", "sampling", "experiments"]
"""What a plan is: a person's, or the autopilot's own: stacks, then maybe experiments; experiments alone."""


class LoadControl:
    """`begin` when the service is ready, `ramp` before each tick, `ticked` after its sample was emitted; `stop`, then `end`."""

    def __init__(
        self,
        context: RunContext,
        requested_load: RequestedLoad,
        workers: Workers,
        restart_with: Callable[[Mapping[str, Param]], None] = lambda _: None,
    ) -> None:
        """`restart_with`: restarts the target with some parameters changed, or with its own ones again."""
        self._restart_with = restart_with
        self._context, self._requested_load = context, requested_load
        self._options, self._outcome, self._timeline = context.options, context.outcome, context.timeline
        self._max_users = context.options.profile.guards.max_users
        self.levels = LiveLevels(context, requested_load)
        self.answers = LiveAnswers(context)
        self._stacks = StackSampling(context, self.levels, self._sampled)
        self._stop_watch = StopWatch(context.options.profile.stop, context.timeline)
        self._driver = requested_load.driver
        """The driver as the pump knows it. `RequestedLoad` knows another one at once, in any thread; until the pump gets to that
        change, moves and reports of this one are refused.
        """
        self._plan = PlanDriver(context.options.steps, context.timeline, self._max_users)
        self._plan_is: Planned = "plan"
        """What the latest plan is."""
        self._finished: str | None = "plan finished"
        """Why the run ends when the plan has finished; None: it does not."""
        self._restarted_for: Experiment | None = None
        """The experiment for which the target runs, or will, with other parameters than its own."""
        self._autopilot = AutopilotDriver(context, requested_load, self.levels, workers, self._open_for_autopilot)
        self._began_s: float | None = None
        """When load first ran."""
        self._ramp_moved_s = 0.0
        """When a shape last moved the users, or a plan ended."""

    # -- drivers

    def _end_driver(self, why: EndedBy, who: By) -> None:
        """End the driver and emit a command that says so. The users stay."""
        self._stacks.end()
        if self._driver.is_planned:
            what = "shape" if isinstance(self._driver.kind, Shape) else self._plan_is
            load = self._requested_load.load
            args: dict[str, Param | None] = {"on": False, "what": what, "why": why, "users": load.users}
            if isinstance(load, Rate):
                args["offered_per_s"] = load.per_s
            self._context.command("plan", who, args)
        self._driver = replace(self._driver, kind=Manual(who))
        self._autopilot.taken_over(who)

    @property
    def _is_current(self) -> bool:
        """Whether the pump knows the current driver, i.e. no other thread has started a new one meanwhile."""
        return self._requested_load.is_current(self._driver.generation)

    def _end_if_stopped_by_guard(self) -> None:
        """End a driver chosen just before the run stopped the load. (A person's later step is queued and ends it by itself.)"""
        if not self._is_current and self._requested_load.driver.kind == Manual("guard"):
            self._end_driver("taken_over", "guard")

    def begin(self, *, has_shape: bool) -> None:
        """Users may run, at the start or after a pause: the driver continues; without a driver, the requested users start."""
        target, opened = self._requested_load, self.levels.opened
        is_free = self.levels.index < 0 and isinstance(target.driver.kind, Manual)
        target.open()  # must come first: from now on a step by hand reaches the load directly
        self.answers.begin()
        self._began_s = self._context.now_s() if self._began_s is None else self._began_s
        match self._driver.kind:
            case Plan() if not self._plan.has_begun and self._is_current:
                self.advance_plan()
            case Manual() if is_free and has_shape and self._options.follow_shape:
                self._driver = Driving(Shape(), target.start_shape())
            case Manual() if is_free and self._options.autopilot is not None:
                self._driver = Driving(Autopilot(), target.hand_to(Autopilot()))
                self._autopilot.begin(self._driver.generation, self._options.autopilot, self._options.start_users)
                self._let_autopilot_act(CurrentEpoch(self._timeline))
            case _ if (opened is None or opened.load != target.load) and self._autopilot.is_on:
                self.levels.step(target.load, "autopilot", target.start(), experiment=self._restarted_for)
            case kind if opened is None or opened.load != target.load:
                by = kind.by if isinstance(kind, Manual) else "plan"
                self.open_level(target.load, by, target.start(), experiment=self._restarted_for)

    # -- experiments that change the target's parameters

    def _restart_for(self, experiment: Experiment | None) -> None:
        """Restart the target if an experiment changes its parameters, or for None if it has not its own ones: no level is open
        until it is ready. Called before each level opens, so that no other level has changed parameters.
        """
        changed = experiment.params if experiment is not None else {}
        if changed == (self._restarted_for.params if self._restarted_for is not None else {}):
            return
        self.levels.close()
        self._requested_load.shut()
        self._restarted_for = experiment if changed else None
        self._restart_with(changed)

    def _end_experiment(self) -> None:
        """Give the target its own parameters back if it did not start or died with others, or once a person has seen enough."""
        target, level = self._timeline.target, self._timeline.level
        has_failed = target is not None and target.state in ("died", "failed")
        is_left = level is not None and not self._autopilot.is_on and is_over(level, self._context.now_s())
        if self._restarted_for is not None and (has_failed or (is_left and self._requested_load.is_open)):
            self._restart_for(None)

    def pause(self) -> None:
        """The target restarts: no users and no level until `begin`. A plan that has not begun waits for that."""
        if not isinstance(self._driver.kind, Plan) or self._plan.has_begun:
            self._end_driver("restart", "user")
            self._requested_load.release(self._driver.generation, "user")
        self._restarted_for = None
        self.levels.close()
        self._requested_load.shut()

    def begin_plan(self, steps: tuple[Step, ...], generation: int) -> None:
        """Start a plan, which replaces the current driver."""
        self._begin_plan(steps, generation, "plan", "plan finished")

    def _begin_plan(self, steps: tuple[Step, ...], generation: int, planned: Planned, finished: str | None) -> None:
        self._end_driver("taken_over", "plan")
        self._restart_for(None)
        self._driver = Driving(Plan(), generation)
        self._plan, self._plan_is, self._finished = PlanDriver(steps, self._timeline, self._max_users), planned, finished
        self._end_if_stopped_by_guard()
        if self._requested_load.is_open:
            self.advance_plan()

    @property
    def _plan_by(self) -> By:
        return "plan" if self._plan_is == "plan" else "autopilot"

    @property
    def is_sampling(self) -> bool:
        """Whether stacks are sampled at the knee, or will be, without a plan of a person."""
        return self._plan_is == "sampling" and isinstance(self._driver.kind, Plan) and self._is_current

    def sample_stacks(self, generation: int) -> None:
        """Sample stacks at low load and beyond the knee, then go back; while no knee is known, here. It replaces the driver."""
        load = self._requested_load.load
        steps = self._steps_at_knee()
        self._record_stacks(steps, "user")
        self._begin_plan((*steps, Step(load, 0.0)) if steps else steps_here(load), generation, "sampling", None)

    def _steps_at_knee(self) -> tuple[Step, ...]:
        by_rate = isinstance(self._requested_load.load, Rate)
        return steps_at_knee(self._timeline, self._max_users, by_rate=by_rate) if self._timeline.levels else ()

    def _record_stacks(self, steps: Sequence[Step], by: By) -> None:
        """`steps`: those at the knee; empty: the stacks are sampled at the present load."""
        loads = [step.load for step in steps if not isinstance(step.load, Share) and not step.load.is_zero]
        low, high = (loads[-1], loads[0]) if loads else (None, self._requested_load.load)
        args: dict[str, Param | None] = {"users": high.users, "offered_per_s": high.per_s}
        if low is not None:
            args |= {"low_users": low.users, "low_per_s": low.per_s}
        self._context.command("stacks", by, args)

    def switch_autopilot(self, generation: int, task: Task | None) -> None:
        """Start the autopilot with the levels measured so far, replacing the current driver; None: end it."""
        self._autopilot.end()  # without a command of its own: the person's command records it
        self._end_driver("taken_over", "user" if task is None else "autopilot")
        self._restart_for(None)
        self._driver = Driving(Manual() if task is None else Autopilot(), generation)
        if task is not None:
            self._begin_autopilot(task, self._options.start_users)
            self._end_if_stopped_by_guard()

    def _begin_autopilot(self, task: Task, first_users: int) -> None:
        """Start a search, on its own or for a plan. If the open level is a ramp, which has no figures of its own, or offers a
        rate, a search by users begins with a level of users.
        """
        self._autopilot.begin(self._driver.generation, task, first_users)
        opened = self.levels.opened
        is_rate = opened is not None and isinstance(opened.load, Rate)
        has_no_figures = is_rate or (opened.ramp if opened is not None else self.levels.index >= 0)
        if task in ("knee", "verify") and self._requested_load.is_open and has_no_figures:
            load = Users(first_users) if is_rate else Users(self._requested_load.load.users)
            rate = self._requested_load.move(load, self._driver.generation)
            if rate is not None:
                self.levels.step(load, "autopilot", rate)

    def _let_autopilot_act(self, current: CurrentEpoch, planned: Hold | None = None) -> None:
        """`planned`: the proposal of the plan or shape that has the load."""
        ended = self._autopilot.ticked(current, planned)
        if ended is None:
            return
        if isinstance(self._driver.kind, Plan):
            self._requested_load.end_autopilot(self._driver.generation)
            self._plan.ended(self._context.now_s())
        elif not self._follows(ended):
            self._requested_load.end_autopilot(self._driver.generation)
            self._driver = replace(self._driver, kind=Manual("autopilot"))
            if self._options.autopilot:
                self._outcome.finish(ended)

    def _follows(self, ended: str) -> bool:
        """Begin what was asked for after a search: a plan that samples stacks at the knee, then makes experiments, which may
        restart the target. False: there is nothing to do. `ended`: how the search ended.

        The plan follows the autopilot at once: a run without a driver ends.
        """
        stacks = self._steps_at_knee() if self._options.profile_at_knee else ()
        explains = self._options.explains and self._autopilot.can_explain
        if self._options.profile_at_knee and not stacks:
            self._context.log.add("capexplorer", "error", "stacks were not sampled: no knee was found")
        steps = (*stacks, *((Step(NO_LOAD, 0.0, "explain"),) if explains else ()))
        generation = self._requested_load.hand_on(Plan(), self._driver.generation) if steps else None
        if generation is None:
            return False
        if stacks:
            self._record_stacks(stacks, "autopilot")
        finished = ended if self._options.autopilot else None
        self._begin_plan(steps, generation, "sampling" if stacks else "experiments", finished)
        return True

    # -- steps and levels

    def open_level(
        self, load: Load, by: By, spawn_rate: float, *, ramp: bool = False, experiment: Experiment | None = None
    ) -> None:
        """Open a level after a person, a guard, a plan or a shape has moved the load there. The first two end the driver.

        If the target restarts for it, it opens once that is ready.
        """
        if by == "user":
            self._outcome.recover("stop_rule")
        if by in ("user", "guard"):
            self._end_driver("taken_over", by)
        opened = self.levels.opened
        if experiment is None:
            self._autopilot.set_by_hand(load.users, opened.users if opened is not None else 0)
        self._restart_for(experiment)
        self.levels.step(load, by, spawn_rate, ramp=ramp, experiment=experiment)

    def _open_for_autopilot(self, load: Load, spawn_rate: float, experiment: Experiment | None) -> None:
        self._restart_for(experiment)
        self.levels.step(load, "autopilot", spawn_rate, experiment=experiment)

    def to_zero(self, by: By) -> None:
        """Stop all users; this opens a level of zero users."""
        self.open_level(NO_LOAD, by, self._requested_load.step(NO_LOAD, "guard"))

    def load_report(self, report: Spawned | ShapeStep | ShapeEnded | RunnerEnded) -> None:
        """Handle a report of the load thread. Reports of a shape that was replaced are dropped."""
        match report:
            case Spawned(load, at_s) if load == self._requested_load.load:
                self.levels.spawned(self._context.pump.at_s(at_s))
                self._plan.spawned(self._context.pump.at_s(at_s))
            case ShapeStep(users, spawn_rate, generation):
                if self._requested_load.shape_moved(users, generation):
                    self._follow_shape(users, spawn_rate)
            case ShapeEnded(generation) if self._requested_load.is_current(generation):
                self._end_driver("finished", "plan")
                self.to_zero("plan")
                self._outcome.finish("shape finished")
            case RunnerEnded(call):
                self._context.command("runner", "plan", {"call": call})
                self.to_zero("guard")
                self._outcome.fail("locustfile", f"the locustfile ended the load: runner.{call}()", 0)

    def _follow_shape(self, users: int, spawn_rate: float) -> None:
        self._ramp_moved_s = self._context.now_s()
        level = level_for(self.levels.opened, self.levels.phase)
        if level is not None:
            self.open_level(Users(users), "plan", spawn_rate, ramp=level == "ramp")

    def after_suspension(self, seconds: float, *, load_continues: bool) -> None:
        """Begin a new level at the same load after a suspension of the process. `load_continues`: users and schedule run on."""
        self.levels.reopen(load_continues=load_continues)
        self._plan.suspended(self._context.now_s(), seconds)

    # -- every second

    @property
    def alarm_s(self) -> float | None:
        """Session time at which to call `advance_plan` next."""
        return self._plan.next_s if isinstance(self._driver.kind, Plan) and self._is_current else None

    def advance_plan(self) -> None:
        """Carry out the plan's step that is due, if any."""
        if not isinstance(self._driver.kind, Plan) or not self._is_current:
            return
        now_s = self._context.now_s()
        self._move_ramp(now_s)  # to its last users, before the next move
        match self._plan.due(now_s, self._requested_load.load):
            case Move() as move:
                self._carry_out(move)
            case LetAutopilot(task):
                self._requested_load.let_autopilot(self._driver.generation)
                self._begin_autopilot(task, max(1, self._requested_load.load.users))
                self._let_autopilot_act(CurrentEpoch(self._timeline))
            case SampleHere(seconds):
                if self.levels.opened is not None and self.levels.opened.ramp:
                    self._carry_out(Move(self._requested_load.load))
                self._stacks.ask(seconds, self._plan_by)
            case CannotGoOn(why):
                self._end_driver("no_knee", "plan")
                self.to_zero("guard")
                self._outcome.fail("plan", why, 3)
            case None if self._plan.is_over:
                self._finish_plan()

    def _carry_out(self, move: Move) -> None:
        """A step or the begin of a ramp: a new level, unless another driver has begun."""
        target, load, generation = self._requested_load, move.load, self._driver.generation
        if move.over_s is None:
            rate = target.move(load, generation, at_once=move.at_once)
            if rate is not None:
                self.open_level(load, self._plan_by, rate)
            return
        if type(target.load) is not type(load):
            target.move(load.zero, generation)
        change = max(abs(load.users - target.load.users), 1)
        self.open_level(load, "plan", POOL_SPAWN_RATE if isinstance(load, Rate) else change / move.over_s, ramp=True)

    def _finish_plan(self) -> None:
        self._end_driver("finished", "plan")
        self._release_plan()
        if self._finished is not None:
            self._outcome.finish(self._finished)

    def _move_ramp(self, now_s: float) -> bool:
        """Go to the load of the plan's ramp. Returns whether the plan ramps the load now."""
        load = self._plan.ramping(now_s) if isinstance(self._driver.kind, Plan) else None
        if load is not None and load != self._requested_load.load:
            self._requested_load.move(load, self._driver.generation, at_once=isinstance(load, Rate))
        return load is not None

    def ramp(self, now_s: float) -> None:
        """Advance a plan's ramp; end a shape's ramp whose user count no longer changes. (A plan ends its own ramps.)"""
        if self._move_ramp(now_s):
            return
        opened = self.levels.opened
        if opened is not None and opened.ramp and now_s - self._ramp_moved_s >= RAMP_OVER_S:
            self.open_level(self._requested_load.load, "plan", opened.spawn_rate)

    def beat(self) -> None:
        """Several times a second: takes in stacks that were sampled."""
        self._stacks.beat()

    def _sampled(self) -> None:
        """The sampling of stacks has ended, with a result or without: the plan goes on."""
        self._plan.ended(self._context.now_s())
        self.advance_plan()

    def ticked(self) -> None:
        """Called after each sample: runs marks, answers and stop rules, then the autopilot."""
        self.levels.split_at_shifts()
        current = CurrentEpoch(self._timeline)
        self.levels.marks.ticked(current)
        self.answers.ticked()
        self._on_triggered(self._stop_watch.look(current))
        self._end_plan_when_answered()
        self._stacks.ticked()
        self._end_experiment()
        planned = self._planned(self._context.now_s()) if self._driver.is_planned and self._is_current else None
        self._let_autopilot_act(current, planned)

    def _planned(self, now_s: float) -> Hold:
        """The proposal of the plan or shape that has the load."""
        sampling, hold = self._stacks.proposal(now_s), self._plan.proposal(now_s)
        return sampling or (replace(hold, why="unsampled") if self._plan_is == "sampling" else hold)

    def _end_plan_when_answered(self) -> None:
        """A plan or a shape ends, like a search, once all that is required is decided, or the time for it is spent."""
        if not self._driver.is_planned or not self._is_current or not self.answers.asked:
            return
        within_s, passed_s = self._options.within_s, self._context.now_s() - (self._began_s or 0.0)
        why: EndedBy | None = (
            "decided" if not self.answers.has_open else "within" if within_s is not None and passed_s >= within_s else None
        )
        if why is None or (self._plan_is != "plan" and isinstance(self._driver.kind, Plan)):
            return
        is_shape = isinstance(self._driver.kind, Shape)
        self._end_driver(why, "plan")
        if is_shape:
            self.to_zero("plan")
        else:
            self._release_plan()
        self._outcome.finish(wording.PLAN_ENDS[why])

    def _release_plan(self) -> None:
        """Users and level stay, for a person to continue; the level of a ramp ends after RAMP_OVER_S."""
        self._requested_load.release(self._driver.generation, "plan")
        self._ramp_moved_s = self._context.now_s()

    def _on_triggered(self, found: Sequence[TriggeredRule]) -> None:
        """Mark the triggered stop rules and end the driver. If a person steers, they only mark."""
        marks = [self._stop_watch.mark(each, self._context.now_s(), self._stoppable) for each in found]
        for mark in marks:
            self._context.emit(mark)
        if marks and self._stoppable is not None:
            with units.fixed():  # the log has it
                sentence = wording.short_sentence(marks[0])
            self._end_driver("stop_rule", "guard")
            self.to_zero("guard")
            self._outcome.fail("stop_rule", sentence, 3)

    @property
    def _stoppable(self) -> Stopped | None:
        """What a stop rule would end now; a shape counts as a plan."""
        if not self._is_current or isinstance(self._driver.kind, Manual):
            return None
        return "autopilot" if self._autopilot.is_on else "plan"

    def stop(self) -> None:
        """End the last level and the driver. The last tick is shorter than a second, so it counts in no level's figures."""
        self._requested_load.hand_to(Manual())
        self._stacks.end()
        self.levels.close()

    def end(self) -> None:
        """Emit the final marks and answers. Call it after the last tick."""
        self.levels.marks.end()
        self.answers.end()


# -- a profile's stop rules: each triggers at most once per level, as a mark


RECENT_S = 5
"""Seconds over which readings that no level's figures contain are averaged."""

MACHINE = {"load_average": "load_average_1m"}
"""Rules about readings of the machine, which no level's figures contain, with the reading of each."""

Stopped = Literal["plan", "autopilot"]
"""What a stop rule can end."""


def limits_of(rules: StopRules) -> dict[str, float]:
    """The limits of a profile by the names that `analysis.stop_rules` gives to its rules."""
    limits = {name: value for name, value in msgspec.structs.asdict(rules).items() if isinstance(value, int | float)}
    return {**limits, METRIC_PREFIX + rules.metric.name: rules.metric.over} if rules.metric is not None else limits


class StopWatch:
    """Checks the open level each second."""

    def __init__(self, rules: StopRules, timeline: Timeline) -> None:
        self._limits, self._timeline = limits_of(rules), timeline
        self._triggered: set[tuple[str, int]] = set()

    def look(self, current: CurrentEpoch) -> tuple[TriggeredRule, ...]:
        """Rules that are triggered now for the first time in this level; empty until it has been settled for six seconds."""
        level = self._timeline.level
        if not self._limits or level is None or level.closed is not None or not level.has_load:
            return ()
        ladder = current.epoch.ladder_of(level)
        measured = self._measured(level, ladder)
        if measured is None or measured in ladder.recovery:
            return ()
        earlier = [each for each in ladder.fit if each is not measured]
        found = triggered_rules(self._limits, [*earlier, measured], self._readings())
        new = [each for each in found if (each.rule, level.opened.index) not in self._triggered]
        self._triggered.update((each.rule, level.opened.index) for each in new)
        return tuple(new)

    @staticmethod
    def _measured(level: Level, ladder: MeasuredEpoch) -> LadderLevel | None:
        """The open level's rates, also where the generator failed in it: a stop rule does not ask for the cause."""
        return next((each.ladder_level for each in reversed(ladder.measured) if each.level is level), None)

    def mark(self, found: TriggeredRule, t_s: float, ended: Stopped | None) -> Mark:
        """The mark of a triggered rule; `ended`: what it ended, if anything."""
        level = self._timeline.levels[-1]
        index = level.opened.index
        return Mark(
            t_s=t_s,
            key=f"stop_rule:{found.rule}:level{index}",
            state="open",
            finding=StopRule(rule=found.rule, limit=found.limit, measured=found.measured, level=index, ended=ended),
            epoch=level.opened.epoch,
            **level.load.named,
            severity="error" if ended else "warning",
        )

    def _readings(self) -> Mapping[str, list[float]]:
        recent = self._timeline.since(self._timeline.columns["t_s"][max(0, len(self._timeline) - RECENT_S - 1)])
        metrics = {name for sample in recent for name in sample.app}
        readings = {METRIC_PREFIX + name: [sample.app[name] for sample in recent if name in sample.app] for name in metrics}
        for rule, reading in MACHINE.items():
            read: list[float | None] = [getattr(sample.host, reading) for sample in recent if sample.host is not None]
            readings[rule] = [value for value in read if value is not None]
        return readings


# -- the shape of a locustfile: the load thread executes it and reports each change of the user count


RAMP_OVER_S = 10.0
"""A ramp ends when its user count has not changed for this long; a step at that count begins."""


def level_for(opened: LevelOpened | None, phase: Phase) -> Literal["step", "ramp"] | None:
    """The kind of level that a change of the shape opens; None: the open ramp continues. A shape that changes before its level
    has settled ramps the users: one level, whose figures are binned by user count.
    """
    if opened is not None and opened.ramp:
        return None
    return "ramp" if opened is not None and opened.by == "plan" and phase != "settled" else "step"
