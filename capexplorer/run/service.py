"""The service under exploration: starts, stops and restarts a target, or watches an already running service."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from msgspec.structs import replace

from .. import wording
from ..addresses import is_loopback, port_of
from ..errors import TargetError
from ..load import native
from ..model.controls import Param
from ..model.events import Target, TargetFacts, TargetState
from ..model.watched import NAME_MOST, PartSpec
from ..read.ports import listening_pid
from ..read.target import program_of
from ..target import containers, place
from ..target.containers import ReportedContainer
from ..target.place import free_port
from ..target.ready import wait_until_built, wait_until_ready
from ..target.spec import TargetSpec
from ..target.supervisor import GRACE_S, Exited, Report, Supervisor
from .context import RunContext
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
        """Those that a person has chosen. In the level of an experiment it may run with others."""
        self.limits = options.profile.limits.target
        self.supervisor = supervisor
        self.port = (options.port or free_port()) if options.spec else port_of(options.url or "") or 0
        """0: unknown, since users have hosts of their own or speak a protocol without a default port."""
        self._watched_pid = options.watched_pid
        self.url = f"http://127.0.0.1:{self.port}" if options.spec else options.url or ""
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
            url = urlsplit(self.url)
            is_here = url.hostname is not None and is_loopback(url.hostname)  # without a host users have their own
            self.pid = listening_pid(self.port, udp=url.scheme == "udp") if self.port and is_here else None
        return self.pid

    @property
    def is_unseen(self) -> bool:
        """Whether it was running already, listens on this machine, and `find_pid` has found no process."""
        return self.spec is None and self.pid is None and self.port != 0 and self.is_here

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
        self._make_scratch()
        run = self.supervisor.start(self.spec.build_step, params, self.port)
        wait_until_built(self.supervisor, run, self.spec, sleep=native.sleep)

    def bring_up(self, params: Mapping[str, Param], on_waiting: Callable[[str], None]) -> None:
        """Start (or restart) and wait until ready: blocks. Raises TargetError with the last output lines. `on_waiting`: see
        `wait_until_ready`.
        """
        assert self.spec is not None, "capexplorer cannot start a service that is already running"
        self._make_scratch()
        run = self.supervisor.start(self.spec, params, self.port, self.limits)
        self.version = wait_until_ready(self.supervisor, run, self.spec, self.port, sleep=native.sleep, on_waiting=on_waiting)
        if self.spec.compose:
            self.containers = containers.read_containers(self.spec.containers_file)
        else:
            self.pid = self.supervisor.pid

    @property
    def stop_s(self) -> float:
        """Seconds within which its end is reported at the latest."""
        least_s = self.spec.least_grace_s if self.spec is not None else 0.0
        return max(GRACE_S, least_s) + _REPORTED_S

    def _make_scratch(self) -> None:
        if self.spec is not None and self.spec.uses_scratch:
            place.make_scratch(self.spec.scratch)

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
            place.remove_scratch(self.spec.scratch)

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


# -- composed parts ------------------------------------------------------------------------------------------------------------
# From the containers of a Compose file to the parts that are watched. Pure.
#
# The processes of a local daemon are in this machine's /proc: they are read from here, at no cost inside the container, which
# then needs neither a shell nor Python. Those of a daemon elsewhere are read by `docker exec`.


def composed_parts(containers: Sequence[ReportedContainer], of_profile: Sequence[PartSpec]) -> Iterator[PartSpec]:
    """A part for each container, then the profile's other parts.

    A part of the profile that has the name of a service and gives no place describes that service: its URLs are read in addition
    to the container.
    """
    given = {part.name: part for part in of_profile}
    several = Counter(each.service for each in containers)
    seen = Counter[str]()
    for each in containers:
        seen[each.service] += 1
        name = _named(each.service, seen[each.service] if several[each.service] > 1 else None)
        own = given.pop(name, PartSpec(name=name))
        yield _placed(own, each) if not _has_place(own) else own
    yield from given.values()


def _named(service: str, number: int | None) -> str:
    """`web`, or `web2`: parts whose names differ by a number are judged as peers."""
    suffix = "" if number is None else str(number)
    plain = re.sub(r"[^\w-]", "-", service, flags=re.ASCII).lstrip("-_") or "service"
    return plain[: NAME_MOST - len(suffix)] + suffix


def _has_place(part: PartSpec) -> bool:
    return bool(part.at.strip()) or part.selected is not None


def _placed(part: PartSpec, container: ReportedContainer) -> PartSpec:
    if container.is_here:
        return replace(part, container=container.name)
    return replace(part, at=f"docker exec -i {container.name}")


ASK_EVERY_S = 1.0
"""Seconds between attempts to reach an already running service."""


class TargetLifecycle:
    """Starts the service and emits its states. Calls `on_ready` when users may run."""

    def __init__(
        self, context: RunContext, service: Service, reach: Callable[[], str | None], on_ready: Callable[[], None]
    ) -> None:
        """`reach`: returns why an already running service cannot be reached; None if it can. Blocks for seconds."""
        self._context, self._service, self._reach, self._on_ready = context, service, reach, on_ready
        self.state: TargetState | None = None
        self._epoch = 0
        self._changed: Mapping[str, Param] = {}
        """Parameters that an experiment has changed."""
        self._ended = False
        self._attempt = 0
        """Counts starts; results of a start that a restart superseded are dropped."""

    def begin(self) -> None:
        """Start the target, or connect to an already running service; users of a locustfile may have their own hosts."""
        if self._service.spec is not None:
            self._bring_up()
        elif self._service.url:
            native.start_thread(self._connect)
        else:
            self._ready()

    def restart(self, params: Mapping[str, Param]) -> None:
        """Stop and start with these parameters; other ones than before open an epoch."""
        self._epoch += dict(params) != self._service.params
        self._service.params = dict(params)
        self.restart_with({})

    def restart_with(self, changed: Mapping[str, Param]) -> None:
        """Stop and start with some parameters changed, for a level in no curve: the epoch stays. A failure then ends no run."""
        self._changed = changed
        if self.is_up:
            self._emit_state("stopping", pid=self._service.pid)
        self._bring_up()

    @property
    def _params(self) -> dict[str, Param]:
        """Those that it runs with, or will."""
        return {**self._service.params, **self._changed}

    def end(self) -> None:
        """Stop the target; `is_up` until its processes have ended."""
        self._ended = True
        if self.is_up:
            self._emit_state("stopping", pid=self._service.pid)
            self._service.stop()

    @property
    def is_up(self) -> bool:
        """Whether a process started by capexplorer may exist."""
        return self._service.spec is not None and self.state in ("building", "starting", "ready", "stopping")

    def on_report(self, report: Report) -> None:
        """A report of the supervisor on the current run. While starting, the result comes from readiness."""
        if not isinstance(report, Exited):
            return
        if self.state == "stopping":
            self._emit_state("stopped", exit_code=report.code, signal=report.signal)
        elif self.state == "ready":
            self._emit_state("died", exit_code=report.code, signal=report.signal, output=report.output, params=self._params)
            how = report.last_line if self._service.has_containers and report.last_line else report.how_it_ended()
            self._fail(f"{self._service.facts.name}: the target died: {how}", report.output)

    def _fail(self, why: str, output: tuple[str, ...] = ()) -> None:
        if not self._changed:
            self._context.outcome.fail("target", why, 4, output)

    def _connect(self) -> None:
        """In a thread of its own: try until the service can be reached or the run ends. The first failure is posted."""
        is_posted, post = False, self._context.pump.post
        while not self._ended:
            why = self._reach()
            if why is None:
                return post(self._reached)
            if not is_posted:
                post(self._unreachable, why)
            is_posted = True
            native.sleep(ASK_EVERY_S)

    def _reached(self) -> None:
        if not self._ended:
            self._ready()

    def _unreachable(self, why: str) -> None:
        if not self._ended:
            reason = f"cannot reach {self._service.address}: {why}"
            self._emit_state("failed", reason=reason)
            self._fail(reason)

    def _bring_up(self) -> None:
        self._attempt += 1
        params = self._params
        if not self._service.has_build:
            return self._start(params)
        self._emit_state("building", params=params)
        self._in_thread(partial(self._service.build, params), then=partial(self._built, params))

    def _built(self, params: dict[str, Param]) -> None:
        if self.state == "building":  # `end` was not called meanwhile
            self._start(params)

    def _start(self, params: dict[str, Param]) -> None:
        self._emit_state("starting", params=params)
        attempt = self._attempt

        def on_waiting(why: str) -> None:
            self._context.pump.post(self._waiting, attempt, params, why)

        self._in_thread(partial(self._service.bring_up, params, on_waiting), then=self._ready)

    def _waiting(self, attempt: int, params: Mapping[str, Param], why: str) -> None:
        if attempt == self._attempt and self.state == "starting":
            self._emit_state("starting", params=dict(params), reason=why)

    def _in_thread(self, work: Callable[[], None], then: Callable[[], None]) -> None:
        """Run blocking work in a native thread, then `then` in the pump's thread, unless another start began meanwhile."""
        attempt, post = self._attempt, self._context.pump.post

        def body() -> None:
            try:
                work()
            except TargetError as error:
                post(self._of_attempt, attempt, partial(self._failed, error))
            else:
                post(self._of_attempt, attempt, then)

        native.start_thread(body)

    def _of_attempt(self, attempt: int, outcome: Callable[[], None]) -> None:
        if attempt == self._attempt:
            outcome()

    def _failed(self, error: TargetError) -> None:
        if self.state in ("building", "starting"):
            self._emit_state("failed", reason=str(error), output=error.output, params=self._params)
            self._fail(str(error), error.output)

    def _ready(self) -> None:
        if self._service.spec is not None and self.state != "starting":
            return  # `end` was called meanwhile
        self._service.find_pid()
        reason = wording.UNSEEN_SERVICE if self._service.is_unseen else None
        self._emit_state("ready", pid=self._service.pid, params=self._params, reason=reason)
        self._context.outcome.recover("target")
        self._on_ready()

    def _emit_state(
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
        self.state = state
        event = Target(
            t_s=self._context.now_s(),
            state=state,
            epoch=self._epoch,
            pid=pid,
            program=program_of(pid) if pid is not None else None,
            exit_code=exit_code,
            signal=signal,
            reason=reason,
            params=dict(params or {}),
            version=self._service.version if state == "ready" else None,
            output=output,
        )
        self._context.emit(event)
