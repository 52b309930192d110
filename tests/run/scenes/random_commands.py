"""Sessions of random commands in random order of threads. The package `run` is real; users, target and time are simulated.

The pump, the load thread and the thread that starts the target each have a queue of calls here, from which calls are taken in
random order: so commands and reports often overtake each other. Played in a process that gevent has patched.
"""

from __future__ import annotations

import errno
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from capexplorer.load import native
from capexplorer.load.local_engine import LocalEngine
from capexplorer.load.workload import Workload
from capexplorer.model import load
from capexplorer.model.controls import (
    ChangeWorkers,
    EndRun,
    NewLevel,
    Require,
    RestartTarget,
    RunControl,
    SampleStacks,
    SetAutopilot,
    StartPlan,
    StepTo,
    TryExperiment,
    WatchPart,
    Zero,
)
from capexplorer.model.events import Command, Header, HostFacts, TargetFacts
from capexplorer.model.experiments import AS_BEFORE, Experiment
from capexplorer.model.limits import ProcessLimits
from capexplorer.model.requirements import CapacityRequired, FailuresRequired, KneeRequired
from capexplorer.profile import Guards, Profile, StopRules, Task, Users
from capexplorer.run import stack_sampling
from capexplorer.run.context import EventSink, RunContext, RunLog
from capexplorer.run.load_workers import LoadWorkers, WorkerCommand
from capexplorer.run.options import RunOptions, WorkersWanted
from capexplorer.run.pump import Pump, Report
from capexplorer.run.run_outcome import RunOutcome
from capexplorer.run.sampling import TickSampler
from capexplorer.run.session_run import LiveRun
from capexplorer.session.writer import SessionWriter
from capexplorer.stacks.messages import Answer

from ..simulated_load import Calls, EmptyProbes, SimulatedLoadThread, SimulatedService

PLANS = (
    "5:6s, profile 3s, ramp to 9 4s, profile 2s",
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


NO_WORKER = WorkerCommand("", (), ProcessLimits(), most=0, secret="", variables={})


REQUIRED = (FailuresRequired(0.01, load.Users(3)), CapacityRequired(20.0), KneeRequired(4.0))


class SimulatedSampler:
    """In place of the process that samples stacks: it answers in time, or ends before."""

    def __init__(self, session: _RandomSession) -> None:
        self._session, self._due_s, self.is_open = session, session.now_s + session.random.choice((1.0, 4.0)), True

    def send(self, line: bytes) -> None: ...
    def end(self) -> None: ...

    def take(self) -> list[bytes]:
        if self._session.now_s < self._due_s:
            return []
        self.is_open = self._session.random.random() < 0.8
        return [msgspec.json.encode(Answer(failed=("nothing to sample",)))] if self.is_open else []


class QueuedPump(Pump):
    """Calls wait in a queue of the session."""

    def __init__(self, session: _RandomSession) -> None:
        super().__init__()
        self._session = session

    def now_s(self) -> float:
        return self._session.now_s

    def at_s(self, monotonic_s: float) -> float:
        return monotonic_s

    def post(self, call: Callable[..., object], /, *args: Any, **named: Any) -> None:
        self._session.pump_calls.append(lambda: call(*args, **named))

    def report(self, report: Report) -> None:
        self.post(self._session.session.report, report)


class _RandomSession:
    """A session whose commands and order of threads follow from `seed`; its log is at `path`."""

    def __init__(self, path: Path, seed: int) -> None:
        self.random, self.now_s, self.ticked_s = random.Random(seed), 0.0, 0.0
        self.pump_calls, self.load_calls, self.start_calls = Calls(), Calls(), Calls()
        native.start_thread = self.start_calls.append  # type: ignore[assignment]
        vars(stack_sampling)["PipedProcess"] = lambda _: SimulatedSampler(self)
        sink, self.pump = EventSink(), QueuedPump(self)
        context = RunContext(self._options(seed, path), self.pump, sink, RunLog(), RunOutcome(sink.wake))
        self.host, service = SimulatedLoadThread(self.load_calls, self.pump.report), cast(Any, SimulatedService())
        host: Any = self.host
        workers = LoadWorkers(context, host, service, WorkersWanted(), NO_WORKER, LocalEngine)
        shape = object() if seed % 4 == 3 else None
        self.live = LiveRun(context, service, host, Workload((), shape), workers)
        self.session = session = self.live._session
        self.writer = SessionWriter(path)
        sink.open(self.writer, session._failures)
        sink.emit(Header(t_s=0.0, schema=1, id="random", started_at="", target=TargetFacts(name="a", url=""), host=HostFacts()))
        probes: Any = EmptyProbes()
        levels = session.load_control.levels
        session._sampler = TickSampler(context, host, session.requested_load, levels, session.parts, session.requests, probes)
        session.target.begin()

    @staticmethod
    def _options(seed: int, path: Path) -> RunOptions:
        from capexplorer.steer.plan import parse

        steps = parse(PLANS[seed % len(PLANS)], "--plan", 100) if seed % 4 == 1 else ()
        stop = StopRules(p95_ms=90.0) if seed % 3 == 0 else StopRules()
        users = Users(task=(Task(name="/a"),))
        profile = Profile(users=users, plans={}, stop=stop, guards=Guards(max_users=40))
        return RunOptions(
            name="random",
            profile=profile,
            sessions_dir=path.parent,
            steps=steps,
            autopilot="require" if seed % 8 == 6 else "knee" if seed % 4 == 2 else None,
            requirements=REQUIRED if seed % 8 == 6 else (),
            start_users=2,
        )

    # -- commands

    def command(self) -> None:
        """One to three random commands."""
        choose = self.random.choice
        for _ in range(choose((1, 1, 1, 2, 3))):
            action = choose(
                (
                    self._step_users,
                    self._step_users,
                    self._step_rate,
                    self._go_to_zero,
                    self._open_level,
                    self._start_plan,
                    self._start_plan,
                    self._switch_autopilot,
                    self._sample_stacks,
                    self._require,
                    self._try_experiment,
                    self._restart_target,
                )
            )
            action()

    def _do(self, control: RunControl) -> None:
        assert self.live.controls.do(control) is None

    def _step_users(self) -> None:
        self._do(StepTo(load.Users(self.live.controls.state.load.users + self.random.choice((-3, 1, 2, 10)))))

    def _step_rate(self) -> None:
        self._do(StepTo(load.Rate((self.live.controls.state.load.per_s or 0.0) + self.random.choice((-20.0, 5.0, 30.0)))))

    def _go_to_zero(self) -> None:
        self._do(Zero())

    def _open_level(self) -> None:
        self._do(NewLevel())

    def _start_plan(self) -> None:
        self._do(StartPlan(self.random.choice(PLANS)))

    def _switch_autopilot(self) -> None:
        self._do(SetAutopilot(on=not self.live.controls.state.autopilot))

    def _sample_stacks(self) -> None:
        self.live.controls.do(SampleStacks())  # refused without load

    def _require(self) -> None:
        self._do(Require(self.random.choice(("p50 <= 90ms @ 3", "failures <= 1% @ 8/s", "knee >= 4", "capacity >= 20/s"))))

    def _try_experiment(self) -> None:
        users = max(1, self.live.controls.state.load.users)
        slots = Experiment(name="slots", param="threads", before=1, after=2)
        self._do(TryExperiment(users, self.random.choice((AS_BEFORE, Experiment(name="half_pauses"), slots))))

    def _restart_target(self) -> None:
        self._do(RestartTarget({"threads": str(self.random.choice((1, 2)))}))

    # -- the disk, the threads and time

    def fill_disk(self) -> None:
        """Let writes to the log fail until `empty_disk`."""

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        self.writer._append = full  # type: ignore[method-assign,assignment]

    def empty_disk(self) -> None:
        vars(self.writer).pop("_append", None)

    def run_one(self, calls: Calls) -> None:
        """Run the oldest waiting call, if there is one."""
        if calls:
            calls.popleft()()

    def pass_time(self) -> None:
        """Let a third of a second pass, with the pump's alarm and tick if they are due."""
        self.now_s += 1 / 3
        self.host.pass_time(self.now_s, 1 / 3)
        self.session.load_control.beat()
        alarm_s = self.session.alarm_s
        if alarm_s is not None and self.now_s >= alarm_s:
            self.session.on_alarm()
        if self.now_s - self.ticked_s >= 0.99:
            self.host.follow_shape()
            self.tick()

    def tick(self) -> None:
        started_s, self.ticked_s = self.ticked_s, self.now_s
        self.session.tick(started_s, self.now_s)

    def settle(self) -> None:
        """Run all waiting calls."""
        while self.pump_calls or self.load_calls or self.start_calls:
            for calls in (self.start_calls, self.load_calls, self.pump_calls):
                self.run_one(calls)

    def play(self, quiet_s: int) -> None:
        """Pass `quiet_s` seconds without commands, then 25 times some commands and some time, and end the session."""
        for _ in range(3 * quiet_s):
            self.settle()
            self.pass_time()
        for _ in range(25):
            self.command()
            if self.random.random() < 0.06:
                self.fill_disk()
            for _ in range(self.random.choice((1, 4, 15, 40))):
                for calls in self.random.choices((self.pump_calls, self.load_calls, self.start_calls), k=4):
                    self.run_one(calls)
                if self.random.random() < 0.7:
                    self.pass_time()
            self.empty_disk()
            self.settle()
        self._do(EndRun())
        self.settle()
        self.session.load_control.stop()
        self.host.drain_all()
        self.tick()
        self.session.load_control.end()
        self.session.context.sink.close()


def logs(folder: str, seeds: int) -> list[str]:
    """The paths of the logs of sessions with the seeds from 0 to before `seeds`."""
    paths = [Path(tempfile.mkdtemp(dir=folder)) / f"seed{seed}.jsonl" for seed in range(seeds)]
    for seed, path in enumerate(paths):
        _RandomSession(path, seed).play(quiet_s=40 if seed % 8 == 7 else 0)
    return [str(path) for path in paths]


def drivers_chosen_before_a_stop(folder: str) -> dict[str, dict[str, Any]]:
    """A guard stops the load while the choice of a driver is still queued: the last two commands, and the users 10 s later."""
    observed = {}
    for name in ("autopilot", "plan"):
        session = _RandomSession(Path(tempfile.mkdtemp(dir=folder)) / "stopped.jsonl", seed=0)
        session.settle()
        live = session.live
        if name == "autopilot":
            live.controls.do(SetAutopilot(on=True))
        else:
            live.controls.do(StartPlan("4:3s"))
        session.session.load_control.to_zero("guard")
        for _ in range(30):
            session.settle()
            session.pass_time()
        session.session.context.sink.close()
        commands = [event for event in live.take() if isinstance(event, Command)]
        observed[name] = {
            "last commands": [
                {"name": each.name, "by": each.by, "on": each.args.get("on"), "why": each.args.get("why")}
                for each in commands[-2:]
            ],
            "users 10 s later": live.controls.state.load.users,
        }
    return observed


def controls_refused(folder: str) -> dict[str, Any]:
    """The answers to controls that cannot be done, and the commands and users after them and a step beyond the limit of 40."""
    session = _RandomSession(Path(tempfile.mkdtemp(dir=folder)) / "refused.jsonl", seed=0)
    session.settle()
    live = session.live
    live.take()
    wrong = (StartPlan("4:"), StartPlan("400:3s"), ChangeWorkers(add=False), WatchPart("db"))
    answers = [live.controls.do(control) for control in wrong]
    session.session.service.pid = None
    answers.append(live.controls.do(SampleStacks()))
    live.controls.do(StepTo(load.Users(50)))
    session.settle()
    commands = [[event.name, event.args] for event in live.take() if isinstance(event, Command)]
    session.session.context.sink.close()
    return {"answers": answers, "commands": commands, "users": live.controls.state.load.users}
