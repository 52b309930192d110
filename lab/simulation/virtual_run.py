"""Sessions in virtual time with a closed loop of users."""

from __future__ import annotations

import math

from capexplorer.model.events import By, Mark, Sample
from capexplorer.model.load import Load, Users
from capexplorer.run.autopilot import AutopilotDriver

from .machine import machine
from .queues import Run
from .virtual_session import VirtualSession, sample_of, signature_of, tick_of


class VirtualRun(VirtualSession[int]):
    """A session whose load is a number of users."""

    def __init__(self, running: Run, *, max_users: int = 2_000) -> None:
        super().__init__(running.system)
        self.running, self.most_users = running, 0
        self._autopilot = AutopilotDriver(
            self.timeline,
            self._requested_load,
            max_users=max_users,
            emit=self._command,
            open_level=self._open,
            finish=self._finish,
        )

    @property
    def marks(self) -> list[Mark]:
        """All marks that were ever made, in order."""
        return [event for event in self.sink.take() if isinstance(event, Mark)]

    def step(self, load: int, by: By = "user") -> None:
        self._open(Users(load), self._requested_load.step(Users(load), by), by)

    def _open(self, load: Load, spawn_rate: float, by: By = "autopilot") -> None:
        self.levels.close()
        self.running.to(load.users)
        self.most_users = max(self.most_users, load.users)
        self.levels.open(load, by, spawn_rate)

    def _sample(self, began_s: float) -> Sample:
        running, system = self.running, self.running.system
        running.until(self.now_s)
        ended = running.take_ended()
        found = [(each.response_s, None if each.ok else signature_of(system, each.ended_s - each.response_s)) for each in ended]
        users, waited_s = self._requested_load.load.users, math.fsum(each.think_s for each in ended)
        tick = tick_of(self.now_s, users, found, waits=len(ended), wait_sum_s=waited_s, sleep_sum_s=0.0)
        opened, tracker = self.levels.tracker.opened, self.levels.tracker
        if opened is not None and self.now_s >= opened.t_s + 1.0:
            tracker.spawned(opened.t_s + 1.0)  # new users start within a second
        phase, settled = tracker.tick(began_s, self.now_s, tick, Users(users))
        return sample_of(
            tick,
            machine(system, began_s, running.busy_s(int(began_s)), tick.all_requests, self._machine_rng),
            level=max(0, tracker.index),
            phase=phase,
            settled=settled,
        )
