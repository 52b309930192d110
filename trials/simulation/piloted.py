"""A simulated system under a policy, second by second: what a driver sees of a live run, without the run.

The queue is the simulator's, levels settle by the product's own clock, and figures are folded as the product folds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from capexplorer.analysis.epoch.levels import LevelClock, TickCounts
from capexplorer.analysis.epoch.recovery import analyse
from capexplorer.analysis.knee.detector import AUTOPILOT_ERROR
from capexplorer.analysis.ladder import measured_of
from capexplorer.load.autopilot_decisions import Done, GiveUp, GoTo
from capexplorer.load.autopilot_input import AutopilotInput, InputLevel
from capexplorer.load.autopilot_policy import AutopilotPolicy
from capexplorer.load.level_end import LEAST_S
from capexplorer.model.events import LevelClosed, LevelOpened
from capexplorer.model.figures import Latency, LevelFigures
from capexplorer.model.level import Level
from capexplorer.model.level_fold import batch_error
from capexplorer.model.verdicts import CapacityVerdict

from .ladders import KINDS, Kind, Truth, random_system
from .queues import System, run

LATEST_S = 3
"""Seconds over which a driver looks for failures that cannot wait."""

Policy = Callable[[System, Truth, np.random.Generator], "Flight"]

NO_VERDICT = CapacityVerdict()


@dataclass(frozen=True, slots=True)
class Flight:
    """One exploration from one user on."""

    truth: Truth
    verdict: CapacityVerdict
    """As it stands at the end."""
    found_s: float
    """When the way up was over: a knee found, or given up."""
    ended_s: float
    most_users: int
    steps: tuple[GoTo, ...]
    ending: Done | GiveUp | None
    """None: it never came to an end."""


class Observer:
    """Requests of a run, second by second as they end."""

    def __init__(self, system: System, rng: np.random.Generator) -> None:
        self.run = run(system, rng)
        self.think_s = system.think_s
        self.now_s = 0
        self._seen = 0
        self.good: list[int] = []
        self.bad: list[int] = []
        self.good_ms: list[float] = []
        self.bad_ms: list[float] = []
        self.levels: list[Level] = []
        self.opened_s = 0
        self._clock = LevelClock(0)
        self._settled: list[int] = []

    @property
    def users(self) -> int:
        return self.run.users

    def to(self, users: int) -> None:
        """A new level; the one before it ends."""
        if self.levels:
            self._close()
        self.run.to(users)
        self.opened_s = self.now_s
        self.levels.append(Level(_opened(len(self.levels), users, self.now_s), 0))
        self._clock, self._settled = LevelClock(users), []

    def tick(self) -> None:
        """One second."""
        self.run.until(self.now_s + 1.0)
        self._bin()
        now = self.now_s
        self.now_s += 1
        requests, sum_s = self.good[now] + self.bad[now], (self.good_ms[now] + self.bad_ms[now]) / 1000
        counts = TickCounts(requests, sum_s, requests, requests * self.think_s)
        if now > self.opened_s:
            self._clock.spawned(self.opened_s + 1)
            if self._clock.tick(now, now + 1, self.users, counts)[1]:
                self._settled.append(now)

    def _bin(self) -> None:
        done = self.run
        for ended_s, response_s, ok in zip(
            done.ended_s[self._seen :], done.response_s[self._seen :], done.ok[self._seen :], strict=True
        ):
            second = int(ended_s)
            while len(self.good) <= max(second, self.now_s):
                for column in (self.good, self.bad, self.good_ms, self.bad_ms):
                    column.append(0)
            (self.good if ok else self.bad)[second] += 1
            (self.good_ms if ok else self.bad_ms)[second] += response_s * 1000
        self._seen = len(done.ended_s)
        while len(self.good) <= self.now_s:
            for column in (self.good, self.bad, self.good_ms, self.bad_ms):
                column.append(0)

    @property
    def settled_s(self) -> int:
        return len(self._settled)

    def figures(self) -> LevelFigures:
        """Of the open level so far."""
        at = self._settled
        if not at:
            return LevelFigures(settled=False)
        good, bad = [self.good[s] for s in at], [self.bad[s] for s in at]
        good_ms, bad_ms = [self.good_ms[s] for s in at], [self.bad_ms[s] for s in at]
        requests, seconds = sum(good) + sum(bad), len(at)
        return LevelFigures(
            settled=True,
            settled_seconds=float(seconds),
            requests=requests,
            failures=sum(bad),
            failure_ratio=sum(bad) / requests if requests else None,
            throughput_rps=requests / seconds,
            goodput_rps=sum(good) / seconds,
            goodput_se_rps=batch_error([(float(count), 1.0) for count in good]),
            latency_ms=Latency(mean=sum(good_ms) / sum(good) if sum(good) else None),
            latency_se_ms=batch_error(list(zip(good_ms, map(float, good), strict=True))),
            response_ms=(sum(good_ms) + sum(bad_ms)) / requests if requests else None,
            wait_s=self.think_s,
            users_mean=float(self.users),
        )

    def so_far(self) -> list[Level]:
        """All levels, the open one as if it ended now."""
        return [*self.levels[:-1], _closed(self.levels[-1], self.now_s, self.figures())]

    def _close(self) -> None:
        self.levels = self.so_far()

    @property
    def latest(self) -> tuple[int, int]:
        """(requests, failures) of the latest seconds of the open level."""
        since = max(self.opened_s + 1, self.now_s - LATEST_S)
        good, bad = sum(self.good[since : self.now_s]), sum(self.bad[since : self.now_s])
        return good + bad, bad


def _opened(index: int, users: int, t_s: float) -> LevelOpened:
    return LevelOpened(t_s=float(t_s), index=index, users=users, spawn_rate=100.0, by="autopilot")


def _closed(level: Level, t_s: float, figures: LevelFigures) -> Level:
    twin = Level(level.opened, 0)
    opened = level.opened
    twin.close(LevelClosed(t_s=t_s, index=opened.index, users=opened.users, started_s=opened.t_s, figures=figures))
    return twin


def verdict_of(levels: Sequence[Level]) -> CapacityVerdict:
    """What a driver asks the detector."""
    return analyse([each.rates for each in measured_of(levels)], structural=AUTOPILOT_ERROR)


def fly(system: System, truth: Truth, rng: np.random.Generator, *, max_users: int = 2_000, limit_s: int = 900) -> Flight:
    """The autopilot on a system, to its end."""
    seen, pilot, steps, most = Observer(system, rng), AutopilotPolicy(), list[GoTo](), 0
    verdict, ending, found_s = NO_VERDICT, None, None
    while seen.now_s < limit_s and ending is None:
        if seen.settled_s >= LEAST_S:
            verdict = verdict_of(seen.so_far())
        rungs = [InputLevel(level.users, level.figures) for level in seen.so_far()] if seen.levels else []
        known = AutopilotInput(
            levels=rungs,
            open_s=seen.now_s - seen.opened_s,
            verdict=verdict,
            max_users=max_users,
            latest_requests=seen.latest[0],
            latest_failures=seen.latest[1],
        )
        decision = pilot.due(known)
        if isinstance(decision, GoTo):
            if decision.why == "soak" and found_s is None:
                found_s = seen.now_s
            steps.append(decision)
            most = max(most, decision.users)
            seen.to(decision.users)
        elif isinstance(decision, (Done, GiveUp)):
            ending = decision
            break
        seen.tick()
    return Flight(truth, verdict, float(found_s or seen.now_s), float(seen.now_s), most, tuple(steps), ending)


def fixed(add: int, times: float, level_s: int) -> Policy:
    """A plain policy: `users * times + add` after `level_s` seconds of each level, until the detector says knee."""

    def climb(system: System, truth: Truth, rng: np.random.Generator) -> Flight:
        seen, users, verdict, steps = Observer(system, rng), 1, NO_VERDICT, list[GoTo]()
        while seen.now_s < 1_800 and users <= 2_000:
            steps.append(GoTo(users, "double"))
            seen.to(users)
            for _ in range(level_s):
                seen.tick()
            verdict = verdict_of(seen.so_far())
            if verdict.knee is not None and verdict.knee.kind == "knee":
                break
            users = int(users * times + add)
        return Flight(truth, verdict, seen.now_s, seen.now_s, steps[-1].users, tuple(steps), None)

    return climb


def system_of(kind: Kind, seed: int) -> tuple[System, Truth, np.random.Generator]:
    """The system that a ladder of that kind and seed climbs."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    return *random_system(kind, rng), rng


def linear_system(seed: int) -> tuple[System, Truth, np.random.Generator]:
    """One that never saturates."""
    rng = np.random.default_rng([seed, 99])
    return *random_system("linear", rng), rng
