"""Services that change while they are climbed: capacity up or down, a fault, a neighbour for a while, at a random time.

What is simulated is whole sessions, second by second, as a live run has them: the queue is the simulator's, levels settle by the
product's own clock, its live detectors split and mark. Beside each stands the truth: every knee that was in force while it ran.

Seeds: thresholds were tuned on 0-599; benchmarks and reports use 700,000 and up; `make test` uses 250,000 and up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from capexplorer.load.recorder import Tick
from capexplorer.load.user_activity import ActivitySums
from capexplorer.model.events import EndpointTick, Event, Header, HostFacts, Mark, Sample, TargetFacts
from capexplorer.model.timeline import Timeline
from capexplorer.run.current_epoch import CurrentEpoch
from capexplorer.run.level_tracker import LevelTracker
from capexplorer.run.live_marks import LiveMarks

from .ladders import Kind, random_system, rungs
from .queues import System, Trouble, run

World = Literal["still", "capacity_up", "capacity_down", "errors", "passing_errors", "stall", "passing_stall", "neighbour"]

WORLDS: tuple[World, ...] = (
    "still", "capacity_up", "capacity_down", "errors", "passing_errors", "stall", "passing_stall", "neighbour"
)  # fmt: skip

MOVING_KINDS: tuple[Kind, ...] = ("queue", "queue", "shedding", "timeouts")
STILL_KINDS: tuple[Kind, ...] = (*MOVING_KINDS, "usl")

GIVE_UP_S = 5.0
"""After which a client gives up on a service that stalls."""


@dataclass(frozen=True, slots=True)
class MovingLadder:
    """A climb in a world that moves."""

    world: World
    seed: int
    system: System
    knees: tuple[float, ...]
    """N* of every regime that was in force."""
    users: tuple[int, ...]
    changed_s: float | None
    timeline: Timeline
    """With the marks and verdicts of the live detectors."""


def moving_ladder(world: World, seed: int) -> MovingLadder:
    """A random service, climbed to between 0.5 and 2.2 N* in levels of 12 to 30 s; half of the climbs return to the first."""
    rng = np.random.default_rng([seed, WORLDS.index(world)])
    kinds = STILL_KINDS if world == "still" else MOVING_KINDS
    system, truth = random_system(kinds[int(rng.integers(len(kinds)))], rng)
    assert truth.knee_users is not None
    level_s = int(rng.choice([12, 15, 20, 30]))
    climb = rungs(float(rng.uniform(0.5, 2.2)) * truth.knee_users, int(rng.integers(5, 11)))
    users = (*climb, climb[0]) if rng.random() < 0.5 else tuple(climb)
    length_s = level_s * len(users)
    at_s = float(rng.uniform(0.15, 0.95) * length_s)
    until_s = at_s + float(rng.uniform(3, 60)) if world in ("passing_errors", "passing_stall", "neighbour") else float("inf")
    troubles = {
        "still": Trouble(),
        "capacity_up": Trouble(at_s, until_s, speed=float(rng.uniform(1.4, 3.0))),
        "capacity_down": Trouble(at_s, until_s, speed=float(rng.uniform(0.3, 0.7))),
        "neighbour": Trouble(at_s, until_s, speed=float(rng.uniform(0.3, 0.7))),
        "errors": Trouble(at_s, until_s, failing=float(rng.choice([1.0, 1.0, rng.uniform(0.3, 1.0)]))),
        "passing_errors": Trouble(at_s, until_s, failing=float(rng.choice([1.0, 1.0, rng.uniform(0.3, 1.0)]))),
        "stall": Trouble(at_s, until_s, stalled_s=GIVE_UP_S),
        "passing_stall": Trouble(at_s, until_s, stalled_s=GIVE_UP_S),
    }
    system = replace(system, trouble=troubles[world])
    knees = [truth.knee_users]
    if system.trouble.speed != 1.0:
        cycle_s = system.think_s + system.service_s / system.trouble.speed
        knees.append(system.servers / system.service_s * system.trouble.speed * cycle_s)
    timeline = explored(system, users, level_s, rng)
    return MovingLadder(world, seed, system, tuple(knees), users, None if world == "still" else at_s, timeline)


def explored(system: System, users: Sequence[int], level_s: int, rng: np.random.Generator) -> Timeline:
    """The session of a plan with these levels, as the live detectors make it."""
    session = _Session(system, rng)
    for count in users:
        session.to(count)
        for _ in range(level_s):
            session.second()
    session.end()
    return session.timeline


class _Session:
    """A live run without processes: requests of a simulated queue, the product's levels, splits and marks."""

    def __init__(self, system: System, rng: np.random.Generator) -> None:
        self.timeline = Timeline()
        self._run, self._think_s = run(system, rng), system.think_s
        self._tracker = LevelTracker(self.timeline)
        self._marks = LiveMarks(self.timeline, self._emit, lambda: self._now_s, self._split)
        self._now_s, self._opened_s = 0.0, 0.0
        facts = TargetFacts(name="simulated", url="http://127.0.0.1:1")
        self._emit(Header(t_s=0.0, schema=2, id="simulated", started_at="", target=facts, host=HostFacts(cpus=2)))

    def to(self, users: int) -> None:
        self._close()
        self._run.to(users)
        self._opened_s = self._now_s
        self._emit(self._tracker.open(self._now_s, users, 100.0, "plan"))

    def second(self) -> None:
        started_s, self._now_s = self._now_s, self._now_s + 1.0
        self._run.until(self._now_s)
        endpoint = self._ended()
        wait_s = endpoint.requests * self._think_s
        if started_s > self._opened_s:
            self._tracker.spawned(self._opened_s + 1.0)
        response_s = (endpoint.latency_sum_ms + endpoint.failure_latency_sum_ms) / 1000
        activity = ActivitySums(waits=endpoint.requests, wait_sum_s=wait_s)
        tick = Tick(activity=activity, all_requests=endpoint.requests, all_latency_sum_ms=response_s * 1000)
        phase, settled = self._tracker.tick(started_s, self._now_s, self._run.users, tick)
        self._emit(
            Sample(
                t_s=self._now_s, duration_s=1.0, level=self._tracker.index, users=self._run.users, wanted=self._run.users,
                phase=phase, settled=settled, endpoints=(endpoint,), work=float(endpoint.requests - endpoint.failures),
                waits=endpoint.requests, wait_sum_s=wait_s,
            )
        )  # fmt: skip
        self._marks.look_for_shifts()
        self._marks.ticked(CurrentEpoch(self.timeline))

    def end(self) -> None:
        self._close()
        self._marks.end()

    def _close(self) -> None:
        closed = self._tracker.close(self._now_s)
        if closed is not None:
            self._emit(closed)
            self._marks.judge()

    def _split(self, since_s: float, shifted: Literal["goodput", "latency"]) -> bool:
        parts = self._tracker.split(self._now_s, since_s, shifted)
        for event in parts or ():
            self._emit(event)
        return parts is not None

    def _emit(self, event: Event) -> None:
        self.timeline.apply(event)

    def _ended(self) -> EndpointTick:
        now = self._run.take_ended()
        good_s = [response_s for _, response_s, ok in now if ok]
        bad_s = [response_s for _, response_s, ok in now if not ok]
        return EndpointTick(
            name="/", requests=len(now), failures=len(bad_s), latency_sum_ms=1000 * sum(good_s),
            failure_latency_sum_ms=1000 * sum(bad_s),
        )  # fmt: skip


def knee_marks(timeline: Timeline) -> list[Mark]:
    """The knees and "at or below" that stand at the end."""
    return [mark for mark in timeline.marks.values() if mark.kind in ("knee", "at_or_below") and mark.state != "retracted"]
