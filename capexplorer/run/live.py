"""A live run as the screen and the headless command use it: an EventSource, and its `RunControls`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import assert_never

from ..errors import InputError
from ..load import native
from ..load.load_thread import LoadThread
from ..load.workload import Workload
from ..model.controls import (
    AddNote,
    ChangeWorkers,
    EndRun,
    NewLevel,
    Param,
    RestartTarget,
    RunControl,
    SetAutopilot,
    SetSpawnRate,
    SetStep,
    Setup,
    StartPlan,
    State,
    StepTo,
    VerifyKnee,
    WatchPart,
    Zero,
)
from ..model.events import CommandName, Event, Note
from ..model.load import NO_LOAD, Load, Rate, Users, clamped_rate
from ..model.timeline import Timeline
from ..model.watched import PartSpec, mistakes, parsed_part
from ..read.servers import missing_client
from ..remote.protocol import PROTOCOL, Welcome
from ..steer.plan import offers_rates, parse
from ..steer.requested_load import Autopilot, Driver, Manual, Plan
from .autopilot import Task
from .context import RunContext
from .control_server import ControlServer
from .load_workers import LoadWorkers
from .options import NO_RATES
from .screens import Screens, Unattended
from .service import Service
from .session_run import STOP_USERS_S, SessionRun

# -- the controls


class LiveControls:
    """The controls of a live run. One that changes the load ends the current driver, or starts another one.

    Its record is posted to the pump; then it acts on the load at once, in the caller's thread, and the pump opens the level.
    """

    def __init__(self, session_run: SessionRun) -> None:
        self._run, self._context = session_run, session_run.context
        self._load, self._service = session_run.requested_load, session_run.service
        profile = self._context.options.profile
        self.setup = Setup(
            max_users=profile.guards.max_users,
            can_restart=session_run.service.spec is not None,
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
            workers=self._run.workers.count,
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
        run, load, before = self._run, self._load, self._load.load
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
                self._switch_autopilot("rate" if finds_rate else "knee")
            case VerifyKnee():
                self._switch_autopilot("verify")
            case StartPlan(plan):
                steps = parse(self.setup.plans.get(plan, plan), "plan", self.setup.max_users)
                if offers_rates(steps):
                    self._require_rates("plan: ")
                generation = self._hand_to(Plan())
                self._record("plan", plan=plan)
                self._context.pump.post(run.load_control.begin_plan, steps, generation)
            case ChangeWorkers(add):
                require_none(run.workers.why_not(add=add))
                self._context.pump.post(run.workers.add if add else run.workers.remove, "user")
            case WatchPart(part):
                watch = self._part(part)
                self._record("watch", part=watch.name, place=watch.place)
                self._context.pump.post(run.parts.add, watch)
            case AddNote(text):
                self._record("note", text=text)
                self._context.pump.post(self._note, text)
            case RestartTarget(params):
                resolved = self._resolved(params)
                if isinstance(load.driver.kind, Autopilot):
                    load.hand_to(Manual())
                self._record("restart", **resolved)
                self._context.pump.post(run.restart, resolved)
            case EndRun():
                self._record("quit")
                self._context.outcome.quit()
            case _:
                assert_never(control)

    def _record(self, name: CommandName, **args: Param | None) -> None:
        self._context.pump.post(self._context.command, name, "user", args)

    def _note(self, text: str) -> None:
        self._context.emit(Note(t_s=self._context.now_s(), text=text))

    # -- the load

    def _switch_autopilot(self, task: Task | None) -> None:
        if task == "rate":
            self._require_rates("")
        generation = self._hand_to(Manual() if task is None else Autopilot())
        self._record("autopilot", on=task is not None, **({} if task in (None, "knee") else {"task": task}))
        self._context.pump.post(self._run.load_control.switch_autopilot, generation, task)

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
        self._context.pump.post(self._run.load_control.open_level, load, "user", self._load.step(load))

    def _go_on(self) -> None:
        """Drop failures of the locustfile and the load thread, so that they no longer end the run: a person starts load again."""
        self._context.outcome.recover("locustfile")
        self._context.outcome.recover("load_thread")

    # -- what is asked for: raises InputError if it cannot be done

    def _require_rates(self, subject: str) -> None:
        workers = self._context.options.workers
        if workers is not None and workers.plain:
            raise InputError(f"{subject}{NO_RATES}")

    def _part(self, text: str) -> PartSpec:
        """The part to watch, which no other part is yet."""
        try:
            watch = parsed_part(text)
        except ValueError as error:
            raise InputError(str(error)) from None
        watched = self._run.parts.watched
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


# -- the run


class LiveRun:
    """One session: `start`, then `close`. `screens` have its controls, `outcome` says when and how it ended."""

    def __init__(
        self, context: RunContext, service: Service, load_thread: LoadThread, workload: Workload, workers: LoadWorkers
    ) -> None:
        self._context, self._service = context, service
        self._session = SessionRun(context, service, load_thread, workload, workers)
        self.outcome, self.requests = context.outcome, self._session.requests
        self.controls = LiveControls(self._session)
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
