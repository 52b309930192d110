"""Sessions in virtual time at offered rates."""

from __future__ import annotations

from collections.abc import Sequence

from capexplorer.model.events import By, Drops, OfferedTick, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.load import Load, Rate
from capexplorer.run.autopilot import RateAutopilotDriver

from .machine import machine
from .open_queue import Iteration, OpenRun
from .virtual_session import VirtualSession, sample_of, signature_of, tick_of


class VirtualRates(VirtualSession[float]):
    """A session whose load is an offered rate."""

    def __init__(self, running: OpenRun, *, objectives: dict[str, float] | None = None) -> None:
        super().__init__(running.system, {"slo": objectives} if objectives else None)
        self.running = running
        self._autopilot = RateAutopilotDriver(
            self.timeline, self._requested_load, emit=self._command, open_level=self._open, finish=self._finish
        )
        self._due = self._dropped = 0

    def step(self, load: float, by: By = "user") -> None:
        self.levels.close()
        self.running.offer(load)
        self.levels.open(Rate(load), by, 0.0, arrivals="even" if self.running.even else "poisson")

    offer = step

    def ramp(self, to_per_s: float, seconds: int, by: By = "plan") -> None:
        """One level whose rate changes evenly, each second, from the current rate to `to_per_s`, as in a plan."""
        from_per_s = self.running.rate_per_s
        self.levels.close()
        self.levels.open(Rate(to_per_s), by, 0.0, ramp=True, arrivals="even" if self.running.even else "poisson")
        for second in range(seconds):
            self.running.offer(from_per_s + (to_per_s - from_per_s) * (second + 1) / seconds)
            self.second()

    def _open(self, load: Load, spawn_rate: float) -> None:
        self.step(load.per_s or 0.0, "autopilot")

    def _sample(self, began_s: float) -> Sample:
        run, system = self.running, self.running.system
        ended = run.until(self.now_s)
        # each iteration has one request, whose response time is that of the iteration
        found = [(each.ended_s - each.started_s, None if each.ok else signature_of(system, each.started_s)) for each in ended]
        took = LatencyHistogram()
        took.record_us([1e6 * took_s for took_s, failed in found if failed is None])
        p50_ms = took.percentiles_ms((0.5,))[0]
        tick = tick_of(self.now_s, run.busy, found, p50_ms=p50_ms, offered=self._offered(ended))
        tracker = self.levels.tracker
        tracker.spawned(began_s)
        phase, settled = tracker.tick(began_s, self.now_s, tick, Rate(run.rate_per_s))
        slowed = system.trouble.by_neighbour and system.trouble.now(began_s)
        busy_s = (tick.work or 0.0) * system.service_s / (system.trouble.speed if slowed else 1.0)
        return sample_of(
            tick,
            machine(system, began_s, busy_s, tick.all_requests, self._machine_rng),
            level=max(0, tracker.index),
            phase=phase,
            settled=settled,
        )

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
