"""The whole product in virtual time on a simulated service, with users (`VirtualRun`) or offered rates (`VirtualRates`).

Samples, levels, splits at shifts, causes, marks, verdicts and the autopilot are made by the code of live runs. Only load and
readings are simulated.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from capexplorer import profile as profiles
from capexplorer.load import native
from capexplorer.load.recorder import RecordedTick
from capexplorer.model.events import (
    SCHEMA,
    By,
    Command,
    EndpointTick,
    FailureSignature,
    FailureTick,
    Header,
    HostFacts,
    Mark,
    PartState,
    Sample,
    Target,
    TargetFacts,
    Tick,
)
from capexplorer.model.experiments import Experiment
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.load import NO_LOAD, Arrivals, Drops, OfferedRate, OfferedTick, Rate, Users
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, PartReading, TargetReading
from capexplorer.model.requirements import Answer, Requirement
from capexplorer.model.stages import LIMIT_NAMES, RequestLimits, RequestStages, Stage, StageTick
from capexplorer.model.verdicts import CapacityVerdict
from capexplorer.run.autopilot import AutopilotDriver, Growth
from capexplorer.run.context import EventSink, RunContext, RunLog
from capexplorer.run.live_answers import LiveAnswers
from capexplorer.run.live_levels import CurrentEpoch, LiveLevels
from capexplorer.run.options import RunOptions, Task
from capexplorer.run.pump import Pump
from capexplorer.run.run_outcome import RunOutcome
from capexplorer.steer.requested_load import Autopilot, RequestedLoad
from capexplorer.target.spec import ParamSpec, TargetSpec

from .ladders import KINDS, Kind, Truth, random_system
from .open_queue import Iteration, OpenRun
from .queues import Run, System, run

# -- the machine ---------------------------------------------------------------------------------------------------------------

IDLE_CPU = 0.1
"""Cores that the generator uses beside the CPU of its requests."""
QUIET_CPU = 0.03
"""Cores that other processes use on a quiet machine."""
QUIET_DELAY = 0.02
"""Seconds of waiting for a core for each second of CPU, on a quiet machine."""
DELAY_SPREAD = 0.3
"""Standard deviation of the logarithm of a second's run delay (lognormal), since the use by other processes varies."""


def readings(system: System, at_s: float, busy_s: float, sent: int, rng: np.random.Generator) -> dict[str, Any]:
    """The readings of a sample, for the second that begins at `at_s`, in which the service's servers were busy for `busy_s` in
    total, and `sent` requests were sent. Beside a neighbour a part of `busy_s` is time for which servers wait for a core.

    Simulated work is CPU: the service has one core for each of its servers, the generator has another one. A neighbour is a
    number of busy processes on each core that leave the service a share `speed` of the CPU: all cores are busy, and for each
    second of CPU the service and the load thread wait 1/speed - 1 seconds for a core. Real neighbours made a service wait longer:
    0.8 to 4 s for 0.15 to 0.3 s of CPU, while they used 1.7 to 1.9 of two cores (docs/faults.md, rows neighbour-*).
    """
    crowded = system.trouble.by_neighbour and system.trouble.now(at_s)
    cores, speed = system.servers + 1, system.trouble.speed if crowded else 1.0
    target_cpu = min(busy_s, system.servers) * speed
    generator_cpu = IDLE_CPU + sent * system.generator_s
    others_cpu = max(QUIET_CPU, cores - target_cpu - generator_cpu) if crowded else QUIET_CPU
    delay = (1 / speed - 1 + QUIET_DELAY) * float(rng.lognormal(0.0, DELAY_SPREAD))
    generator = GeneratorReading(
        cpu_ratio=generator_cpu,
        process_cpu_ratio=generator_cpu,
        run_delay_ratio=min(generator_cpu * delay, max(0.0, 1 - generator_cpu)),
        loop_lag_p99_ms=5.0 if crowded else 1.0,
    )
    target = TargetReading(
        pid=1,
        processes=1,
        threads=system.threads or system.servers,
        cpu_ratio=target_cpu,
        cpus_allowed=cores if system.threads else system.servers,
        busiest_thread_ratio=target_cpu / (system.threads or system.servers),
        run_delay_ratio=target_cpu * delay,
    )
    return {
        "generator": generator,
        "host": HostReading(cpu_ratio=min(float(cores), target_cpu + generator_cpu + others_cpu), load_average_1m=0.5),
        "targets": (target,),
        "neighbours": NeighboursReading(cpu_ratio=others_cpu, processes={"busy": others_cpu} if crowded else {}),
    }


# -- sessions ------------------------------------------------------------------------------------------------------------------

REFUSED = FailureSignature(types=("HTTPError",), status=503)
FAULTY = FailureSignature(types=("HTTPError",), status=502)
LIMITED = FailureSignature(types=("HTTPError",), status=429)
TIMED_OUT = FailureSignature(types=("ReadTimeout",))

Amount = TypeVar("Amount", int, float)


class Ended(NamedTuple):
    """A request that ended in a second: when it was sent, its response time, whether it succeeded, and its reply."""

    sent_s: float
    took_s: float
    ok: bool
    name: str = "/work"
    received_bytes: int = 0
    """0: a reply that says how long it took."""
    stages: RequestStages | None = None

    @property
    def reply_bytes(self) -> int:
        return self.received_bytes or len(f'{{"took_ms": {1000 * self.took_s:.0f}}}')


def endpoint_tick(name: str, ended: Sequence[Ended], limits: RequestLimits | None = None) -> EndpointTick:
    """The second of one endpoint, of its requests."""
    took_us = np.array([each.took_s for each in ended]) * 1e6
    ok = np.array([each.ok for each in ended], bool)
    good_us, bad_us = took_us[ok], took_us[~ok]
    latency = LatencyHistogram()
    latency.record_us(good_us)
    return EndpointTick(
        name=name,
        requests=len(took_us),
        failures=len(bad_us),
        received_bytes=sum(each.reply_bytes for each in ended),
        latency=latency.encode() if len(good_us) else None,
        latency_sum_ms=float(good_us.sum()) / 1000,
        failure_latency_sum_ms=float(bad_us.sum()) / 1000,
        stages=stage_ticks([each.stages for each in ended if each.ok and each.stages is not None]),
        tokens=sum(each.stages.tokens for each in ended if each.ok and each.stages is not None),
        **({} if limits is None else _within(limits, [each for each in ended if each.ok])),
    )


def stage_ticks(ended: Sequence[RequestStages]) -> dict[Stage, StageTick]:
    """The stages of the requests of a second."""
    values: dict[Stage, list[float]] = {
        "ttfb": [each.ttfb_ms for each in ended if each.ttfb_ms is not None],
        "ttft": [each.ttft_ms for each in ended if each.ttft_ms is not None],
        "tpot": [each.tpot_ms for each in ended if each.tpot_ms is not None],
        "itl": [gap for each in ended for gap in each.gaps_ms],
    }
    found = {}
    for stage, known in values.items():
        if known:
            latency = LatencyHistogram()
            latency.record_us(1000 * np.array(known))
            found[stage] = StageTick(latency=latency.encode(), sum_ms=math.fsum(known))
    return found


def _within(limits: RequestLimits, successes: Sequence[Ended]) -> dict[str, Any]:
    broken = [(each, limits.broken_by(1000 * each.took_s, each.stages)) for each in successes]
    within = [each for each, names in broken if not names]
    return {
        "within_limits": len(within),
        "within_limits_tokens": sum(each.stages.tokens for each in within if each.stages is not None),
        **{f"beyond_{name}": sum(name in names for _, names in broken) for name in LIMIT_NAMES},
    }


class VirtualSession(ABC, Generic[Amount]):
    """A session and its load thread: `step` by hand, `climb` as a plan, `explore` by the autopilot; `second` simulates one."""

    _task: Task

    def __init__(
        self,
        system: System,
        profile: dict[str, Any],
        *,
        max_users: int = 2_000,
        arrivals: Arrivals = "poisson",
        endpoints: Sequence[str] = (),
        params: Mapping[str, int] = MappingProxyType({}),
        limits: RequestLimits | None = None,
    ) -> None:
        """`endpoints`: paths that users request, with which the autopilot makes experiments at the knee; empty: it makes none.
        `params`: the target's parameters, which experiments may change. `limits`: on a single request."""
        self._limits = limits
        if limits is not None:
            profile = {**profile, "slo": {**profile.get("slo", {}), **{f"{name}_ms": ms for name, ms in limits.by_name.items()}}}
        self.system, self._pump, self._explains = system, VirtualPump(), bool(endpoints)
        self.ending: str | None = None
        """Why the autopilot ended; None: it did not."""
        guards = profiles.Guards(max_users=max_users)
        users = profiles.Users(task=tuple(profiles.Task(name=name) for name in endpoints))
        options = RunOptions(
            name="simulated",
            profile=profiles.Profile(users=users, guards=guards),
            sessions_dir=Path(),
            spec=TargetSpec(
                title="simulated",
                folder=Path("simulated"),
                command=("simulated",),
                params={name: ParamSpec(default=value, min=1) for name, value in params.items()},
            )
            if params
            else None,
        )
        context = RunContext(options, self._pump, EventSink(), RunLog(), RunOutcome(lambda: None))
        self.sink, self.timeline = context.sink, context.timeline
        self._requested_load = RequestedLoad(self, NO_LOAD, lock=native.allocate_lock(), arrivals=arrivals)
        self._requested_load.open()
        self.levels = LiveLevels(context, self._requested_load)
        self._answers = LiveAnswers(context)
        self._autopilot = AutopilotDriver(context, self._requested_load, self.levels, NoWorkers())
        self._machine_rng = np.random.default_rng(0)
        target, host = TargetFacts(name="simulated", url="http://127.0.0.1:1"), HostFacts(cpus=system.servers + 1)
        self.sink.emit(Header(t_s=0.0, schema=SCHEMA, id="simulated", started_at="", profile=profile, target=target, host=host))
        self.sink.emit(Target(t_s=0.0, state="ready", params=dict(params)))

    @abstractmethod
    def step(self, load: Amount, by: By = "user") -> None:
        """Set the load, in a new level."""

    @abstractmethod
    def _tick(self, began_s: float) -> tuple[RecordedTick, float]:
        """Simulate the second that ends at `now_s`: its tick, and the seconds for which servers were busy."""

    def _parts(self) -> tuple[PartReading, ...]:
        """Readings of watched parts."""
        return ()

    def climb(self, loads: Sequence[Amount], level_s: int, by: By = "plan") -> None:
        """Levels of these loads, each for `level_s` seconds."""
        for load in loads:
            self.step(load, by)
            for _ in range(level_s):
                self.second()

    def explore(self, limit_s: float, each_second: Callable[[], None] = lambda: None) -> None:
        """Let the autopilot search to its end, then make experiments if any are possible, for `limit_s` at most."""
        self._let(self._task, limit_s, each_second)
        if self._explains and self._autopilot.can_explain:
            self._let("explain", limit_s, each_second)

    def _let(self, task: Task, limit_s: float, each_second: Callable[[], None]) -> None:
        self._autopilot.begin(self._requested_load.hand_to(Autopilot()), task, 1)
        self.ending = self._autopilot.ticked(CurrentEpoch(self.timeline))
        while self.ending is None and self.now_s < limit_s:
            self.ending = self._autopilot.ticked(self.second())
            each_second()

    def decide(self, required: Requirement) -> Answer:
        """Let the autopilot go to the loads that decide it, for five minutes at most."""
        self._answers.ask(required)
        self._autopilot.begin(self._requested_load.hand_to(Autopilot()), "require", 1)
        self.ending = self._autopilot.ticked(CurrentEpoch(self.timeline))
        while self.ending is None:
            current = self.second()
            self._answers.ticked()
            self.ending = self._autopilot.ticked(current)
        return self.timeline.answers[0]

    def end(self) -> None:
        self.levels.close()
        self.levels.marks.end()

    def second(self) -> CurrentEpoch:
        """Simulate one second of load; fold and judge it as the pump thread does."""
        began_s = self.now_s
        self._pump.seconds += 1.0
        tick, busy_s = self._tick(began_s)
        phase, settled = self.levels.tick(began_s, self.now_s, tick)
        counted: dict[str, Any] = {name: getattr(tick, name) for name in Tick.__struct_fields__}
        counted |= {"level": max(0, self.levels.index), "wanted": tick.users, "phase": phase, "settled": settled}
        read = readings(self.system, began_s, busy_s, tick.all_requests, self._machine_rng)
        self.sink.emit(Sample(**counted, **read, parts=self._parts()))
        self.levels.split_at_shifts()
        current = CurrentEpoch(self.timeline)
        self.levels.marks.ticked(current)
        return current

    @property
    def now_s(self) -> float:
        return self._pump.seconds

    # -- as the load thread

    @property
    def users(self) -> int:
        return 0

    def set_users(self, users: int, spawn_rate: float) -> None:
        raise NotImplementedError

    def set_rate(self, offered: OfferedRate) -> None:
        raise NotImplementedError

    def start_shape(self, generation: int) -> None:
        raise NotImplementedError

    def begin_level(self, index: int, experiment: Experiment | None) -> None:
        """No request is kept, and only `VirtualRun` has experiments."""

    # -- a second

    def _recorded(self, users: int, ended: Sequence[Ended], **more: Any) -> RecordedTick:
        """The tick of this second, without its greatest latency. `more`: fields that only one kind of run has."""
        latency = LatencyHistogram()
        latency.record_us(np.array([each.took_s for each in ended if each.ok]) * 1e6)
        p95_ms, p99_ms = latency.percentiles_ms((0.95, 0.99))
        names = dict.fromkeys(each.name for each in ended)
        endpoints = tuple(endpoint_tick(name, [each for each in ended if each.name == name], self._limits) for name in names)
        counts = Counter((each.name, self._signature(each.sent_s)) for each in ended if not each.ok)
        return RecordedTick(
            t_s=self.now_s,
            duration_s=1.0,
            users=users,
            endpoints=endpoints,
            failures=tuple(FailureTick(name=name, method="GET", signature=each, count=n) for (name, each), n in counts.items()),
            **self._work(endpoints),
            p95_ms=p95_ms,
            p99_ms=p99_ms,
            all_latency_sum_ms=float((np.array([each.took_s for each in ended]) * 1e6).sum()) / 1000,
            **more,
        )

    def _work(self, endpoints: Sequence[EndpointTick]) -> dict[str, Any]:
        successes = float(sum(each.requests - each.failures for each in endpoints))
        if self._limits is None:
            return {"work": successes}
        within = float(sum(each.within_limits or 0 for each in endpoints))
        return {"work": within, "work_beyond_limits": successes - within}

    def _signature(self, sent_s: float) -> FailureSignature:
        """The failure of a request that was sent then: that of the fault at that time, else that of the system under load."""
        trouble = self.system.trouble
        if trouble.now(sent_s) and (trouble.stalled_s or trouble.failing):
            return TIMED_OUT if trouble.stalled_s else FAULTY
        if self.system.limiter is not None:
            return LIMITED
        return TIMED_OUT if self.system.timeout_s is not None else REFUSED


class VirtualPump(Pump):
    """A clock that the simulation sets."""

    seconds = 0.0

    def now_s(self) -> float:
        return self.seconds


class NoWorkers:
    """The simulated generator needs none."""

    def growth(self) -> Growth:
        return "none"

    def add(self, by: By) -> None:
        raise NotImplementedError


class VirtualRun(VirtualSession[int]):
    """A session whose load is a number of users: a closed loop."""

    _task = "knee"

    def __init__(
        self,
        running: Run,
        *,
        max_users: int = 2_000,
        endpoints: Sequence[str] = (),
        params: Mapping[str, int] = MappingProxyType({}),
        limits: RequestLimits | None = None,
    ) -> None:
        self.running, self.most_users = running, 0
        super().__init__(running.system, {}, max_users=max_users, endpoints=endpoints, params=params, limits=limits)

    def _parts(self) -> tuple[PartReading, ...]:
        part = self.running.part()
        if part is None:
            return ()
        if part.name not in self.timeline.parts:
            self.sink.emit(PartState(t_s=self.now_s, name=part.name, state="read", machine="generator"))
        return (part,)

    @property
    def marks(self) -> list[Mark]:
        """All marks that were ever made, in order."""
        return [event for event in self.sink.take() if isinstance(event, Mark)]

    def step(self, load: int, by: By = "user") -> None:
        self.levels.step(Users(load), by, self._requested_load.step(Users(load), by))

    def begin_level(self, index: int, experiment: Experiment | None) -> None:
        self.running.experiment = experiment

    @property
    def users(self) -> int:
        return self.running.users

    def set_users(self, users: int, spawn_rate: float) -> None:
        self.running.to(users)
        self.most_users = max(self.most_users, users)

    def _tick(self, began_s: float) -> tuple[RecordedTick, float]:
        self.running.until(self.now_s)
        ended = self.running.take_ended()
        found = [
            Ended(each.ended_s - each.response_s, each.response_s, each.ok, each.name, each.received_bytes, each.stages)
            for each in ended
        ]
        users, last = self._requested_load.load.users, [each for each in ended if each.ends_task]
        pauses = {
            "waits": len(last),
            "wait_sum_s": math.fsum(each.think_s for each in last),
            "sleeps": len(ended) - len(last),
            "sleep_sum_s": math.fsum(each.think_s for each in ended if not each.ends_task),
            "tasks": len(last) if len(last) < len(ended) else 0,
            "task_sum_s": math.fsum(each.task_s for each in last),
        }
        tick = self._recorded(users, found, **pauses)
        opened = self.levels.opened
        if opened is not None and self.now_s >= opened.t_s + 1.0:
            self.levels.spawned(opened.t_s + 1.0)  # new users start within a second
        return tick, self.running.busy_s(int(began_s))


class VirtualRates(VirtualSession[float]):
    """A session whose load is an offered rate."""

    _task = "rate"

    def __init__(
        self, running: OpenRun, *, objectives: dict[str, float] | None = None, limits: RequestLimits | None = None
    ) -> None:
        self.running = running
        arrivals: Arrivals = "even" if running.even else "poisson"
        super().__init__(running.system, {"slo": objectives} if objectives else {}, arrivals=arrivals, limits=limits)
        self._due = self._dropped = 0

    def step(self, load: float, by: By = "user") -> None:
        self._requested_load.step(Rate(load), by)
        self.levels.step(Rate(load), by, 0.0)

    def set_rate(self, offered: OfferedRate) -> None:
        self.running.offer(offered.per_s)

    def ramp(self, to_per_s: float, seconds: int, by: By = "plan") -> None:
        """One level whose rate changes evenly, each second, from the current rate to `to_per_s`, as in a plan."""
        from_per_s = self.running.rate_per_s
        self.levels.step(Rate(to_per_s), by, 0.0, ramp=True)
        for second in range(seconds):
            self.running.offer(from_per_s + (to_per_s - from_per_s) * (second + 1) / seconds)
            self.second()

    def _tick(self, began_s: float) -> tuple[RecordedTick, float]:
        system, ended = self.system, self.running.until(self.now_s)
        # each iteration has one request, whose response time is that of the iteration
        found = [Ended(each.started_s, each.ended_s - each.started_s, each.ok, stages=each.stages) for each in ended]
        took = LatencyHistogram()
        took.record_us([1e6 * each.took_s for each in found if each.ok])
        tick = self._recorded(self.running.busy, found, p50_ms=took.percentiles_ms((0.5,))[0], offered=self._offered(ended))
        self.levels.spawned(began_s)
        slowed = system.trouble.by_neighbour and system.trouble.now(began_s)
        busy_s = sum(each.ok for each in found) * system.service_s / (system.trouble.speed if slowed else 1.0)
        return tick, busy_s

    def _offered(self, ended: Sequence[Iteration]) -> OfferedTick:
        run = self.running
        due, self._due = run.due - self._due, run.due
        dropped, self._dropped = run.dropped - self._dropped, run.dropped
        good = [each for each in ended if each.ok]
        from_plan = LatencyHistogram()
        from_plan.record_us([1e6 * (each.ended_s - each.due_s) for each in good])
        p50_ms, p95_ms, p99_ms, max_ms = from_plan.percentiles_ms((0.5, 0.95, 0.99, 1.0))
        return OfferedTick(
            offered_per_s=run.rate_per_s,
            planned=due,
            finished=len(good),
            failed=len(ended) - len(good),
            beyond_limits=0 if self._limits is None else len(good) - self._within_limits(good),
            dropped=Drops(target=dropped),
            queued=run.queued,
            running=run.busy,
            in_flight_counted=run.in_flight + run.lost,
            from_plan=from_plan.encode() if good else None,
            from_plan_sum_ms=1000 * sum(each.ended_s - each.due_s for each in good),
            p50_ms=p50_ms,
            p95_ms=p95_ms,
            p99_ms=p99_ms,
            max_ms=max_ms,
            late_p99_ms=0.5,
            late_max_ms=1.0,
        )

    def _within_limits(self, good: Sequence[Iteration]) -> int:
        assert self._limits is not None
        return sum(not self._limits.broken_by(1000 * (each.ended_s - each.started_s), each.stages) for each in good)


# -- explorations by the autopilot ---------------------------------------------------------------------------------------------

MAX_USERS = 2_000


@dataclass(frozen=True, slots=True)
class PolicyRun:
    """One exploration, which begins with one user."""

    truth: Truth
    verdict: CapacityVerdict
    """The verdict of the session at its end."""
    found_s: float
    """Seconds until the search ended: a knee was found, or the autopilot gave up."""
    ended_s: float
    most_users: int
    steps: tuple[int, ...]
    """Users of each level that was opened."""
    ending: str | None
    """Why the autopilot ended: `knee`, or the reason for giving up; None: it did not end."""


def run_autopilot(
    system: System, truth: Truth, rng: np.random.Generator, *, max_users: int = MAX_USERS, limit_s: int = 900
) -> PolicyRun:
    session = VirtualRun(run(system, rng), max_users=max_users)
    session.explore(limit_s)
    session.end()
    commands = [each for each in session.timeline.journal if isinstance(each, Command)]
    verdict = CurrentEpoch(session.timeline).epoch.verdict
    return PolicyRun(
        truth,
        verdict.capacity if verdict is not None else CapacityVerdict(),
        next((each.t_s for each in commands if each.args.get("why") == "soak"), session.now_s),
        session.now_s,
        session.most_users,
        tuple(level.users for level in session.timeline.levels if level.opened.since_s is None),
        next((str(each.args.get("why")) for each in commands if each.args.get("end")), None),
    )


def system_of(kind: Kind, seed: int) -> tuple[System, Truth, np.random.Generator]:
    """The system that a ladder of that kind and seed climbs."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    return *random_system(kind, rng), rng


def linear_system(seed: int) -> tuple[System, Truth, np.random.Generator]:
    rng = np.random.default_rng([seed, 99])
    return *random_system("linear", rng), rng
