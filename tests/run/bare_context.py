"""What the parts of a run share, in a time that tests set; and a load thread that carries out nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from capexplorer.errors import LogWriteError
from capexplorer.load import native
from capexplorer.model.experiments import Experiment
from capexplorer.model.load import NO_LOAD, Load, OfferedRate
from capexplorer.profile import Profile, Users
from capexplorer.run.autopilot import Growth
from capexplorer.run.context import EventSink, RunContext, RunLog
from capexplorer.run.options import RunOptions
from capexplorer.run.pump import Pump
from capexplorer.run.run_outcome import RunOutcome
from capexplorer.steer.requested_load import Driver, Manual, RequestedLoad


class VirtualPump(Pump):
    """A pump without a thread: posted calls are run at once, or by `run_posted` if it `waits`."""

    def __init__(self, *, waits: bool = False) -> None:
        super().__init__()
        self.seconds, self.waits = 0.0, waits
        self.posted: list[Callable[[], object]] = []

    def now_s(self) -> float:
        return self.seconds

    def post(self, call: Callable[..., object], /, *args: Any, **named: Any) -> None:
        self.posted.append(lambda: call(*args, **named))
        if not self.waits:
            self.run_posted()

    def run_posted(self) -> None:
        while self.posted:
            self.posted.pop(0)()


def bare_context(pump: Pump | None = None, **profile: Any) -> RunContext:
    """`profile`: tables of the run's profile."""
    options = RunOptions(name="bare", profile=Profile(users=Users(), **profile), sessions_dir=Path())
    return RunContext(options, pump or VirtualPump(), EventSink(), RunLog(), RunOutcome(lambda: None))


class IdleThread:
    """As many users as were set last."""

    def __init__(self, users: int = 0) -> None:
        self.users = users

    def set_users(self, users: int, spawn_rate: float) -> None:
        self.users = users

    def set_rate(self, offered: OfferedRate) -> None: ...

    def start_shape(self, generation: int) -> None: ...

    def begin_level(self, index: int, experiment: Experiment | None) -> None: ...


def requested_load(
    load: Load = NO_LOAD,
    spawn_rate: float | None = None,
    driver: Driver = Manual(),  # noqa: B008 - frozen
    *,
    is_open: bool = False,
) -> RequestedLoad:
    """That of an idle thread."""
    found = RequestedLoad(IdleThread(load.users), load, spawn_rate, driver, lock=native.allocate_lock(), max_users=100)
    if is_open:
        found.open()
    return found


class Unfailing:
    """A log that cannot be written is an error of the test."""

    def on_log_failure(self, error: LogWriteError) -> None:
        raise error

    def on_log_recovery(self) -> None:
        raise AssertionError

    on_log_made_again = on_log_recovery


class NoWorkers:
    """A generator that needs none."""

    def growth(self) -> Growth:
        return "none"

    def add(self, by: str) -> None:
        raise AssertionError
