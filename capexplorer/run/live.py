"""A live run as the screen and the headless command use it: an EventSource, and the Controls of its load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from ..errors import InputError
from ..load import native
from ..load.before_users import why_unreachable
from ..load.engine import Report as LoadReport
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
from ..model.events import Event, Note
from ..model.kept_request import KeptRequests
from ..model.load import NO_LOAD, Load, Rate, Users, clamped_rate
from ..model.timeline import Timeline
from ..model.watched import PartSpec, mistakes, parsed_part
from ..read.servers import missing_client
from ..steer.plan import offers_rates, parse
from ..steer.requested_load import Autopilot, Driver, Manual, Plan, RequestedLoad
from ..target.supervisor import Report as TargetReport
from .load_workers import LoadWorkers
from .options import NO_RATES, RunOptions
from .run_outcome import RunOutcome
from .screens import Screens
from .service import Service
from .session_run import STOP_USERS_S, SessionRun

# -- the controls


class LiveControls:
    """The controls of a live run. One that changes the load ends the current driver, or starts another one.

    Its record is posted to the pump; then it acts on the load at once, in the caller's thread, and the pump opens the level.
    """

    def __init__(self, session_run: SessionRun, requested_load: RequestedLoad) -> None:
        self._session_run, self._requested_load = session_run, requested_load
        self._service, self._outcome = session_run.service, session_run.outcome
        self._post = session_run.pump.post
        profile = session_run.options.profile
        self.setup = Setup(
            max_users=profile.guards.max_users,
            can_restart=session_run.service.spec is not None,
            plans=profile.plans,
            unattended_s=profile.guards.unattended_s,
        )

    @property
    def state(self) -> State:
        """The state now."""
        load = self._requested_load
        return State(
            load=load.load,
            spawn_rate=load.spawn_rate,
            workers=self._session_run.workers.count,
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
        run, load = self._session_run, self._requested_load
        before = load.load
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
            case SetAutopilot(on, finds_rate):
                if on and finds_rate:
                    self._require_rates("")
                generation = self._hand_to(Autopilot() if on else Manual())
                self._record("autopilot", on=on, **({"task": "rate"} if on and finds_rate else {}))
                self._post(lambda: run.load_control.switch_autopilot(generation, on=on, finds_rate=finds_rate))
            case VerifyKnee():
                generation = self._hand_to(Autopilot())
                self._record("autopilot", on=True, task="verify")
                self._post(lambda: run.load_control.switch_autopilot(generation, on=True, only_verifies=True))
            case StartPlan(plan):
                steps = parse(self.setup.plans.get(plan, plan), "plan", self.setup.max_users)
                if offers_rates(steps):
                    self._require_rates("plan: ")
                generation = self._hand_to(Plan())
                self._record("plan", plan=plan)
                self._post(lambda: run.load_control.begin_plan(steps, generation))
            case ChangeWorkers(add):
                require_none(run.workers.why_not(add=add))
                self._post(lambda: run.workers.add("user") if add else run.workers.remove("user"))
            case WatchPart(part):
                watch = self._part(part)
                self._record("watch", part=watch.name, place=watch.place)
                self._post(lambda: run.parts.add(watch))
            case AddNote(text):
                self._record("note", text=text)
                self._post(lambda: run.sink.emit(Note(t_s=run.pump.now_s(), text=text)))
            case RestartTarget(params):
                resolved = self._resolved(params)
                if isinstance(load.driver.kind, Autopilot):
                    load.hand_to(Manual())
                self._record("restart", **resolved)
                self._post(lambda: run.restart(resolved))
            case EndRun():
                self._record("quit")
                self._outcome.quit()
            case _:
                assert_never(control)

    def _record(self, name: str, **args: Param | None) -> None:
        self._post(lambda: self._session_run.command(name, "user", args))

    # -- the load

    def _hand_to(self, driver: Driver) -> int:
        self._go_on()
        return self._requested_load.hand_to(driver)

    def _step_to(self, load: Load) -> None:
        before = self._requested_load.load
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
        rate = self._requested_load.step(load)
        self._post(lambda: self._session_run.load_control.open_level(load, "user", rate))

    def _go_on(self) -> None:
        """Drop failures of the locustfile and the load thread, so that they no longer end the run: a person starts load again."""
        self._outcome.recover("locustfile")
        self._outcome.recover("load_thread")

    # -- what is asked for: raises InputError if it cannot be done

    def _require_rates(self, subject: str) -> None:
        workers = self._session_run.options.workers
        if workers is not None and workers.plain:
            raise InputError(f"{subject}{NO_RATES}")

    def _part(self, text: str) -> PartSpec:
        """The part to watch, which no other part is yet."""
        try:
            watch = parsed_part(text)
        except ValueError as error:
            raise InputError(str(error)) from None
        watched = self._session_run.parts.watched
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
    """One session: call `drive` with a load, `start`, then `close`. `controls` changes its load.

    `outcome` says when and how the run ended.
    """

    def __init__(self, options: RunOptions, service: Service) -> None:
        self.service = service
        self.outcome = RunOutcome()
        first = 0 if options.steps or options.autopilot else options.start_users  # a plan starts from zero users
        self._requested_load = RequestedLoad(
            Users(first),
            options.spawn_rate,
            native.allocate_lock(),
            Plan() if options.steps else Manual(),
            arrivals=options.profile.users.arrivals,
            max_users=options.profile.guards.max_users,
        )
        self.session_run = SessionRun(options, service, self._requested_load, self.outcome)
        self._post = self.session_run.pump.post
        self.controls = LiveControls(self.session_run, self._requested_load)
        self.screens = Screens(self.controls, lambda args: self._post(lambda: self.session_run.command("controls", "user", args)))
        self._closed = False

    def use_workers(self, workers: LoadWorkers) -> None:
        """Let users run in worker processes. Call before `drive`."""
        self.session_run.workers = workers

    def drive(self, load_thread: LoadThread, workload: Workload) -> None:
        """Set the load that is controlled. Call before `start`."""
        self.session_run.load_thread = self._requested_load.thread = load_thread
        self.session_run.workload = workload
        self.session_run.workers.load_thread = load_thread
        url, http = self.service.url, bool(workload.http_clients)
        self.service.reach = lambda: load_thread.call(lambda: why_unreachable(url, http=http))

    # -- EventSource

    def start(self, wake: Callable[[], None]) -> None:
        """Begin the session in the pump's thread. Returns at once. `wake` is called whenever there are events to `take`."""
        self.session_run.sink.wake = self.outcome.wake = wake
        self._post(self.session_run.open)
        native.start_thread(self.session_run.pump.run)

    def take(self) -> Sequence[Event]:
        """All events since the last call."""
        return self.session_run.sink.take()

    def timeline_of_events(self) -> Timeline:
        """A timeline for the events that are taken, still empty. It shares the columns of the pump's timeline."""
        return Timeline(seconds_of=self.session_run.sink.timeline)

    def close(self) -> None:
        """Stop users and target, write the final event, and close the log. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self.session_run.pump.end(self.session_run.close)
        if not self.session_run.pump.wait_until_left(STOP_USERS_S + self.service.stop_s + 10.0):
            self.outcome.fail("defect", "the run did not end in time: the session may lack its end", 1)
        self.service.supervisor.close()
        self.service.tidy()

    @property
    def is_driven(self) -> bool:
        """Whether a plan, a shape or the autopilot steps the users, or will once the service is ready."""
        if not isinstance(self._requested_load.driver.kind, Manual):
            return True
        options, begun = self.session_run.options, self.session_run.load_control.levels.tracker.index >= 0
        follows_shape = options.follow_shape and self.session_run.workload.shape is not None
        return not begun and (options.autopilot or follows_shape)

    @property
    def requests(self) -> KeptRequests:
        """Requests that are kept whole."""
        return self.session_run.requests

    # -- reports of other threads

    def on_load_report(self, report: LoadReport) -> None:
        """A report of the load thread."""
        self._post(lambda: self.session_run.load_report(report))

    def on_target_report(self, report: TargetReport) -> None:
        """A report of the supervisor."""
        self._post(lambda: self.session_run.target_report(report))

    def on_host_refused(self, host: str) -> None:
        """A connection to a host that is not allowed was refused."""
        address = host.partition(" ")[0]  # of `10.1.2.3 (localhost)`
        text = f"load to {host} is not allowed and was refused (only loopback, or --allow-host {address})"
        self.on_log_line("capexplorer", "error", text)

    def on_log_line(self, source: str, level: str, text: str) -> None:
        """A line that was logged or printed."""
        self._post(lambda: self.session_run.log.add(source, level, text))
