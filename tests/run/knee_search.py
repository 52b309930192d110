"""The autopilot searches for the knee of simulated services, in a run without load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from capexplorer.model.events import By, Command, LevelOpened
from capexplorer.model.readings import NeighboursReading, TargetReading
from capexplorer.run.autopilot import AutopilotDriver, Growth
from capexplorer.run.live_levels import CurrentEpoch
from capexplorer.run.options import Task
from capexplorer.steer.requested_load import Autopilot

from .run_without_load import RunWithoutLoad

Service = Callable[[int], tuple[int, float, int]]
"""By users: the successes of a second, their latency in ms, and the failures."""


def queueing(users: int) -> tuple[int, float, int]:
    """A service with its knee at 50 users and 100/s: users think for 0.4 s, a request takes 0.1 s, and others wait in a queue."""
    rate = min(2 * users, 100)
    return rate, max(100.0, users / rate * 1000 - 400), 0


def failing_above_capacity(users: int) -> tuple[int, float, int]:
    """The same service, but requests above 100/s fail."""
    rate = min(2 * users, 100)
    return rate, 100.0, 2 * users - rate


def slowed_by_other_processes(users: int) -> tuple[int, float, int]:
    """The same service while other processes use the CPU and leave it 40/s."""
    rate = min(2 * users, 40)
    return rate, max(100.0, users / rate * 1000 - 400), 0


TARGET_WAITING_FOR_CPU = TargetReading(pid=7, cpu_ratio=0.4, busiest_thread_ratio=0.4, run_delay_ratio=0.58, processes=1)
"""A reading of a process that waits for a CPU for 58% of the time."""


class KneeSearch:
    """A run without load whose driver is the autopilot.

    `most_workers`: the number of workers that the generator may have; each of them, or this process, sends 30/s at most.
    `finished`: the sentences with which the autopilot ended.
    """

    def __init__(
        self,
        path: Path,
        service: Service = queueing,
        max_users: int = 1_000,
        target: TargetReading | None = None,
        neighbours: NeighboursReading | None = None,
        most_workers: int = 0,
    ) -> None:
        self.most_workers, self.workers = most_workers, 0
        self.target, self.neighbours = target, neighbours
        self.run, self.service = RunWithoutLoad(path, max_users=max_users), service
        self.requested_load = self.run.requested_load
        self.finished: list[str] = []
        self.driver = AutopilotDriver(self.run.context, self.requested_load, self.run.levels, self)

    def growth(self) -> Growth:
        return "possible" if self.workers < self.most_workers else "none"

    def add(self, by: By) -> None:
        """Add a worker, which is ready at once; at first two, since with workers this process sends no requests."""
        self.workers = max(2, self.workers + 1)
        self.run.levels.run_by(self.workers)

    def begin(self, task: Task = "knee") -> None:
        """Switch the autopilot on."""
        self.driver.begin(self.requested_load.hand_to(Autopilot()), task, 1)

    def tick(self) -> None:
        """Let the autopilot act."""
        ended = self.driver.ticked(CurrentEpoch(self.run.timeline))
        if ended is not None:
            self.finished.append(ended)

    def run_autopilot(self, seconds: int = 300) -> None:
        """Switch the autopilot on, and let it run until it ends, or for this many seconds."""
        self.begin()
        self.tick()
        for _ in range(seconds):
            if not self.driver.is_on:
                break
            self.add_second()

    def add_second(self) -> None:
        """A second of the service, after which the autopilot may step."""
        goodput, latency_ms, failures = self.service(self.requested_load.load.users)
        cpu = 0.1
        if self.most_workers:
            most_per_s = 30 * max(1, self.workers)
            cpu, goodput = min(1.0, goodput / most_per_s), min(goodput, most_per_s)
        self.run.add_second(goodput, latency_ms, failures, target=self.target, neighbours=self.neighbours, generator_cpu=cpu)
        self.tick()

    def commands(self) -> list[Command]:
        """The commands so far, in order."""
        self.run.take()
        return [event for event in self.run.shown if isinstance(event, Command)]

    def levels(self) -> list[tuple[int, str]]:
        """The users of each level so far, and who opened it."""
        self.run.take()
        return [(event.users, event.by) for event in self.run.shown if isinstance(event, LevelOpened)]
