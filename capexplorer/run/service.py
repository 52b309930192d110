"""The service under exploration: starts, stops and restarts a target, or watches an already running service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ..addresses import is_loopback, port_of
from ..errors import TargetError
from ..load import native
from ..model.events import TargetFacts
from ..model.param import Param
from ..probe.listener import listening_pid
from ..target import scratch
from ..target.compose import containers
from ..target.compose.containers import ReportedContainer
from ..target.free_port import free_port
from ..target.ready import wait_until_built, wait_until_ready
from ..target.reports import Report
from ..target.spec import TargetSpec
from ..target.supervisor import GRACE_S, Supervisor
from .options import RunOptions

_REPORTED_S = 3.0
"""Seconds from the end of the target to the supervisor's report of it, at the latest."""

NULL_RESPONDER = TargetSpec(
    title="null responder",
    command=("{python}", "null_responder.py", "{port}"),
    folder=Path(__file__).resolve().parent.parent / "load",
)
"""A server that answers at once, for the client's own overhead."""


class Service:
    """Starts on `bring_up`, which blocks until it is ready. The supervisor's reports go to `TargetLifecycle`."""

    def __init__(self, options: RunOptions, supervisor: Supervisor) -> None:
        self.spec = options.spec
        self.params: dict[str, Param] = dict(options.params)
        self.limits = options.profile.limits.target
        self.supervisor = supervisor
        self.port = (options.port or free_port()) if options.spec else port_of(options.url or "") or 0
        """0: unknown, since users have hosts of their own or speak a protocol without a default port."""
        self._watched_pid = options.watched_pid
        self.url = f"http://127.0.0.1:{self.port}" if options.spec else options.url or ""
        self.reach: Callable[[], str | None] = lambda: None
        """Returns why an already running service cannot be reached; None if it can. Blocks for seconds."""
        self.pid: int | None = None
        """Process id of its first process; None if that runs on another machine, is not known, or runs in containers, which are
        watched as parts."""
        self.version: str | None = None
        """The version that it named when it became ready; None: it named none, or was not started."""
        self.containers: Sequence[ReportedContainer] = ()
        """The containers of a Compose file, once they are ready."""
        self._first_run = 1
        """Number of the supervisor's first run that is the target's; earlier runs were the null responder's."""

    @property
    def facts(self) -> TargetFacts:
        """The target's name, URL, command and parameters, for the session's header."""
        if self.spec is None:
            return TargetFacts(name=self.address or "locustfile", url=self.url)
        command = self.spec.command_line(self.params, self.port)
        return TargetFacts(name=self.spec.name, url=self.url, command=command, params=self.params)

    @property
    def address(self) -> str:
        """`HOST:PORT` of its URL, without a password."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def is_here(self) -> bool:
        """Whether the service runs on this machine, or might (users can have their own hosts)."""
        host = urlsplit(self.url).hostname
        return host is None or is_loopback(host)

    @property
    def metrics_url(self) -> str | None:
        """URL of the target's own metrics."""
        metrics = self.spec.metrics if self.spec is not None else None
        return f"{self.url}{metrics.path}" if metrics is not None else None

    def find_pid(self) -> int | None:
        """The process to watch: the started one, the one given by id, or the process that listens on the URL's loopback port."""
        if self._watched_pid is not None:
            self.pid = self._watched_pid
        elif self.spec is None:
            host = urlsplit(self.url).hostname  # None: users have hosts of their own
            self.pid = listening_pid(self.port) if self.port and host is not None and is_loopback(host) else None
        return self.pid

    @property
    def has_containers(self) -> bool:
        """Whether the target is a Compose file, whose services run in containers."""
        return self.spec is not None and self.spec.compose

    @property
    def has_build(self) -> bool:
        """Whether the target is built before each start."""
        return self.spec is not None and self.spec.build is not None

    def build(self, params: Mapping[str, Param]) -> None:
        """Run the target's build, without the profile's limits; blocks. Raises TargetError with the last output lines."""
        assert self.spec is not None and self.spec.build_step is not None
        self.params = dict(params)
        self._make_scratch()
        run = self.supervisor.start(self.spec.build_step, params, self.port)
        wait_until_built(self.supervisor, run, self.spec, sleep=native.sleep)

    def bring_up(self, params: Mapping[str, Param], on_waiting: Callable[[str], None]) -> None:
        """Start (or restart) and wait until ready: blocks. Raises TargetError with the last output lines. `on_waiting`: see
        `wait_until_ready`.
        """
        assert self.spec is not None, "capexplorer cannot start a service that is already running"
        self.params = dict(params)
        self._make_scratch()
        run = self.supervisor.start(self.spec, params, self.port, self.limits)
        self.version = wait_until_ready(self.supervisor, run, self.spec, self.port, sleep=native.sleep, on_waiting=on_waiting)
        if self.spec.compose:
            self.containers = containers.read(self.spec.containers_file)
        else:
            self.pid = self.supervisor.pid

    @property
    def stop_s(self) -> float:
        """Seconds within which its end is reported at the latest."""
        least_s = self.spec.least_grace_s if self.spec is not None else 0.0
        return max(GRACE_S, least_s) + _REPORTED_S

    def _make_scratch(self) -> None:
        if self.spec is not None and self.spec.uses_scratch:
            scratch.make(self.spec.scratch)

    def is_ours(self, report: Report) -> bool:
        """Whether a report concerns the target, not the null responder."""
        return report.run >= self._first_run

    def stop(self) -> None:
        """Ask the target to end; the report `Exited` follows."""
        if self.spec is not None:
            self.supervisor.stop()

    def tidy(self) -> None:
        """Remove the target's scratch files, after it has ended."""
        if self.spec is not None and self.spec.uses_scratch:
            scratch.remove(self.spec.scratch)

    def measure_client_overhead(self, measure: Callable[[str], None]) -> None:
        """Run `measure(url)` against a null responder in a process of its own. An overhead that cannot be measured stays
        unknown.
        """
        port = free_port()
        try:
            run = self.supervisor.start(NULL_RESPONDER, {}, port)
            self._first_run = run + 1
            wait_until_ready(self.supervisor, run, NULL_RESPONDER, port, sleep=native.sleep)
            measure(f"http://127.0.0.1:{port}")
        except TargetError:
            return
        finally:
            self.supervisor.stop()
