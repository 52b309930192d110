"""A driven run with the autopilot as its driver, of services with a knee at 50 users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from capexplorer.model.events import Command, LevelOpened
from capexplorer.model.param import Param
from capexplorer.model.readings import NeighboursReading, TargetReading
from capexplorer.run.current_epoch import CurrentEpoch
from capexplorer.run.drivers.autopilot import AutopilotDriver
from capexplorer.run.drivers.driver import Autopilot
from capexplorer.run.drivers.load_target import LoadTarget

from .driven import Driven

Service = Callable[[int], tuple[int, float, int]]
"""From users to one second's successes, their latency in ms, and failures."""


def steady(users: int) -> tuple[int, float, int]:
    """N* = 50 at 100/s; users wait 0.4 s and are served in 0.1 s."""
    rate = min(2 * users, 100)
    return rate, max(100.0, users / rate * 1000 - 400), 0


def shedding(users: int) -> tuple[int, float, int]:
    """The same, but what is too much fails."""
    rate = min(2 * users, 100)
    return rate, 100.0, 2 * users - rate


def starved(users: int) -> tuple[int, float, int]:
    """The same beside neighbours, which leave it 40/s."""
    rate = min(2 * users, 40)
    return rate, max(100.0, users / rate * 1000 - 400), 0


STARVED = TargetReading(pid=7, cpu_ratio=0.4, busiest_thread_ratio=0.4, run_delay_ratio=0.58, processes=1)


class Search:
    """A driven run with the autopilot as its driver."""

    def __init__(
        self,
        path: Path,
        service: Service = steady,
        max_users: int = 1_000,
        target: TargetReading | None = None,
        neighbours: NeighboursReading | None = None,
        most_workers: int = 0,
    ) -> None:
        self.most_workers = most_workers
        self.target, self.neighbours = target, neighbours
        self.run, self.load_target, self.service = Driven(path), LoadTarget(0, 100.0), service
        self.load_target.is_open = True
        self.finished: list[str] = []
        self.driver = AutopilotDriver(
            self.run.timeline,
            self.load_target,
            max_users=max_users,
            emit=self._emit,
            open_level=lambda users, rate: self.run.step(users, "autopilot"),
            finish=self.finished.append,
            growth=lambda: "possible" if self.run.tracker.workers < self.most_workers else "none",
            grow=self._grow,
        )

    def _grow(self) -> None:
        """One more worker, which is there at once."""
        tracker = self.run.tracker
        tracker.workers = max(2, tracker.workers + 1)
        self.run.step(self.load_target.wanted, "autopilot")

    def _emit(self, name: str, args: Mapping[str, Param | None]) -> None:
        self.run.sink.emit(Command(t_s=self.run.now_s, name=name, by="autopilot", args=dict(args)))  # type: ignore[arg-type]

    def begin(self) -> None:
        self.driver.begin(self.load_target.hand_to(Autopilot()))

    def go(self, seconds: int = 300) -> None:
        self.begin()
        self.driver.ticked(CurrentEpoch(self.run.timeline))
        for _ in range(seconds):
            if not self.driver.is_on:
                break
            self.second()

    def second(self) -> None:
        goodput, latency_ms, failures = self.service(self.load_target.wanted)
        cpu = 0.1
        if self.most_workers:  # each, or this process, does 30/s at most
            can = 30 * max(1, self.run.tracker.workers)
            cpu, goodput = min(1.0, goodput / can), min(goodput, can)
        self.run.second(goodput, latency_ms, failures, target=self.target, neighbours=self.neighbours, generator_cpu=cpu)
        self.driver.ticked(CurrentEpoch(self.run.timeline))

    def commands(self) -> list[Command]:
        self.run.take()
        return [event for event in self.run.shown if isinstance(event, Command)]

    def levels(self) -> list[tuple[int, str]]:
        self.run.take()
        return [(event.users, event.by) for event in self.run.shown if isinstance(event, LevelOpened)]
