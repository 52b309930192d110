"""Users, target and probes of a run whose time is simulated."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from capexplorer.load.engine import Drained, Report, ShapeEnded, ShapeStep, Spawned
from capexplorer.load.lag import LagMeter
from capexplorer.load.recorder import Recorder
from capexplorer.load.user_code import UserErrors
from capexplorer.model.experiments import Experiment
from capexplorer.model.load import OfferedRate, Rate, Users
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TcpReading
from capexplorer.read.probes import Readings

Calls = deque[Callable[[], object]]
"""Calls that wait for a thread."""

POOL_USERS = 5
"""Users of a rate level."""

SHAPE = [2, 2, 5, 8, 9, *[10] * 15, 4, 4, 4]
"""The users of a locustfile's shape in each second."""


class SimulatedLoadThread:
    """Users that start and stop at the requested spawn rate, and a shape. Calls to the load thread wait in the queue `thread`."""

    next_engine = engine = None

    def __init__(self, thread: Calls, on_report: Callable[[Report], None]) -> None:
        self.recorder = Recorder()
        self.lag, self.native_id, self.beats, self.has_ended = LagMeter(lambda: ""), None, 0, False
        self.errors = UserErrors()
        self.process_exit_code = None
        self.replaced = self.users = self._target = 0
        self._spawn_rate, self._spawned = 1.0, True
        self._shape: deque[int] | None = deque(SHAPE)
        self._thread = thread
        self._followed: deque[int] | None = None
        self._generation = 0
        self._offered: Rate | None = None
        self.on_report = on_report

    def drain(self, boundary_s: float) -> Drained:
        return Drained(self.recorder.drain(boundary_s, self.users))

    def drain_all(self) -> None:
        self.recorder.drain_all()

    def set_users(self, users: int, spawn_rate: float) -> None:
        def step() -> None:
            self._shape = self._offered = self.recorder.iterations.per_s = None
            self._aim(users, spawn_rate)

        self._thread.append(step)

    def set_rate(self, offered: OfferedRate) -> None:
        def step() -> None:
            self._shape = None
            self._offered, self.recorder.iterations.per_s = Rate(offered.per_s), offered.per_s
            self._aim(POOL_USERS, 100.0)

        self._thread.append(step)

    def start_shape(self, generation: int) -> None:
        def follow() -> None:
            self._followed, self._generation = self._shape, generation

        self._thread.append(follow)

    def begin_level(self, index: int, experiment: Experiment | None) -> None: ...

    def stop(self, timeout_s: float = 0.0) -> bool:
        self.users = 0
        return True

    def _aim(self, users: int, rate: float) -> None:
        self._target, self._spawn_rate, self._spawned = users, rate, False

    def pass_time(self, at_s: float, share: float) -> None:
        """Let this share of a second pass: users start or stop, and send requests."""
        self.beats += 1
        change = max(1, round(self._spawn_rate * share))
        self.users += max(-change, min(change, self._target - self.users))
        if self.users == self._target and not self._spawned:
            self._spawned = True
            self.on_report(Spawned(self._offered or Users(self._target), at_s))
        if self._offered is not None and self._spawned:
            for outcome, in_flight in (("started", 1), ("finished", 0)):
                self.recorder.iterations.record((outcome, 0.05, in_flight))
        for _ in range(min(self.users, 7)):
            self.recorder.on_request("GET", "/a", max(50.0, 50.0 * self.users / 7), 10)

    def follow_shape(self) -> None:
        """Take the next second of the shape, and report its step or its end."""
        shape = self._followed
        if shape is None or shape is not self._shape:
            return
        if not shape:
            self._shape = None
            self.on_report(ShapeEnded(self._generation))
        elif (users := shape.popleft()) != self._target:
            self._aim(users, 100.0)
            self.on_report(ShapeStep(users, 100.0, self._generation))


class SimulatedService:
    """A target that is ready as soon as it is started."""

    url, port, metrics_url, pid, version = "http://127.0.0.1:1", 1, None, 1, None
    has_build, has_containers, is_here, is_unseen = False, False, True, False

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.spec = self

    def resolve(self, given: Any, where: str) -> dict[str, Any]:
        return dict(given)

    def bring_up(self, params: Any, on_waiting: Any) -> None:
        self.params = dict(params)

    def is_ours(self, report: object) -> bool:
        return True

    def find_pid(self) -> None: ...
    def stop(self) -> None: ...


class EmptyProbes:
    """Probes without a reading."""

    def watch(self, *_: Any, **__: Any) -> None: ...
    def close(self) -> None: ...

    def read(self, *_: Any, **__: Any) -> Readings:
        return Readings(GeneratorReading(), (), HostReading(), NeighboursReading(), PortsReading(), TcpReading(), None)
