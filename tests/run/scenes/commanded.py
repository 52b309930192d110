"""A run under commands in random order. Everything of `run` is real; users, target and time are simulated.

Screen, pump, load thread and the thread that starts the target each have a queue of calls here, and chance says which of them
goes on next: so what happens in one thread while another has not heard of it yet happens often.
"""

from __future__ import annotations

import errno
import random
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capexplorer.load import native
from capexplorer.load.engine import Drained
from capexplorer.load.lag import LagMeter
from capexplorer.load.load_reports import Report, ShapeEnded, ShapeStep, Spawned
from capexplorer.load.recorder import Recorder
from capexplorer.load.user_code import UserErrors
from capexplorer.load.workload import Workload
from capexplorer.model.events import Command, Header, HostFacts, TargetFacts
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TcpReading
from capexplorer.probe.probes import Readings
from capexplorer.profile import Guards, Profile, StopRules, Task, Users, Work
from capexplorer.run.live import LiveRun
from capexplorer.run.options import RunOptions
from capexplorer.run.pump import Pump
from capexplorer.run.tick_sampler import TickSampler
from capexplorer.session.writer import SessionWriter

Calls = deque[Callable[[], None]]

PLANS = (
    "4:3s",
    "2:2s, 9:12s",
    "3:9s, ramp to 12 15s",
    "spike 20 8s, 6:2s",
    "ramp to 8 20s, find knee",
    "find knee, 5:4s",
    "50% knee:5s",
    "rate 30/s 4s, 3:3s",
    "ramp to 40/s 9s, spike 80/s 3s, find knee",
)
POOL = 5
"""Users of a rate level."""
SHAPE = [2, 2, 5, 8, 9, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 4, 4, 4]


class _Thread:
    """A load thread that runs."""

    def __init__(self) -> None:
        self.lag, self.native_id, self.beats, self.has_ended = LagMeter(), None, 0, False


class _Host:
    """Users that come and go as asked, and a shape; what a load thread does is done in `thread`, what it tells goes to `tell`."""

    def __init__(self, thread: Calls) -> None:
        self.recorder, self.thread = Recorder(), _Thread()
        self.errors = UserErrors()
        self.process_exit_code = None
        self.replaced = self.users = self._target = 0
        self._rate, self._there = 1.0, True
        self._shape: deque[int] | None = deque(SHAPE)
        self._thread = thread
        self._followed: deque[int] | None = None
        self._generation = 0
        self._offered_per_s: float | None = None
        self.on_report: Callable[[Report], None] = lambda report: None

    def drain(self, boundary_s: float) -> Drained:
        return Drained(self.recorder.drain(), self.users)

    def drain_all(self) -> None:
        self.recorder.drain_all()

    def set_users(self, users: int, spawn_rate: float) -> None:
        def step() -> None:
            self._shape = self._offered_per_s = self.recorder.iterations.offered_per_s = None
            self._aim(users, spawn_rate)

        self._thread.append(step)

    def set_rate(self, offered_per_s: float, arrivals: str, max_users: int, *, at_once: bool = False) -> None:
        def step() -> None:
            self._shape = None
            self._offered_per_s = self.recorder.iterations.offered_per_s = offered_per_s
            self._aim(POOL, 100.0)

        self._thread.append(step)

    def start_shape(self, generation: int) -> None:
        def follow() -> None:
            self._followed, self._generation = self._shape, generation

        self._thread.append(follow)

    def stop(self, timeout_s: float = 0.0) -> bool:
        self.users = 0
        return True

    def _aim(self, users: int, rate: float) -> None:
        self._target, self._rate, self._there = users, rate, False

    def second(self, at_s: float, share: float) -> None:
        """A part of a second passes: users come and go, and work."""
        self.thread.beats += 1
        change = max(1, round(self._rate * share))
        self.users += max(-change, min(change, self._target - self.users))
        if self.users == self._target and not self._there:
            self._there = True
            self.on_report(Spawned(self._target, at_s, self._offered_per_s))
        if self._offered_per_s is not None and self._there:
            for what, in_flight in (("started", 1), ("finished", 0)):
                self.recorder.iterations.record((what, 0.05, in_flight))
        for _ in range(min(self.users, 7)):
            self.recorder.on_request("GET", "/a", max(50.0, 50.0 * self.users / 7), 10)

    def shape_ticks(self) -> None:
        """Once a second; what comes of it is posted, for the load thread may be busy with a step meanwhile."""
        shape = self._followed
        if shape is None or shape is not self._shape:
            return
        if not shape:
            self._shape = None
            self.on_report(ShapeEnded(self._generation))
        elif (users := shape.popleft()) != self._target:
            self._aim(users, 100.0)
            self.on_report(ShapeStep(users, 100.0, self._generation))


class _Service:
    """A target that starts at once."""

    url, port, metrics_url, pid = "http://127.0.0.1:1", 1, None, None
    has_build, has_containers, is_here = False, False, True

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.spec = self

    def resolve(self, given: Any, where: str) -> dict[str, Any]:
        return dict(given)

    def bring_up(self, params: Any) -> None:
        self.params = dict(params)

    def find_pid(self) -> None: ...
    def stop(self) -> None: ...


class _Probes:
    def watch(self, *_: Any, **__: Any) -> None: ...
    def close(self) -> None: ...

    def read(self, *_: Any, **__: Any) -> Readings:
        return Readings(GeneratorReading(), (), HostReading(), NeighboursReading(), PortsReading(), TcpReading(), None)


class _Commanded:
    """One session under `seed`; its log is at `path`."""

    def __init__(self, path: Path, seed: int) -> None:
        self.chance, self.now_s, self.ticked_s = random.Random(seed), 0.0, 0.0
        self.pumped, self.loaded, self.started = Calls(), Calls(), Calls()
        pump: Any = Pump
        pump.now_s, pump.at_s = (lambda _: self.now_s), (lambda _, at_s: at_s)
        pump.post = lambda _, call: self.pumped.append(call)
        native.start_thread = self.started.append  # type: ignore[assignment]
        self.host = _Host(self.loaded)
        self.live = LiveRun(self._options(seed, path), _Service())  # type: ignore[arg-type]
        self.host.on_report = self.live.on_load_report
        shape = object() if seed % 4 == 3 else None
        self.live.drive(self.host, Workload((), shape))  # type: ignore[arg-type]
        session_run = self.live.session_run
        session_run.sink.writer = self.writer = SessionWriter(path)
        session_run.sink.emit(
            Header(t_s=0.0, schema=1, id="commanded", started_at="", target=TargetFacts(name="a", url=""), host=HostFacts())
        )
        tracker = session_run.load_control.levels.tracker
        probes: Any = _Probes()
        host: Any = self.host
        load_target, pump = session_run.load_target, session_run.pump
        session_run._sampler = TickSampler(
            host, probes, session_run.parts, pump, load_target, tracker, Work(), session_run.requests
        )
        session_run.load_control.start_alarm()
        session_run.target.begin()

    @staticmethod
    def _options(seed: int, path: Path) -> RunOptions:
        from capexplorer.load.plan import parse

        steps = parse(PLANS[seed % len(PLANS)], "--plan", 100) if seed % 4 == 1 else ()
        stop = StopRules(p95_ms=90.0) if seed % 3 == 0 else StopRules()
        users = Users(task=(Task(name="/a"),))
        profile = Profile(users=users, plans={}, stop=stop, guards=Guards(max_users=40))
        return RunOptions(
            name="commanded", profile=profile, sessions_dir=path.parent, steps=steps, autopilot=seed % 4 == 2, start_users=2
        )

    # -- what a person does

    def command(self) -> None:
        live, chance = self.live, self.chance
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            act = chance.choice(
                (
                    self._more,
                    self._more,
                    self._rate,
                    live.controls.zero,
                    live.controls.new_level,
                    self._plan,
                    self._plan,
                    self._pilot,
                    self._restart,
                )
            )
            act()

    def _more(self) -> None:
        self.live.controls.set_users(self.live.controls.wanted + self.chance.choice((-3, 1, 2, 10)))

    def _rate(self) -> None:
        self.live.controls.set_rate((self.live.controls.offered_per_s or 0.0) + self.chance.choice((-20.0, 5.0, 30.0)))

    def _plan(self) -> None:
        self.live.controls.start_plan(self.chance.choice(PLANS))

    def _pilot(self) -> None:
        self.live.controls.set_autopilot(not self.live.controls.autopilot)

    def _restart(self) -> None:
        self.live.controls.restart_target({"threads": str(self.chance.choice((1, 2)))})

    # -- what happens by itself

    def fill_disk(self) -> None:
        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        self.writer._append = full  # type: ignore[method-assign,assignment]

    def empty_disk(self) -> None:
        vars(self.writer).pop("_append", None)

    def run_one(self, calls: Calls) -> None:
        if calls:
            calls.popleft()()

    def pass_time(self) -> None:
        """A third of a second; the pump ticks and wakes as it does."""
        self.now_s += 1 / 3
        self.host.second(self.now_s, 1 / 3)
        pump = self.live.session_run.pump
        alarm_s = pump.alarm()
        if alarm_s is not None and self.now_s >= alarm_s:
            pump.on_alarm()
        if self.now_s - self.ticked_s >= 0.99:
            self.host.shape_ticks()
            self.tick()

    def tick(self) -> None:
        started_s, self.ticked_s = self.ticked_s, self.now_s
        self.live.session_run.tick(started_s, self.now_s)

    def settle(self) -> None:
        """All threads get to the end of their queues."""
        while self.pumped or self.loaded or self.started:
            for calls in (self.started, self.loaded, self.pumped):
                self.run_one(calls)

    def play(self, quiet_s: int) -> None:
        for _ in range(3 * quiet_s):
            self.settle()
            self.pass_time()
        for _ in range(25):
            self.command()
            if self.chance.random() < 0.06:
                self.fill_disk()
            for _ in range(self.chance.choice((1, 4, 15, 40))):
                for calls in self.chance.choices((self.pumped, self.loaded, self.started), k=4):
                    self.run_one(calls)
                if self.chance.random() < 0.7:
                    self.pass_time()
            self.empty_disk()
            self.settle()
        self.live.controls.quit()
        self.settle()
        self.live.session_run.load_control.stop()
        self.live.session_run.host.drain_all()
        self.tick()
        self.live.session_run.load_control.end()
        self.live.session_run.sink.close()


def logs(folder: str, seeds: int) -> list[str]:
    """The logs of so many sessions, one a seed."""
    paths = [Path(tempfile.mkdtemp(dir=folder)) / f"seed{seed}.jsonl" for seed in range(seeds)]
    for seed, path in enumerate(paths):
        _Commanded(path, seed).play(quiet_s=40 if seed % 8 == 7 else 0)
    return [str(path) for path in paths]


def drivers_chosen_before_a_stop(folder: str) -> dict[str, list[Any]]:
    """The commands after a guard stopped the load while a choice of driver was still queued, and the users 10 s later."""
    found = {}
    for name in ("autopilot", "plan"):
        session = _Commanded(Path(tempfile.mkdtemp(dir=folder)) / "stopped.jsonl", seed=0)
        session.settle()
        live = session.live
        if name == "autopilot":
            live.controls.set_autopilot(True)
        else:
            live.controls.start_plan("4:3s")
        live.session_run.load_control.to_zero("guard")
        for _ in range(30):
            session.settle()
            session.pass_time()
        live.session_run.sink.close()
        commands = [event for event in live.take() if isinstance(event, Command)]
        found[name] = [[each.name, each.by, each.args.get("on"), each.args.get("why")] for each in commands[-2:]] + [
            live.controls.wanted
        ]
    return found
