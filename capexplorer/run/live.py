"""A live run as the screen and the headless command use it: an EventSource, and the Controls of its load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..errors import InputError
from ..load import native
from ..load.load_host import LoadHost
from ..load.load_reports import Report as LoadReport
from ..load.plan import Step, offers_rates, parse
from ..load.reach import why_unreachable
from ..load.workload import Workload
from ..model.events import Event, Note
from ..model.kept_request import KeptRequests
from ..model.offered import clamped_rate
from ..model.param import Param
from ..model.timeline import Timeline
from ..model.watched import mistakes, parsed_part
from ..parts.servers import missing_client
from ..target.reports import Report as TargetReport
from .drivers.driver import Autopilot, Manual, Plan
from .drivers.load_target import LoadTarget
from .load_workers import LoadWorkers
from .options import NO_RATES, RunOptions
from .run_outcome import RunOutcome
from .screens import Screens
from .service import Service
from .session_run import STOP_USERS_S, SessionRun

# -- live controls -------------------------------------------------------------------------------------------------------------
# The Controls of a live run: what a person may change, from any screen of the run's process.
#
# A call acts on the load at once, in the caller's thread. Then it is posted to the pump, which records it and opens the level.


class LiveControls:
    """Implements `model.controls.Controls`. A method that changes the load ends the current driver, or starts another one."""

    def __init__(self, session_run: SessionRun, load_target: LoadTarget) -> None:
        self._session_run, self._load_target = session_run, load_target
        self._service, self._outcome = session_run.service, session_run.outcome
        self._profile = session_run.options.profile
        self._post = session_run.pump.post

    @property
    def wanted(self) -> int:
        """Users wanted now."""
        return self._load_target.wanted

    @property
    def offered_per_s(self) -> float | None:
        """Iterations offered each second now; None: users are set."""
        return self._load_target.offered_per_s

    @property
    def max_users(self) -> int:
        """The most users that the profile's guard allows."""
        return self._profile.guards.max_users

    @property
    def spawn_rate(self) -> float | None:
        """Users a second; None: automatic."""
        return self._load_target.spawn_rate

    @property
    def workers(self) -> int:
        """Worker processes that make load now; 0: users run in this process."""
        return self._session_run.workers.count

    def change_workers(self, *, add: bool) -> str:
        """Start one more worker, or end one, while the run goes on. Returns why that is refused; empty: it is done soon."""
        workers = self._session_run.workers
        why_not = workers.why_not(add=add)
        if not why_not:
            self._post(lambda: workers.add("user") if add else workers.remove("user"))
        return why_not

    def watch_part(self, part: str) -> str:
        """Watch one more part, `NAME=TRANSPORT[:SELECTOR]`. Returns why that is refused; empty: it is read soon."""
        try:
            watch = parsed_part(part)
        except ValueError as error:
            return str(error)
        why_not = next((expected for _, expected in mistakes([*self._session_run.parts.watched, watch])), missing_client(watch))
        if not why_not:
            self._command("watch", part=watch.name, place=watch.place)
            self._post(lambda: self._session_run.parts.add(watch))
        return why_not

    @property
    def target_params(self) -> Mapping[str, Param]:
        """Parameters of the target that capexplorer started."""
        return self._service.params

    @property
    def can_restart(self) -> bool:
        """Whether capexplorer started the target."""
        return self._service.spec is not None

    @property
    def autopilot(self) -> bool:
        """Whether the autopilot steps."""
        return self._load_target.driver.autopilot_steps

    def set_autopilot(self, on: bool, *, finds_rate: bool = False) -> None:
        """Start the autopilot with the levels measured so far, or stop it at once."""
        if on and finds_rate and self._has_plain_workers:
            return self._refuse_rates()
        generation = self._load_target.hand_to(Autopilot() if on else Manual())
        self._go_on()
        self._command("autopilot", on=on, **({"task": "rate"} if on and finds_rate else {}))
        self._post(lambda: self._session_run.load_control.switch_autopilot(generation, on=on, finds_rate=finds_rate))

    def verify_knee(self) -> None:
        """Let the autopilot run the levels that verify the current knee."""
        generation = self._load_target.hand_to(Autopilot())
        self._go_on()
        self._command("autopilot", on=True, task="verify")
        self._post(lambda: self._session_run.load_control.switch_autopilot(generation, on=True, only_verifies=True))

    @property
    def plans(self) -> Mapping[str, str]:
        """The profile's plans by name."""
        return self._profile.plans

    def plan_wrong(self, plan: str) -> str | None:
        """Why a plan is invalid, as a sentence; None if it is valid."""
        try:
            self._steps(plan)
        except InputError as error:
            return str(error)
        return None

    def start_plan(self, plan: str) -> None:
        """Start a plan, which replaces the current driver. Raises InputError."""
        steps = self._steps(plan)
        self._go_on()
        generation = self._load_target.hand_to(Plan())
        self._command("plan", plan=plan)
        self._post(lambda: self._session_run.load_control.begin_plan(steps, generation))

    def _steps(self, plan: str) -> tuple[Step, ...]:
        steps = parse(self.plans.get(plan, plan), "plan", self.max_users)
        if self._has_plain_workers and offers_rates(steps):
            raise InputError(f"plan: {NO_RATES}")
        return steps

    @property
    def _has_plain_workers(self) -> bool:
        workers = self._session_run.options.workers
        return workers is not None and workers.plain

    def _refuse_rates(self) -> None:
        self._post(lambda: self._session_run.log.add("capexplorer", "error", NO_RATES))

    def set_users(self, users: int) -> int:
        """Set the users by hand; this ends a plan, a shape or the autopilot."""
        users = max(0, min(users, self.max_users))
        self._command("users", users=users, before=self.wanted)
        self._step(users)
        return users

    def set_rate(self, per_s: float) -> float:
        """Offer iterations at this rate; this ends a plan, a shape or the autopilot."""
        if self._has_plain_workers:
            self._refuse_rates()
            return self.offered_per_s or 0.0
        per_s = clamped_rate(per_s)
        self._command("rate", per_s=per_s, before=self.offered_per_s, users_before=self.wanted)
        self._offer(per_s)
        return per_s

    def set_step(self, step: int) -> None:
        """Record the screen's step size."""
        self._command("step", step=step)

    def set_spawn_rate(self, rate: float | None) -> None:
        """Spawn rate in users a second from the next step on; None: automatic."""
        self._load_target.set_spawn_rate(rate)
        self._command("spawn_rate", rate=self.spawn_rate)

    def new_level(self) -> None:
        """Begin a new level at the same user count, or the same rate."""
        users, per_s = self.wanted, self.offered_per_s
        if per_s is not None:
            self._command("new_level", offered_per_s=per_s)
            self._offer(per_s)
            return
        self._command("new_level", users=users)
        self._step(users)

    def zero(self) -> None:
        """All users stop at once."""
        rate = {} if self.offered_per_s is None else {"rate_before": self.offered_per_s}
        self._command("zero", before=self.wanted, **rate)
        self._step(0)

    def note(self, text: str) -> None:
        """Record a note at this moment."""
        self._command("note", text=text)
        run = self._session_run
        self._post(lambda: run.sink.emit(Note(t_s=run.pump.now_s(), text=text)))

    def restart_target(self, params: Mapping[str, str]) -> None:
        """Take users to zero, restart the target, and bring the users back in a new level. Raises InputError."""
        if self._service.spec is None:
            raise InputError("the target was not started by capexplorer, so it cannot be restarted here")
        resolved = self._service.spec.resolve({**self._service.params, **params}, "restart")
        if isinstance(self._load_target.driver.kind, Autopilot):
            self._load_target.hand_to(Manual())
        self._command("restart", **resolved)
        self._post(lambda: self._session_run.restart(resolved))

    def quit(self) -> None:
        """Record that the user quits; `LiveRun.close` ends the run."""
        self._command("quit")
        self._outcome.quit()

    def _command(self, name: str, **args: Param | None) -> None:
        self._post(lambda: self._session_run.command(name, "user", args))

    def _go_on(self) -> None:
        """Drop failures of the locustfile and the load thread, so that they no longer end the run: a person starts load again."""
        self._outcome.recover("locustfile")
        self._outcome.recover("load_thread")

    def _step(self, users: int) -> None:
        self._go_on()
        rate = self._load_target.step(users)
        self._post(lambda: self._session_run.load_control.step(users, "user", rate))

    def _offer(self, per_s: float) -> None:
        self._go_on()
        rate = self._load_target.step_rate(per_s)
        self._post(lambda: self._session_run.load_control.step(0, "user", rate, offered_per_s=per_s))


class LiveRun:
    """One session: call `drive` with a load, `start`, then `close`. `controls` changes its load.

    `outcome` says when and how the run ended.
    """

    def __init__(self, options: RunOptions, service: Service) -> None:
        self.service = service
        self.outcome = RunOutcome()
        first = 0 if options.steps or options.autopilot else options.start_users  # a plan starts from zero users
        self._load_target = LoadTarget(
            first,
            options.spawn_rate,
            Plan() if options.steps else Manual(),
            arrivals=options.profile.users.arrivals,
            max_users=options.profile.guards.max_users,
        )
        self.session_run = SessionRun(options, service, self._load_target, self.outcome)
        self._post = self.session_run.pump.post
        self.controls = LiveControls(self.session_run, self._load_target)
        self.screens = Screens(lambda args: self._post(lambda: self.session_run.command("controls", "user", args)))
        self._closed = False

    def use_workers(self, workers: LoadWorkers) -> None:
        """Let users run in worker processes. Call before `drive`."""
        self.session_run.workers = workers

    def drive(self, host: LoadHost, workload: Workload) -> None:
        """Set the load that is controlled. Call before `start`."""
        self.session_run.host = self._load_target.host = host
        self.session_run.workload = workload
        self.session_run.workers.host = host
        url, http = self.service.url, bool(workload.http_clients)
        self.service.reach = lambda: host.call(lambda: why_unreachable(url, http=http))

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
        """A timeline for the events that are taken, still empty. It shares the columns of the recorder's."""
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
    def unattended_s(self) -> float:
        """Seconds for which load set by hand continues while no screen has the controls."""
        return self.session_run.options.profile.guards.unattended_s

    @property
    def is_driven(self) -> bool:
        """Whether a plan, a shape or the autopilot steps the users, or will once the service is ready."""
        if not isinstance(self._load_target.driver.kind, Manual):
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
