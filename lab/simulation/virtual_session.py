"""The whole product in virtual time on a simulated service, with users (`virtual_run`) or offered rates (`virtual_rates`).

Samples, levels, splits at shifts, causes, marks, verdicts and the autopilot are made by the code of live runs. Only load and
readings are simulated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from capexplorer.analysis.causes.cause_detector import CauseDetector
from capexplorer.errors import LogWriteError
from capexplorer.load import native
from capexplorer.load.recorder import RecordedTick
from capexplorer.model.controls import Param
from capexplorer.model.events import (
    SCHEMA,
    By,
    Command,
    EndpointTick,
    FailureSignature,
    FailureTick,
    Header,
    HostFacts,
    Phase,
    Sample,
    Target,
    TargetFacts,
    Tick,
)
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.load import NO_LOAD
from capexplorer.run.autopilot import AutopilotDriver, RateAutopilotDriver
from capexplorer.run.context import EventSink
from capexplorer.run.live_levels import CurrentEpoch, LevelEvents
from capexplorer.steer.requested_load import Autopilot, RequestedLoad

from .machine import Machine, cores_of
from .queues import System

REFUSED = FailureSignature(types=("HTTPError",), status=503)
FAULTY = FailureSignature(types=("HTTPError",), status=502)
TIMED_OUT = FailureSignature(types=("ReadTimeout",))

Load = TypeVar("Load", int, float)


class VirtualSession(ABC, Generic[Load]):
    """A session: `step` by hand, `climb` as a plan, `explore` by the autopilot; `second` simulates one second."""

    _autopilot: AutopilotDriver | RateAutopilotDriver

    def __init__(self, system: System, profile: dict[str, Any] | None = None) -> None:
        self.now_s = 0.0
        self.ending: str | None = None
        """Why the autopilot ended; None: it did not."""
        self.sink = EventSink(_fail)
        self.sink.marks_of_causes = CauseDetector().process
        self.timeline = self.sink.timeline
        self.levels = LevelEvents(self.sink, lambda: self.now_s, lambda: 0)
        self._requested_load = RequestedLoad(NO_LOAD, None, native.allocate_lock())
        self._requested_load.is_open = True
        self._machine_rng = np.random.default_rng(0)
        self.sink.emit(_header(system, profile or {}))
        self.sink.emit(Target(t_s=0.0, state="ready"))

    @abstractmethod
    def step(self, load: Load, by: By = "user") -> None:
        """Set the load, in a new level."""

    @abstractmethod
    def _sample(self, began_s: float) -> Sample:
        """Simulate the second that ends at `now_s`."""

    def climb(self, loads: Sequence[Load], level_s: int, by: By = "plan") -> None:
        """Levels of these loads, each for `level_s` seconds."""
        for load in loads:
            self.step(load, by)
            for _ in range(level_s):
                self.second()

    def explore(self, limit_s: float, each_second: Callable[[], None] = lambda: None) -> None:
        """Let the autopilot search to its end, for `limit_s` at most."""
        self._autopilot.begin(self._requested_load.hand_to(Autopilot()))
        self._autopilot.ticked(CurrentEpoch(self.timeline))
        while self.ending is None and self.now_s < limit_s:
            self._autopilot.ticked(self.second())
            each_second()

    def end(self) -> None:
        """Close the last level and make the final marks."""
        self.levels.close()
        self.levels.marks.end()

    def second(self) -> CurrentEpoch:
        """Simulate one second of load; fold and judge it as the pump thread does."""
        began_s, self.now_s = self.now_s, self.now_s + 1.0
        self.sink.emit(self._sample(began_s))
        self.levels.marks.split_at_shifts()
        current = CurrentEpoch(self.timeline)
        self.levels.marks.ticked(current)
        return current

    def _command(self, name: Any, args: Mapping[str, Param | None]) -> None:
        self.sink.emit(Command(t_s=self.now_s, name=name, by="autopilot", args=dict(args)))

    def _finish(self, why: str) -> None:
        self.ending = why


def signature_of(system: System, sent_s: float) -> FailureSignature:
    """The failure of a request that was sent at `sent_s`: that of the fault at that time, else that of the system under load."""
    trouble = system.trouble
    if trouble.now(sent_s) and (trouble.stalled_s or trouble.failing):
        return TIMED_OUT if trouble.stalled_s else FAULTY
    return TIMED_OUT if system.timeout_s is not None else REFUSED


def tick_of(t_s: float, users: int, ended: Sequence[tuple[float, FailureSignature | None]], **more: Any) -> RecordedTick:
    """The tick of the second that ends at `t_s`, without its greatest latency. `ended`: for each request that ended its response
    time in seconds and its failure; None: it succeeded. `more`: fields that only one kind of run has.
    """
    took_us = np.array([took_s for took_s, _ in ended]) * 1e6
    ok = np.array([failed is None for _, failed in ended], bool)
    good_us, bad_us = took_us[ok], took_us[~ok]
    latency = LatencyHistogram()
    latency.record_us(good_us)
    p95_ms, p99_ms = latency.percentiles_ms((0.95, 0.99))
    endpoint = EndpointTick(
        name="/work",
        requests=len(took_us),
        failures=len(bad_us),
        latency=latency.encode() if len(good_us) else None,
        latency_sum_ms=float(good_us.sum()) / 1000,
        failure_latency_sum_ms=float(bad_us.sum()) / 1000,
    )
    counts = Counter(failed for _, failed in ended if failed is not None)
    return RecordedTick(
        t_s=t_s,
        duration_s=1.0,
        users=users,
        endpoints=(endpoint,) if len(took_us) else (),
        failures=tuple(FailureTick(name="/work", method="GET", signature=each, count=n) for each, n in counts.items()),
        work=float(len(good_us)),
        p95_ms=p95_ms,
        p99_ms=p99_ms,
        all_latency_sum_ms=float(took_us.sum()) / 1000,
        **more,
    )


def sample_of(tick: Tick, read: Machine, *, level: int, phase: Phase, settled: bool) -> Sample:
    """The sample of this second."""
    counted: dict[str, Any] = {name: getattr(tick, name) for name in Tick.__struct_fields__}
    return Sample(
        **counted | {"level": level, "wanted": tick.users, "phase": phase, "settled": settled},
        generator=read.generator,
        host=read.host,
        targets=(read.target,),
        neighbours=read.neighbours,
    )


def _header(system: System, profile: dict[str, Any]) -> Header:
    return Header(
        t_s=0.0,
        schema=SCHEMA,
        id="simulated",
        started_at="",
        profile=profile,
        target=TargetFacts(name="simulated", url="http://127.0.0.1:1"),
        host=HostFacts(cpus=cores_of(system)),
    )


def _fail(error: LogWriteError) -> None:
    raise error
