"""A live run as the screen and the headless command use it: an EventSource, and the Controls of its load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..load import native
from ..load.load_host import LoadHost
from ..load.load_reports import Report as LoadReport
from ..load.reach import why_unreachable
from ..load.workload import Workload
from ..model.events import Event
from ..model.kept_request import KeptRequests
from ..model.timeline import Timeline
from ..target.reports import Report as TargetReport
from .drivers.driver import Manual, Plan
from .drivers.load_target import LoadTarget
from .live_controls import LiveControls
from .load_workers import LoadWorkers
from .options import RunOptions
from .run_outcome import RunOutcome
from .screens import Screens
from .service import Service
from .session_run import STOP_USERS_S, SessionRun


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
