"""Emits the target's states as events: building, starting, ready, stopping, stopped, died, failed. In the pump's thread."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from ..errors import TargetError
from ..load import native
from ..model.events import Event, Target, TargetState
from ..model.param import Param
from ..model.watched import NAME_MOST, PartSpec
from ..probe.tree import program_of
from ..target.compose.containers import ReportedContainer
from ..target.reports import Exited, Report
from .run_outcome import RunOutcome
from .service import Service

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
        self,
        service: Service,
        outcome: RunOutcome,
        *,
        post: Callable[[Callable[[], None]], None],
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        on_ready: Callable[[], None],
    ) -> None:
        self.service = service
        self.epoch = 0
        self.state: TargetState | None = None
        self._outcome = outcome
        self._post, self._emit, self._now_s = post, emit, now_s
        self._on_ready = on_ready
        self._ended = False
        self._attempt = 0
        """Counts starts; results of a start that a restart superseded are dropped."""

    def begin(self) -> None:
        """Start the target, or connect to an already running service; users of a locustfile may have their own hosts."""
        if self.service.spec is not None:
            self._bring_up(self.service.params)
        elif self.service.url:
            native.start_thread(self._connect)
        else:
            self._ready()

    def restart(self, params: Mapping[str, Param]) -> None:
        """Stop and start with these parameters; changed parameters open an epoch."""
        if dict(params) != self.service.params:
            self.epoch += 1
        if self.is_up:
            self._emit_state("stopping", pid=self.service.pid)
        self._bring_up(params)

    def end(self, drain_until: Callable[[Callable[[], bool], float], bool]) -> None:
        """Stop the target and wait until its processes have ended. `drain_until`: `Pump.drain_until`."""
        self._ended = True
        if self.service.spec is None or not self.is_up:
            return
        self._emit_state("stopping", pid=self.service.pid)
        self.service.stop()
        drain_until(lambda: not self.is_up, self.service.stop_s)

    @property
    def is_up(self) -> bool:
        """Whether a process started by capexplorer may exist."""
        return self.state in ("building", "starting", "ready", "stopping")

    def on_report(self, report: Report) -> None:
        """A report of the supervisor on the current run. While starting, the result comes from readiness."""
        if not isinstance(report, Exited):
            return
        if self.state == "stopping":
            self._emit_state("stopped", exit_code=report.code, signal=report.signal)
        elif self.state == "ready":
            self._emit_state("died", exit_code=report.code, signal=report.signal, output=report.output)
            how = report.last_line if self.service.has_containers and report.last_line else report.how_it_ended()
            self._outcome.fail("target", f"{self.service.facts.name}: the target died: {how}", 4, report.output)

    def _connect(self) -> None:
        """In a thread of its own: try until the service can be reached or the run ends. The first failure is posted."""
        is_posted = False
        while not self._ended:
            why = self.service.reach()
            if why is None:
                return self._post(self._reached)
            if not is_posted:
                self._post(lambda why=why: self._unreachable(why))  # type: ignore[misc]
            is_posted = True
            native.sleep(ASK_EVERY_S)

    def _reached(self) -> None:
        if not self._ended:
            self._ready()

    def _unreachable(self, why: str) -> None:
        if not self._ended:
            reason = f"cannot reach {self.service.address}: {why}"
            self._emit_state("failed", reason=reason)
            self._outcome.fail("target", reason, 4)

    def _bring_up(self, params: Mapping[str, Param]) -> None:
        self._attempt += 1
        if not self.service.has_build:
            return self._start(params)
        self._emit_state("building", params=dict(params))
        self._in_thread(lambda: self.service.build(params), then=lambda: self._built(params))

    def _built(self, params: Mapping[str, Param]) -> None:
        if self.state == "building":  # `end` was not called meanwhile
            self._start(params)

    def _start(self, params: Mapping[str, Param]) -> None:
        self._emit_state("starting", params=dict(params))
        attempt = self._attempt

        def on_waiting(why: str) -> None:
            self._post(lambda: self._waiting(params, why) if attempt == self._attempt else None)

        self._in_thread(lambda: self.service.bring_up(params, on_waiting), then=self._ready)

    def _waiting(self, params: Mapping[str, Param], why: str) -> None:
        if self.state == "starting":
            self._emit_state("starting", params=dict(params), reason=why)

    def _in_thread(self, work: Callable[[], None], then: Callable[[], None]) -> None:
        """Run blocking work in a native thread, then `then` in the pump's thread, unless another start began meanwhile."""
        attempt = self._attempt

        def post(outcome: Callable[[], None]) -> None:
            self._post(lambda: outcome() if attempt == self._attempt else None)

        def body() -> None:
            try:
                work()
            except TargetError as error:
                failure = error
                post(lambda: self._failed(failure))
            else:
                post(then)

        native.start_thread(body)

    def _failed(self, error: TargetError) -> None:
        if self.state in ("building", "starting"):
            self._emit_state("failed", reason=str(error), output=error.output)
            self._outcome.fail("target", str(error), 4, error.output)

    def _ready(self) -> None:
        if self.service.spec is not None and self.state != "starting":
            return  # `end` was called meanwhile
        self.service.find_pid()
        self._emit_state("ready", pid=self.service.pid, params=self.service.params)
        self._outcome.recover("target")
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
            t_s=self._now_s(),
            state=state,
            epoch=self.epoch,
            pid=pid,
            program=program_of(pid) if pid is not None else None,
            exit_code=exit_code,
            signal=signal,
            reason=reason,
            params=dict(params or {}),
            version=self.service.version if state == "ready" else None,
            output=output,
        )
        self._emit(event)
