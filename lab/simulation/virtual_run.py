"""The whole product in virtual time on a simulated service with a closed loop of users.

Samples, levels, splits at shifts, causes, marks and the autopilot are made by the code of live runs. Only load and readings are
simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from capexplorer.analysis.causes.cause_detector import CauseDetector
from capexplorer.errors import LogWriteError
from capexplorer.load import native
from capexplorer.load.recorder import Tick
from capexplorer.load.user_activity import ActivitySums
from capexplorer.model.events import (
    SCHEMA,
    By,
    Command,
    FailureSignature,
    Header,
    HostFacts,
    Mark,
    Phase,
    Sample,
    Target,
    TargetFacts,
)
from capexplorer.model.param import Param
from capexplorer.run.current_epoch import CurrentEpoch
from capexplorer.run.drivers.autopilots import AutopilotDriver
from capexplorer.run.event_sink import EventSink
from capexplorer.run.live_levels import LevelEvents
from capexplorer.steer.requested_load import Autopilot, RequestedLoad

from .machine import cores_of, machine
from .queues import Run, System
from .sample import sample_of
from .ticks import FAULTY, REFUSED, TIMED_OUT, tick_of


class VirtualRun:
    """A session: `step` by hand, `climb` as a plan, `explore` by the autopilot; `second` simulates one second."""

    def __init__(self, running: Run, *, max_users: int = 2_000) -> None:
        self.running = running
        self.now_s = 0.0
        self.most_users = 0
        self.ending: str | None = None
        """Why the autopilot ended; None: it did not."""
        self.sink = EventSink(_fail)
        self.sink.derive_events = CauseDetector().process
        self.timeline = self.sink.timeline
        self.levels = LevelEvents(self.sink, lambda: self.now_s, lambda: 0)
        self._requested_load = RequestedLoad(0, None, native.allocate_lock())
        self._requested_load.is_open = True
        self._autopilot = AutopilotDriver(
            self.timeline,
            self._requested_load,
            max_users=max_users,
            emit=self._command,
            open_level=self._open,
            finish=self._finish,
        )
        self._machine_rng = np.random.default_rng(0)
        self.sink.emit(_header(running.system))
        self.sink.emit(Target(t_s=0.0, state="ready"))

    @property
    def marks(self) -> list[Mark]:
        """All marks that were ever made, in order."""
        return [event for event in self.sink.take() if isinstance(event, Mark)]

    def step(self, users: int, by: By = "user") -> None:
        """Set the number of users, in a new level."""
        self._open(users, self._requested_load.step(users, by), by)

    def climb(self, users: Sequence[int], level_s: int, by: By = "plan") -> None:
        """Levels of these numbers of users, each for `level_s` seconds."""
        for count in users:
            self.step(count, by)
            for _ in range(level_s):
                self.second()

    def explore(self, limit_s: float, each_second: Callable[[], None] = lambda: None) -> None:
        """Let the autopilot search to its end, for `limit_s` at most."""
        self._autopilot.begin(self._requested_load.hand_to(Autopilot()))
        self._autopilot.ticked(CurrentEpoch(self.timeline))
        while self.ending is None and self.now_s < limit_s:
            self.second()
            each_second()

    def end(self) -> None:
        """Close the last level and make the final marks."""
        self.levels.close()
        self.levels.marks.end()

    def second(self) -> None:
        """Simulate one second of load; fold and judge it as the pump thread does."""
        began_s, self.now_s = self.now_s, self.now_s + 1.0
        self.running.until(self.now_s)
        tick = self._drain()
        opened, tracker = self.levels.tracker.opened, self.levels.tracker
        users = self._requested_load.wanted
        if opened is not None and self.now_s >= opened.t_s + 1.0:
            tracker.spawned(opened.t_s + 1.0)  # new users start within a second
        phase, settled = tracker.tick(began_s, self.now_s, users, tick, users)
        self.sink.emit(self._sample(tick, max(0, tracker.index), users, phase, settled))
        self.levels.marks.split_at_shifts()
        current = CurrentEpoch(self.timeline)
        self.levels.marks.ticked(current)
        self._autopilot.ticked(current)

    def _drain(self) -> Tick:
        """The tick of the requests that ended since the last second."""
        ended = self.running.take_ended()
        found = [
            (each.response_s, None if each.ok else signature_of(self.running.system, each.ended_s - each.response_s))
            for each in ended
        ]
        waited_s = math.fsum(each.think_s for each in ended)
        return tick_of(found, activity=ActivitySums(waits=len(ended), wait_sum_s=waited_s))

    def _sample(self, tick: Tick, level: int, users: int, phase: Phase, settled: bool) -> Sample:
        system = self.running.system
        read = machine(system, self.now_s - 1.0, self.running.busy_s(int(self.now_s) - 1), tick.all_requests, self._machine_rng)
        return sample_of(
            tick,
            read,
            t_s=self.now_s,
            level=level,
            users=users,
            phase=phase,
            settled=settled,
            waits=tick.activity.waits,
            wait_sum_s=tick.activity.wait_sum_s,
            sleep_sum_s=0.0,
        )

    def _open(self, users: int, spawn_rate: float, by: By = "autopilot") -> None:
        self.levels.close()
        self.running.to(users)
        self.most_users = max(self.most_users, users)
        self.levels.open(users, by, spawn_rate)

    def _command(self, name: Literal["users", "autopilot"], args: Mapping[str, Param | None]) -> None:
        self.sink.emit(Command(t_s=self.now_s, name=name, by="autopilot", args=dict(args)))

    def _finish(self, why: str) -> None:
        self.ending = why


def signature_of(system: System, sent_s: float) -> FailureSignature:
    """The failure of a request that was sent at `sent_s`: that of the fault at that time, else that of the system under load."""
    trouble = system.trouble
    if trouble.now(sent_s) and (trouble.stalled_s or trouble.failing):
        return TIMED_OUT if trouble.stalled_s else FAULTY
    return TIMED_OUT if system.timeout_s is not None else REFUSED


def _header(system: System) -> Header:
    return Header(
        t_s=0.0,
        schema=SCHEMA,
        id="simulated",
        started_at="",
        target=TargetFacts(name="simulated", url="http://127.0.0.1:1"),
        host=HostFacts(cpus=cores_of(system)),
    )


def _fail(error: LogWriteError) -> None:
    raise error
