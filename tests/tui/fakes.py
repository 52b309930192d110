"""A fake EventSource, fake Controls, and the events of a realistic session."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from capexplorer.errors import InputError
from capexplorer.model.events import (
    SCHEMA,
    ClientOverhead,
    Command,
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Log,
    Note,
    Phase,
    Sample,
    Target,
    TargetFacts,
)
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.level_fold import LevelFold
from capexplorer.model.offered import clamped_rate
from capexplorer.model.param import Param
from capexplorer.model.readings import GeneratorReading, HostReading, PortsReading, TargetReading, TcpReading

HOSTILE = "\x1b[31mred\x1b[0m [bold]not bold[/bold] \x9b2J \x07 \u202e [/] 🎉 done"
ENDPOINTS = (("GET", "/health", 50, 2.0), ("GET", "/io", 30, 205.0), ("GET", "/cpu", 20, 34.0))
WAIT_S = 0.3
CAPACITY_RPS = 132.0


class FakeSource:
    """An EventSource that delivers the events that a test passes to it, at the start or later by `send`."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self._waiting: deque[Event] = deque(events)
        self._wake: Callable[[], None] | None = None
        self.closed = False

    def start(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        if self._waiting:
            wake()

    def send(self, *events: Event) -> None:
        self._waiting.extend(events)
        if self._wake is not None:
            self._wake()

    def take(self) -> Sequence[Event]:
        taken = tuple(self._waiting)
        self._waiting.clear()
        return taken

    def close(self) -> None:
        self.closed = True


class FakeControls:
    """Controls that record all calls in `calls` and keep the wanted load, as the protocol requires."""

    def __init__(self, wanted: int = 1, max_users: int = 2_000, *, can_restart: bool = True) -> None:
        self.wanted, self.max_users, self.can_restart = wanted, max_users, can_restart
        self.offered_per_s: float | None = None
        self.spawn_rate: float | None = None
        self.autopilot = False
        self.workers = 0
        self.target_params: Mapping[str, Param] = {"server": "waitress", "threads": 8, "keep_alive": True}
        self.calls: list[tuple[object, ...]] = []

    def verify_knee(self) -> None:
        self.autopilot = True
        self.calls.append(("verify_knee",))

    def set_autopilot(self, on: bool, *, at_rate: bool = False) -> None:
        self.autopilot = on
        self.calls.append(("set_autopilot", on, "rate") if at_rate else ("set_autopilot", on))

    @property
    def plans(self) -> Mapping[str, str]:
        return {"report": "10:3m,50:3m", "short": "10:20s,50:20s"}

    def plan_wrong(self, plan: str) -> str | None:
        return None if plan in self.plans or ":" in plan else f"plan: expected USERS:DURATION like 10:30s, got {plan!r}"

    def start_plan(self, plan: str) -> None:
        self.autopilot = False
        self.calls.append(("start_plan", plan))

    def set_users(self, users: int) -> int:
        self.autopilot, self.offered_per_s = False, None
        self.wanted = min(max(users, 0), self.max_users)
        self.calls.append(("set_users", users))
        return self.wanted

    def set_rate(self, per_s: float) -> float:
        self.autopilot, self.wanted = False, 0
        self.offered_per_s = clamped_rate(per_s)
        self.calls.append(("set_rate", self.offered_per_s))
        return self.offered_per_s

    def set_step(self, step: int) -> None:
        self.calls.append(("set_step", step))

    def set_spawn_rate(self, rate: float | None) -> None:
        self.spawn_rate = rate
        self.calls.append(("set_spawn_rate", rate))

    def new_level(self) -> None:
        self.autopilot = False
        self.calls.append(("new_level",))

    def zero(self) -> None:
        self.wanted, self.autopilot = 0, False
        self.calls.append(("zero",))

    def change_workers(self, *, add: bool) -> str:
        if not add and not self.workers:
            return "there is no worker: users run in this process"
        self.workers += 1 if add else -1
        self.calls.append(("change_workers", add))
        return ""

    def watch_part(self, part: str) -> str:
        self.calls.append(("watch_part", part))
        return ""

    def note(self, text: str) -> None:
        self.calls.append(("note", text))

    def restart_target(self, params: Mapping[str, str]) -> None:
        if not params.get("threads", "1").isdigit():
            raise InputError(f"threads: expected a whole number, got {params['threads']}")
        self.calls.append(("restart_target", dict(params)))

    def quit(self) -> None:
        self.calls.append(("quit",))


def header() -> Header:
    return Header(
        t_s=0.0,
        schema=SCHEMA,
        id="20260101-120000-mixed",
        started_at="2026-01-01T12:00:00+01:00",
        client_overhead_ms={"FastHttpUser": ClientOverhead(p50_ms=0.42, p99_ms=1.3)},
        profile={"name": "mixed", "title": "Mixed CPU and I/O"},
        target=TargetFacts(name="mixed", url="http://127.0.0.1:18080", command=("python", "app.py"), params={"threads": 8}),
        host=HostFacts(name="bench", cpus=2, memory_bytes=8 << 30, ports_capacity=28_232),
    )


def ready(t_s: float = 0.8) -> Target:
    return Target(t_s=t_s, state="ready", pid=4711, params={"threads": 8})


def died(t_s: float) -> Target:
    output = ("Traceback (most recent call last):", f"MemoryError: {HOSTILE}")
    return Target(t_s=t_s, state="died", pid=4711, exit_code=3, reason="ended by itself", output=output)


class Session:
    """Makes the events of a session second by second, for a closed-loop service that saturates at CAPACITY_RPS."""

    def __init__(self, seed: int = 7, hostile: bool = True) -> None:
        self._random = random.Random(seed)
        self._hostile = hostile
        self.t_s, self.level, self.users, self.wanted = 1.0, -1, 0, 0
        self._opened_s, self._fold = 0.0, LevelFold()
        self._ports = 20.0

    def open(self, users: int) -> Iterator[Event]:
        """Close the open level, if there is one, and open the next."""
        yield from self.close()
        self.level += 1
        self.wanted, self._opened_s, self._fold = users, self.t_s, LevelFold()
        yield LevelOpened(t_s=self.t_s, index=self.level, users=users, spawn_rate=100.0, by="user")

    def close(self) -> Iterator[Event]:
        """Close the open level."""
        if self.level >= 0:
            yield LevelClosed(
                t_s=self.t_s,
                index=self.level,
                users=self.wanted,
                started_s=self._opened_s,
                settled_s=self._fold.settled_s,
                figures=self._fold.figures(),
                endpoints=self._fold.endpoint_figures(with_histogram=True),
            )

    def tick(self) -> Sample:
        """The sample of the next second."""
        self.t_s += 1.0
        self.users = self.wanted
        since_s = self.t_s - self._opened_s
        phase: Phase = "spawning" if since_s <= 1 else "settling" if since_s <= 4 else "settled"
        sample = self._sample(phase)
        self._fold.add(sample)
        return sample

    def _sample(self, phase: Phase) -> Sample:
        offered_rps = self.users / (WAIT_S + 0.075)
        rps = min(offered_rps, CAPACITY_RPS) * self._random.uniform(0.95, 1.05)
        load = rps / CAPACITY_RPS
        merged, ticks = self._endpoints(rps)
        p50, p95, p99 = merged.percentiles_ms((0.5, 0.95, 0.99))
        self._ports += self.users * 0.05
        return Sample(
            t_s=self.t_s,
            duration_s=1.0,
            level=self.level,
            users=self.users,
            wanted=self.wanted,
            phase=phase,
            settled=phase == "settled",
            endpoints=tuple(ticks),
            failures=self._failures(load),
            work=float(sum(tick.requests - tick.failures for tick in ticks)),
            waits=merged.count,
            wait_sum_s=merged.count * WAIT_S,
            p50_ms=p50,
            p95_ms=p95,
            p99_ms=p99,
            max_ms=merged.max_ms,
            **self._readings(load),  # type: ignore[arg-type]
        )

    def _endpoints(self, rps: float) -> tuple[LatencyHistogram, list[EndpointTick]]:
        """The latencies of all requests of a second, and the ticks of its endpoints."""
        queue_ms = max(0.0, self.users / CAPACITY_RPS - WAIT_S - 0.075) * 1000
        is_overloaded = rps / CAPACITY_RPS > 0.95
        merged, ticks = LatencyHistogram(), []
        for method, name, weight, base_ms in ENDPOINTS:
            histogram, count = LatencyHistogram(), round(rps * weight / 100)
            latencies_ms = [
                base_ms * self._random.lognormvariate(0.05, 0.15) + queue_ms * self._random.uniform(0.8, 1.3)
                for _ in range(count)
            ]
            histogram.record_us([each * 1000 for each in latencies_ms])
            merged.add(histogram)
            p50, p95, p99 = histogram.percentiles_ms((0.5, 0.95, 0.99))
            failures = 2 if name == "/cpu" and is_overloaded else 0
            ticks.append(
                EndpointTick(
                    name=name,
                    method=method,
                    requests=count + failures,
                    failures=failures,
                    received_bytes=count * 412,
                    latency=histogram.encode() if count else None,
                    latency_sum_ms=sum(latencies_ms),
                    p50_ms=p50,
                    p95_ms=p95,
                    p99_ms=p99,
                    max_ms=histogram.max_ms,
                )
            )
        return merged, ticks

    def _failures(self, load: float) -> tuple[FailureTick, ...]:
        if load <= 0.95:
            return ()
        text = HOSTILE if self._hostile else "upstream busy"
        signature = FailureSignature(types=("HTTPError",), status=503, text=text)
        return (FailureTick(name="/cpu", method="GET", signature=signature, count=2),)

    def _readings(self, load: float) -> dict[str, object]:
        noise = self._random.uniform(0.95, 1.05)
        return {
            "generator": self._generator_reading(load, noise),
            "targets": (self._target_reading(load, noise),),
            "host": _host_reading(load, noise),
            "ports": self._ports_reading(),
            "tcp": TcpReading(active_opens=4, segments_retransmitted=3 if load > 0.95 else 0, listen_overflows=0),
        }

    def _generator_reading(self, load: float, noise: float) -> GeneratorReading:
        return GeneratorReading(
            cpu_ratio=0.31 * load * noise,
            run_delay_ratio=0.02,
            screen_cpu_ratio=0.04,
            recorder_cpu_ratio=0.01,
            rss_bytes=96 << 20,
            fds=self.users + 31,
            fds_limit=1_048_576,
            loop_lag_p50_ms=0.12,
            loop_lag_p99_ms=1.4 * noise,
            loop_lag_max_ms=4.2,
        )

    def _target_reading(self, load: float, noise: float) -> TargetReading:
        return TargetReading(
            pid=4711,
            processes=1,
            threads=11,
            cpu_ratio=1.02 * load * noise,
            busiest_thread_ratio=0.41 * load,
            rss_bytes=int((48 + 4 * load) * (1 << 20)),
            fds=self.users + 12,
            fds_limit=1_024,
            listen_queue=int(3 * load),
            listen_backlog=1_024,
        )

    def _ports_reading(self) -> PortsReading:
        used, burn_per_s = int(self._ports), self.users * 0.05
        return PortsReading(
            capacity=28_232,
            used=used,
            time_wait=used - self.users,
            established=self.users,
            by_state={"TIME_WAIT": max(0, used - self.users), "ESTABLISHED": self.users},
            destination="127.0.0.1:18080",
            burn_rate_per_s=burn_per_s,
            exhausted_in_s=(28_232 - used) / burn_per_s if burn_per_s else None,
        )


def _host_reading(load: float, noise: float) -> HostReading:
    return HostReading(
        cpu_ratio=1.5 * load * noise,
        load_average_1m=1.93,
        steal_ratio=0.02,
        memory_used_bytes=int(3.1 * (1 << 30)),
        cpu_pressure_ratio=0.11,
        disk_busy_ratio=0.02,
        received_bytes_per_s=182_000.0 * load,
        sent_bytes_per_s=182_000.0 * load,
    )


def session(levels: Sequence[tuple[int, int]] = ((10, 15), (30, 15), (50, 15), (80, 15))) -> list[Event]:
    """The events of a session with these levels, each (users, seconds), and notes, commands and output between them."""
    made = Session()
    events: list[Event] = [header(), Target(t_s=0.1, state="starting", params={"threads": 8}), ready()]
    for users, seconds in levels:
        events.append(Command(t_s=made.t_s, name="users", args={"users": users}))
        events += made.open(users)
        events += [made.tick() for _ in range(seconds)]
        events.append(Note(t_s=made.t_s, text=f"after {users}: {HOSTILE}"))
        events.append(Log(t_s=made.t_s, source="stdout", text=f"user code says {HOSTILE}", repeated=3))
        events.append(Log(t_s=made.t_s, source="locust", level="warning", text="CPU usage above 90%"))
    return events
