"""The controls of a run, and its screens, of which at most one has them at any moment.

A screen that may steer gets the controls when no screen has them. Otherwise it asks for them. The holder sees the request and
hands the controls over with a key, or keeps them by steering. A holder that does neither loses them after ANSWER_S, since its
terminal may hang.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from .. import wording
from ..errors import InputError
from ..load import native
from ..model.controls import (
    AddNote,
    AskControls,
    ChangeWorkers,
    Control,
    EndRun,
    GiveControls,
    NewLevel,
    Param,
    Require,
    RestartTarget,
    RunControl,
    RunControls,
    SampleStacks,
    SetAutopilot,
    SetSpawnRate,
    SetStep,
    Setup,
    StartPlan,
    State,
    StepTo,
    TryExperiment,
    VerifyKnee,
    WatchPart,
    Zero,
)
from ..model.events import CommandName, Note
from ..model.load import NO_LOAD, Load, Rate, Users, clamped_rate
from ..model.requirements import LoadRequirement, Requirement
from ..model.watched import PartSpec, mistakes, parsed_part
from ..read.servers import missing_client
from ..steer.plan import offers_rates, parse
from ..steer.requested_load import Autopilot, Driver, Manual, Plan, RequestedLoad
from ..steer.requirement_text import parse as parse_requirement
from .autopilot import experiment_args
from .context import RunContext
from .load_control import LoadControl
from .options import NO_RATES, Task
from .part_watch import PartWatch
from .run_outcome import Failure
from .service import Service, TargetLifecycle

if TYPE_CHECKING:
    from .load_workers import LoadWorkers  # imports Locust, which patches the process

ANSWER_S = 15.0
"""Seconds that the holder has to keep controls that another screen asks for."""

NO_PROCESS = "the target's process is not known: only one of this machine, outside of containers, has its stacks sampled"
ELSEWHERE = "another screen has the controls"


class RunScreen:
    """One screen, on the run's own terminal or attached to it, with its `Controls`."""

    def __init__(self, screens: Screens, name: str, *, may_steer: bool) -> None:
        self._screens = screens
        self.name, self.may_steer = name, may_steer

    @property
    def setup(self) -> Setup:
        """How the run was set up."""
        return self._screens.controls.setup

    @property
    def state(self) -> State:
        """The state now, as this screen sees it."""
        return self._screens.state_of(self)

    def do(self, control: Control) -> str | None:
        """Do it if this screen may. Returns None if it is done, else why not, in one line."""
        return self._screens.do(self, control)

    def leave(self) -> None:
        """The screen is closed."""
        self._screens.leave(self)


class Screens:
    """Its methods may be called from any thread."""

    def __init__(self, controls: RunControls, context: RunContext) -> None:
        self.controls = controls
        self._context = context
        self._screens: list[RunScreen] = []
        self._holder: RunScreen | None = None
        self._asker: RunScreen | None = None
        self._asked_s = 0.0
        self._lock = native.allocate_lock()

    # -- the present state

    @property
    def holder(self) -> str | None:
        """The name of the screen that holds the controls; None if no screen does."""
        holder = self._holder
        return holder.name if holder is not None else None

    def state_of(self, screen: RunScreen) -> State:
        """The state now, as this screen sees it."""
        asker = self._asker
        return replace(
            self.controls.state,
            holds=self._holder is screen,
            holder=self.holder,
            asked_by=asker.name if asker is not None else None,
            screens=len(self._screens),
        )

    # -- changes

    def begin(self, name: str) -> RunScreen:
        """Add the run's own screen, before any other. It gets the controls, which is not recorded."""
        self._holder = screen = RunScreen(self, name, may_steer=True)
        self._screens.append(screen)
        return screen

    def join(self, name: str, *, may_steer: bool) -> RunScreen:
        """Add an attached screen. It gets the controls if it may steer and no screen has them."""
        screen = RunScreen(self, name, may_steer=may_steer)
        with self._lock:
            self._screens.append(screen)
            if self._holder is None and screen.may_steer:
                self._hand_to(screen)
        return screen

    def leave(self, screen: RunScreen) -> None:
        """Remove a screen. If it held the controls, the screen that asks for them gets them, else the earliest that may steer."""
        with self._lock:
            if screen not in self._screens:
                return
            self._screens.remove(screen)
            next_one = self._asker if self._asker is not screen else None
            if self._asker is screen:
                self._asker = None
            if self._holder is screen:
                self._hand_to(next_one or next((each for each in self._screens if each.may_steer), None))

    def do(self, screen: RunScreen, control: Control) -> str | None:
        """Do what a screen asks for, unless another one has the controls. Returns None if it is done, else why not, in one line.

        Controls are not handed to another screen meanwhile.
        """
        if isinstance(control, AddNote | EndRun):
            return self.controls.do(control) if screen.may_steer else "a screen that only watches has no controls"
        with self._lock:
            if isinstance(control, AskControls):
                self._ask(screen)
            elif isinstance(control, GiveControls):
                self._give(screen)
            elif self._holder is not screen:
                return ELSEWHERE
            else:
                self._keep(screen)
                return self.controls.do(control)
        return None

    def _ask(self, screen: RunScreen) -> None:
        """Hand them over if no screen has them. Has no effect while another screen asks for them."""
        if not screen.may_steer or self._holder is screen:
            return
        if self._holder is None:
            self._hand_to(screen)
        elif self._asker is None:
            self._asker, self._asked_s = screen, self._context.now_s()
            self._record({"asked_by": screen.name})

    def _give(self, screen: RunScreen) -> None:
        if self._holder is screen and self._asker is not None:
            self._hand_to(self._asker)

    def _keep(self, screen: RunScreen) -> None:
        """The holder steers: whoever asks does not get them."""
        if self._asker is not None:
            self._asker = None
            self._record({"holder": screen.name, "kept": True})

    def hand_over_when_due(self) -> None:
        """Hand the controls over if the holder did not answer within ANSWER_S. Call it several times a second."""
        with self._lock:
            if self._asker is not None and self._context.now_s() - self._asked_s >= ANSWER_S:
                self._hand_to(self._asker)

    def _hand_to(self, screen: RunScreen | None) -> None:
        self._holder, self._asker = screen, None
        self._record({"holder": screen.name if screen is not None else None})

    def _record(self, change: dict[str, Param | None]) -> None:
        self._context.pump.post(self._context.command, "controls", "user", change)


# -- what the controls do: one case a control


class LiveControls:
    """The controls of a live run. One that changes the load ends the current driver, or starts another one.

    Its record is posted to the pump; then it acts on the load at once, in the caller's thread, and the pump opens the level.
    """

    def __init__(
        self,
        context: RunContext,
        service: Service,
        target: TargetLifecycle,
        requested_load: RequestedLoad,
        load_control: LoadControl,
        workers: LoadWorkers,
        parts: PartWatch,
    ) -> None:
        self._context, self._service, self._target = context, service, target
        self._load, self._load_control, self._workers, self._parts = requested_load, load_control, workers, parts
        profile = self._context.options.profile
        self.setup = Setup(
            max_users=profile.guards.max_users,
            can_restart=service.spec is not None,
            plans=profile.plans,
            unattended_s=profile.guards.unattended_s,
        )

    @property
    def state(self) -> State:
        """The state now."""
        load = self._load
        return State(
            load=load.load,
            spawn_rate=load.spawn_rate,
            workers=self._workers.count,
            autopilot=load.driver.autopilot_steps,
            target_params=self._service.params,
        )

    def do(self, control: RunControl) -> str | None:
        """Do it. Returns None if it is done, else why not, in one line."""
        try:
            self._do(control)
        except InputError as error:
            return str(error)
        return None

    def _do(self, control: RunControl) -> None:  # noqa: C901 - one case a control
        load, workers, before = self._load, self._workers, self._load.load
        match control:
            case StepTo(to):
                self._step_to(to)
            case Zero():
                rate_before = {} if before.per_s is None else {"rate_before": before.per_s}
                self._record("zero", before=before.users, **rate_before)
                self._step(NO_LOAD)
            case NewLevel():
                if isinstance(before, Users):
                    self._record("new_level", users=before.users)
                else:
                    self._record("new_level", offered_per_s=before.per_s)
                self._step(before)
            case SetStep(step):
                self._record("step", step=step)
            case SetSpawnRate(spawn_rate):
                load.set_spawn_rate(spawn_rate)
                self._record("spawn_rate", rate=load.spawn_rate)
            case SetAutopilot(on=False):
                self._switch_autopilot(None)
            case SetAutopilot(finds_rate=finds_rate):
                decides = self._load_control.answers.has_open and not finds_rate
                self._switch_autopilot("rate" if finds_rate else "require" if decides else "knee")
            case TryExperiment(users, experiment):
                to = Users(min(users, self.setup.max_users))
                if experiment.name == "slots":
                    self._resolved({experiment.param or "": str(experiment.after)})
                self._record("experiment", **experiment_args(to.users, experiment))
                self._go_on()
                self._context.pump.post(self._load_control.open_level, to, "user", load.step(to), experiment=experiment)
            case VerifyKnee():
                self._switch_autopilot("verify")
            case StartPlan(plan):
                steps = parse(self.setup.plans.get(plan, plan), "plan", self.setup.max_users)
                if offers_rates(steps):
                    self._require_rates("plan: ")
                generation = self._hand_to(Plan())
                self._record("plan", plan=plan)
                self._context.pump.post(self._load_control.begin_plan, steps, generation)
            case SampleStacks():
                require_none("no load runs: stacks are sampled under load" if before.is_zero else "")
                require_none("" if self._service.pid else NO_PROCESS)
                require_none("stacks are being sampled already" if self._load_control.is_sampling else "")
                self._context.pump.post(self._load_control.sample_stacks, self._hand_to(Plan()))
            case Require(text):
                required = self._requirement(text)
                self._record("require", requirement=wording.text_of(required))
                self._context.pump.post(self._load_control.answers.ask, required)
            case ChangeWorkers(add):
                require_none(workers.why_not(add=add))
                self._context.pump.post(workers.add if add else workers.remove, "user")
            case WatchPart(part):
                watch = self._part(part)
                self._record("watch", part=watch.name, place=watch.place)
                self._context.pump.post(self._parts.add, watch)
            case AddNote(text):
                self._record("note", text=text)
                self._context.pump.post(self._note, text)
            case RestartTarget(params):
                resolved = self._resolved(params)
                if isinstance(load.driver.kind, Autopilot):
                    load.hand_to(Manual())
                self._record("restart", **resolved)
                self._context.pump.post(self._restart, resolved)
            case EndRun():
                self._record("quit")
                self._context.outcome.quit()
            case _:
                assert_never(control)

    def _record(self, name: CommandName, /, **args: Param | None) -> None:
        self._context.pump.post(self._context.command, name, "user", args)

    def _restart(self, params: Mapping[str, Param]) -> None:
        """Take users to zero and restart the target; the users start again in a new level."""
        self._load_control.pause()
        self._target.restart(params)

    def _note(self, text: str) -> None:
        self._context.emit(Note(t_s=self._context.now_s(), text=text))

    # -- the load

    def _switch_autopilot(self, task: Task | None) -> None:
        if task == "rate":
            self._require_rates("")
        generation = self._hand_to(Manual() if task is None else Autopilot())
        self._record("autopilot", on=task is not None, **({} if task in (None, "knee") else {"task": task}))
        self._context.pump.post(self._load_control.switch_autopilot, generation, task)

    def _hand_to(self, driver: Driver) -> int:
        self._go_on()
        return self._load.hand_to(driver)

    def _step_to(self, load: Load) -> None:
        before = self._load.load
        match load:
            case Users(users):
                load = Users(max(0, min(users, self.setup.max_users)))
                self._record("users", users=load.users, before=before.users)
            case Rate(per_s):
                self._require_rates("")
                load = Rate(clamped_rate(per_s))
                self._record("rate", per_s=load.per_s, before=before.per_s, users_before=before.users)
        self._step(load)

    def _step(self, load: Load) -> None:
        self._go_on()
        self._context.pump.post(self._load_control.open_level, load, "user", self._load.step(load))

    def _go_on(self) -> None:
        """Drop failures of the locustfile and the load thread, so that they no longer end the run: a person starts load again."""
        self._context.outcome.recover("locustfile")
        self._context.outcome.recover("load_thread")

    # -- what is asked for: raises InputError if it cannot be done

    def _require_rates(self, subject: str) -> None:
        if not self._context.options.can_offer_rates:
            raise InputError(f"{subject}{NO_RATES}")

    def _requirement(self, text: str) -> Requirement:
        required = parse_requirement(text, "require", self.setup.max_users)
        if isinstance(required, LoadRequirement) and isinstance(required.load, Rate):
            self._require_rates("require: ")
        return required

    def _part(self, text: str) -> PartSpec:
        """The part to watch, which no other part is yet."""
        try:
            watch = parsed_part(text).with_port(self._service.port)
        except ValueError as error:
            raise InputError(str(error)) from None
        watched = self._parts.watched
        require_none(next((expected for _, expected in mistakes([*watched, watch])), missing_client(watch)))
        return watch

    def _resolved(self, params: Mapping[str, str]) -> Mapping[str, Param]:
        """The target's parameters, with those of a person."""
        if self._service.spec is None:
            raise InputError("the target was not started by capexplorer, so it cannot be restarted here")
        return self._service.spec.resolve({**self._service.params, **params}, "restart")


def require_none(why_not: str) -> None:
    """Raises InputError if there is a reason against it."""
    if why_not:
        raise InputError(why_not)


# -- the end of a run without a screen of its own: that of a plan or the autopilot, or a while after load by hand. While an
# attached screen has the controls, a person decides.


POLL_S = 0.25
"""Seconds between two checks."""


class Unattended:
    """Counts the time from its construction. Read `reason` a few times a second, in one thread."""

    def __init__(self, context: RunContext, screens: Screens, is_driven: Callable[[], bool]) -> None:
        """`is_driven`: whether a plan, a shape or the autopilot steps the load, or will."""
        self._context, self._screens, self._is_driven = context, screens, is_driven
        self._outcome, self._kept_s = context.outcome, screens.controls.setup.unattended_s
        self._is_stopped = False
        self._since_s: float | None = None
        """When the controls were left."""
        self._was_driven = False
        """Whether something stepped the users when the controls were left: its end is the run's."""
        self._failed_before: Failure | None = None
        self._why()  # so that a failure before `reason` is first read counts as a new one

    def stop(self) -> None:
        """End the run. From any thread."""
        self._screens.controls.do(EndRun())
        self._outcome.quit("ended by the user")
        self._is_stopped = True

    @property
    def reason(self) -> str | None:
        """Why the run has ended; None while it goes on."""
        if self._outcome.signal is not None or self._is_stopped:
            return self._outcome.reason
        why = self._why()
        if why is None:
            return None
        if self._was_driven:
            self._outcome.leave(why)
        else:
            self._outcome.quit(why)
        return self._outcome.reason

    def _why(self) -> str | None:
        """Why the run ends now, since no screen has its controls."""
        if self._screens.holder is not None:
            self._since_s = None
            return None
        driven, failure, now_s = self._is_driven(), self._outcome.failure, self._context.now_s()
        if self._since_s is None:
            self._since_s, self._was_driven, self._failed_before = now_s, driven, failure
        if self._was_driven:
            has_failed = failure is not None and failure is not self._failed_before
            return None if driven and not has_failed else "the plan or the autopilot has ended, and no screen has the controls"
        if now_s - self._since_s >= self._kept_s:
            return f"no screen had the controls for {self._kept_s:g} s ([guards] unattended_s)"
        return None
