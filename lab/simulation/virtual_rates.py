"""The whole product in virtual time on a simulated open queue; `virtual_run` does the same with a closed one.

Samples, levels, verdicts and marks are made by the code of live runs. Only arrivals, the service and the readings are simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from capexplorer.analysis.causes.cause_detector import CauseDetector
from capexplorer.errors import LogWriteError
from capexplorer.load import native
from capexplorer.load.recorder import Tick
from capexplorer.model.events import (
    SCHEMA,
    By,
    Command,
    Drops,
    Header,
    HostFacts,
    OfferedTick,
    Phase,
    Sample,
    Target,
    TargetFacts,
)
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.param import Param
from capexplorer.run.current_epoch import CurrentEpoch
from capexplorer.run.drivers.autopilots import RateAutopilotDriver
from capexplorer.run.event_sink import EventSink
from capexplorer.run.live_levels import LevelEvents
from capexplorer.steer.requested_load import Autopilot, RequestedLoad

from .machine import cores_of, machine
from .open_queue import Iteration, OpenRun
from .sample import sample_of
from .ticks import tick_of
from .virtual_run import signature_of


class VirtualRates:
    """A session at offered rates: `offer` by hand, `climb` as a plan, `explore` by the autopilot; `second` simulates one
    second."""

    def __init__(self, running: OpenRun, *, objectives: dict[str, float] | None = None) -> None:
        self.running = running
        self.now_s = 0.0
        self.sink = EventSink(_fail)
        self.sink.derive_events = CauseDetector().process
        self.timeline = self.sink.timeline
        self.levels = LevelEvents(self.sink, lambda: self.now_s, lambda: 0)
        self.ending: str | None = None
        """Why the autopilot ended; None: it did not."""
        self._requested_load = RequestedLoad(0, None, native.allocate_lock())
        self._requested_load.is_open = True
        self._autopilot = RateAutopilotDriver(
            self.timeline, self._requested_load, emit=self._command, open_level=self._open_by_autopilot, finish=self._finish
        )
        self._due = self._dropped = 0
        self._machine_rng = np.random.default_rng(0)
        self.sink.emit(_header(running, objectives or {}))
        self.sink.emit(Target(t_s=0.0, state="ready"))

    def offer(self, per_s: float, by: By = "user") -> None:
        """Set the rate, in a new level."""
        self.levels.close()
        self.running.offer(per_s)
        self.levels.open(0, by, 0.0, offered_per_s=per_s, arrivals="even" if self.running.even else "poisson")

    def explore(self, limit_s: float) -> None:
        """Let the autopilot search to its end, for `limit_s` at most."""
        self._autopilot.begin(self._requested_load.hand_to(Autopilot()))
        self._autopilot.ticked(CurrentEpoch(self.timeline))
        while self.ending is None and self.now_s < limit_s:
            self._autopilot.ticked(self.second())

    def _open_by_autopilot(self, per_s: float) -> None:
        self.offer(per_s, "autopilot")

    def _command(self, name: Literal["rate", "autopilot"], args: Mapping[str, Param | None]) -> None:
        self.sink.emit(Command(t_s=self.now_s, name=name, by="autopilot", args=dict(args)))

    def _finish(self, why: str) -> None:
        self.ending = why

    def climb(self, rates: Sequence[float], level_s: int, by: By = "plan") -> None:
        """Levels of these rates, each for `level_s` seconds."""
        for per_s in rates:
            self.offer(per_s, by)
            for _ in range(level_s):
                self.second()

    def ramp(self, to_per_s: float, seconds: int, by: By = "plan") -> None:
        """One level whose rate changes evenly, each second, from the current rate to `to_per_s`, as in a plan."""
        from_per_s = self.running.rate_per_s
        self.levels.close()
        self.levels.open(0, by, 0.0, ramp=True, offered_per_s=to_per_s, arrivals="even" if self.running.even else "poisson")
        for second in range(seconds):
            self.running.offer(from_per_s + (to_per_s - from_per_s) * (second + 1) / seconds)
            self.second()

    def end(self) -> None:
        """Close the last level and make the final marks."""
        self.levels.close()
        self.levels.marks.end()

    def second(self) -> CurrentEpoch:
        """Simulate one second of load; fold and judge it as the pump thread does."""
        began_s, self.now_s = self.now_s, self.now_s + 1.0
        ended = self.running.until(self.now_s)
        offered = self._offered(ended)
        tick = _tick(self.running, ended, offered)
        tracker, users = self.levels.tracker, self.running.busy
        tracker.spawned(began_s)
        phase, settled = tracker.tick(began_s, self.now_s, users, tick, offered_per_s=self.running.rate_per_s)
        self.sink.emit(self._sample(tick, offered, max(0, tracker.index), users, phase, settled))
        self.levels.marks.split_at_shifts()
        current = CurrentEpoch(self.timeline)
        self.levels.marks.ticked(current)
        return current

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
            dropped=Drops(target=dropped),
            queued=run.queued,
            running=run.in_flight - run.queued,
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

    def _sample(self, tick: Tick, offered: OfferedTick, level: int, users: int, phase: Phase, settled: bool) -> Sample:
        system, began_s = self.running.system, self.now_s - 1.0
        slowed = system.trouble.by_neighbour and system.trouble.now(began_s)
        busy_s = tick.finished * system.service_s / (system.trouble.speed if slowed else 1.0)
        read = machine(system, began_s, busy_s, tick.all_requests, self._machine_rng)
        return sample_of(
            tick,
            read,
            t_s=self.now_s,
            level=level,
            users=users,
            phase=phase,
            settled=settled,
            offered=offered,
            p50_ms=tick.latency.percentiles_ms((0.5,))[0],
        )


def _tick(run: OpenRun, ended: Sequence[Iteration], offered: OfferedTick) -> Tick:
    """The tick of the iterations that ended in a second; each has one request, whose response time is that of the iteration."""
    found = [(each.ended_s - each.started_s, None if each.ok else signature_of(run.system, each.started_s)) for each in ended]
    return tick_of(found, offered=offered)


def _header(running: OpenRun, objectives: dict[str, float]) -> Header:
    return Header(
        t_s=0.0,
        schema=SCHEMA,
        id="simulated",
        started_at="",
        profile={"slo": objectives} if objectives else {},
        target=TargetFacts(name="simulated", url="http://127.0.0.1:1"),
        host=HostFacts(cpus=cores_of(running.system)),
    )


def _fail(error: LogWriteError) -> None:
    raise error
