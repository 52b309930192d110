"""Real services of known capacity, explored in real time: k workers that sleep s each; one service is stopped for a while."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.trials.experiments.capacity import sleepers
from lab.trials.experiments.headless import run
from lab.trials.experiments.systems import System, system

from .exploration import AUTOPILOT, Exploration, Overload, explored, row
from .live import live_world
from .policies import POLICIES
from .world import LIMIT_S, NO_KNEE, Answer

PARALLEL = 3
"""Explorations at a time unless another number is given."""
STALL_AT_S, STALL_S = 40.0, 20.0
"""When a service that stalls is stopped (SIGSTOP), and for how long."""


@dataclass(frozen=True, slots=True)
class LiveService:
    """One real service."""

    system: System
    stalls: bool = False

    @property
    def name(self) -> str:
        return f"{self.system.name}{', stalls' if self.stalls else ''}"


SERVICES = (
    LiveService(system("four-workers")),
    LiveService(system("ten-workers")),
    LiveService(system("four-workers"), stalls=True),
)


def explore_all(repeats: int, parallel: int) -> list[Exploration]:
    """Every finder on every service, `parallel` at a time: the services sleep and use almost no CPU."""
    wanted = [(each, name, number) for number in range(repeats) for each in SERVICES for name in (AUTOPILOT, *POLICIES)]
    with ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(lambda one: _explored(*one), wanted))


def _explored(service: LiveService, finder: str, number: int) -> Exploration:
    each = service.system
    with sleepers(each.workers, each.sleep_s * 1000) as (port, pid), _stalling(pid, service.stalls):
        url = f"http://127.0.0.1:{port}"
        found = _autopilot(service, url, number) if finder == AUTOPILOT else _policy(service, finder, url, number)
    print(f"{service.name}, {finder}: {found.users} of {each.knee_users:g} in {found.seconds:.0f} s", flush=True)
    return found


def _policy(service: LiveService, finder: str, url: str, number: int) -> Exploration:
    with live_world(f"{url}/work", service.system.think_s) as world:
        return explored(finder, POLICIES[finder], world, service.name, number, (service.system.knee_users,))


def _autopilot(service: LiveService, url: str, number: int) -> Exploration:
    """`capexplorer run --autopilot`, as users run it."""
    with tempfile.TemporaryDirectory() as folder:
        ran = run(Path(folder), str(service.system.path), "--host", url, "--autopilot", timeout_s=LIMIT_S)
    knees, overload = (service.system.knee_users,), Overload((service.system.knee_users,))
    for users, seconds in zip(ran.timeline.columns["users"], ran.timeline.columns["duration_s"], strict=True):
        overload.add(int(users), seconds)
    knee = ran.knee
    answer = NO_KNEE if knee is None else Answer(knee["users"], knee.get("capacity_rps"), knee["users_low"], knee["users_high"])
    return row(AUTOPILOT, service.name, number, knees, answer, ran.timeline.last_s, overload)


@contextmanager
def _stalling(pid: int, stalls: bool) -> Iterator[None]:
    """If `stalls`, stops the process at STALL_AT_S for STALL_S; resumes it when the block ends."""
    ended = threading.Event()

    def stall() -> None:
        if not ended.wait(STALL_AT_S):
            os.kill(pid, signal.SIGSTOP)
            ended.wait(STALL_S)
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=stall)
    if stalls:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if stalls:
            thread.join()
