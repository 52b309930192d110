"""How often requirements are answered wrongly, and how soon (`python -m lab.trials requirements`).

Shares: simulated services at a fixed load, whose p95 or failures are known by a long run; bounds from 0.8 to 1.25 times that.
Verdicts: explorations of the population whose knee or capacity is known. A run ends at its first answer, or after five minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capexplorer.analysis.requirements import (
    LOWER_BOUNDS,
    SECONDS_LEAST,
    Requirements,
    failures_effect,
    share_state,
    slow_replies,
)
from capexplorer.model.events import Verdict
from capexplorer.model.requirements import CapacityRequired, KneeRequired, State
from capexplorer.model.timeline import Timeline
from lab.population.score import FAMILIES
from lab.simulation.ladders import random_system
from lab.simulation.open_queue import POOL_MOST, OpenRun
from lab.simulation.queues import System, run
from lab.simulation.virtual import VirtualRates, VirtualRun
from lab.trial import Judged, Trial, kinds

RUNS = 400
LONGEST_S = 300
RATIOS = (0.8, 0.9, 0.95, 1.05, 1.11, 1.25, 2.0, 8.0)
"""Bounds, as multiples of the truth."""
WRONG_MOST = 0.05
TRUTH_S = 20_000
WARM_S = 30
QUANTILE = 0.95
LATER_STEP = 0.05
"""A run is looked at each second, and later at each twentieth of its time, which changes little and costs a tenth."""

Series = NDArray[np.float64]
"""A value a second."""

Replies = NDArray[np.float64]
"""Shape (replies, 2): when each ended, in seconds, and its latency in seconds."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Users of a simulated system."""

    users: int
    system: System

    def replies(self, rng: np.random.Generator, seconds: int) -> Replies:
        """Those of so many seconds, after WARM_S."""
        running = run(self.system, rng)
        running.to(self.users)
        running.until(WARM_S + seconds)
        replies = np.column_stack([running.ended_s, running.response_s])
        return replies[(replies[:, 0] >= WARM_S) & (replies[:, 0] < WARM_S + seconds)] - [WARM_S, 0.0]


@dataclass(frozen=True, slots=True)
class Failing:
    """Requests of which a share fails: each by itself, or all that end within bursts."""

    per_s: float
    share: float
    burst_s: float = 0.0

    def seconds(self, rng: np.random.Generator, seconds: int) -> tuple[Series, Series]:
        """(failures, requests) of each second."""
        requests = rng.poisson(self.per_s, seconds).astype(float)
        if not self.burst_s:
            return rng.binomial(requests.astype(int), self.share).astype(float), requests
        begins = rng.random(seconds) < self.share / self.burst_s
        fails = np.convolve(begins, np.ones(int(self.burst_s)))[:seconds] > 0
        return requests * fails, requests


@dataclass(frozen=True, slots=True)
class Explored:
    """Sessions of a family of the population, whose knee or capacity is asked for."""

    family: str
    sessions: int = 100
    first_seed: int = 15_000


@dataclass(frozen=True, slots=True)
class Decided:
    """Runs with a random queue that go to the loads that decide whether its knee, or its capacity, is that high."""

    at_rates: bool
    sessions: int = 60
    first_seed: int = 10_100


Case = Queue | Failing | Explored | Decided

CASES: dict[str, Case] = {
    "p95, one server, idle": Queue(30, System(0.01, 1)),
    "p95, one server, near its knee": Queue(80, System(0.01, 1)),
    "p95, one server, beyond its knee": Queue(110, System(0.01, 1)),
    "p95, one fast server, many users": Queue(300, System(0.01, 3)),
    "p95, four servers": Queue(20, System(0.1, 0.5, 4)),
    "p95, one slow server": Queue(8, System(0.1, 1)),
    "p95, lognormal": Queue(60, System(0.02, 1, 4, "lognormal")),
    "p95, bimodal": Queue(60, System(0.02, 1, 4, "bimodal")),
    "p95, few users, nearly equal times": Queue(4, System(0.1, 0.9, 4, "constant", "constant", noise=0.02)),
    "failures, each by itself": Failing(100, 0.01),
    "failures, bursts of two seconds": Failing(100, 0.02, 2),
    "knee, ladder": Explored("ladder-queue"),
    "knee, autopilot": Explored("autopilot-queue"),
    "knee, autopilot, bimodal": Explored("autopilot-bimodal"),
    "capacity, rates": Explored("rates-queue"),
    "capacity, autopilot by rate": Explored("rate-autopilot-queue"),
    "knee, decided by a run": Decided(at_rates=False),
    "capacity, decided by a run": Decided(at_rates=True),
}

# -- what a run answers

Outcome = tuple[State, float]
"""The first answer, and the second of it."""


def looks() -> list[int]:
    found, at = [], float(SECONDS_LEAST)
    while at <= LONGEST_S:
        found.append(int(at))
        at += max(1.0, LATER_STEP * at)
    return found


def first_state(look: Callable[[int], State]) -> Outcome:
    """`look`: the answer after so many seconds."""
    for seconds in looks():
        if (state := look(seconds)) != "undecided":
            return state, seconds
    return "undecided", LONGEST_S


def answered(replies: Replies, most_s: float) -> Outcome:
    """The answer to whether the p95 of these replies is at most so much."""
    second = replies[:, 0].astype(int)
    requests, sums, squares = (
        np.bincount(second, weights=each, minlength=LONGEST_S).astype(float)
        for each in (np.ones(len(second)), 1000 * replies[:, 1], (1000 * replies[:, 1]) ** 2)
    )
    hits = np.array([np.bincount(second[replies[:, 1] > share * most_s], minlength=LONGEST_S) for share in LOWER_BOUNDS], float).T

    def look(seconds: int) -> State:
        k, n, ms = hits[:seconds], requests[:seconds], sums[:seconds]
        total = n.sum()
        variance = squares[:seconds].sum() / total - (ms.sum() / total) ** 2
        return slow_replies(k, n, ms, variance, 1 - QUANTILE, 1000 * most_s)[0]

    return first_state(look)


def failing(hits: Series, requests: Series, most: float) -> Outcome:
    def look(seconds: int) -> State:
        k, n = hits[:seconds], requests[:seconds]
        return share_state(float(k.sum()), float(n.sum()), failures_effect(k, n, most), most)

    return first_state(look)


def explored(case: Explored, seed: int) -> dict[float, Outcome]:
    """The first answers of a session by ratio; empty if the service has no knee of one value."""
    session = FAMILIES[case.family].session(seed)
    knees = session.truth.knees
    if len(knees) != 1 or knees[0].high > 1.01 * knees[0].low:
        return {}
    required = CapacityRequired if session.truth.at_rates else KneeRequired
    timeline, asked, found = Timeline(), Requirements(), dict[float, Outcome]()
    for ratio in RATIOS:
        asked.require(required(ratio * knees[0].low), timeline)
    for event in session.events:
        timeline.apply(event)
        if isinstance(event, Verdict):
            for ratio, answer in zip(RATIOS, asked.answers(timeline), strict=True):
                if answer.state != "undecided":
                    found.setdefault(ratio, (answer.state, event.t_s))
    return {ratio: found.get(ratio, ("undecided", timeline.last_s)) for ratio in RATIOS}


def decided(case: Decided, seed: int, ratio: float) -> Outcome:
    """The answer of a run, and its seconds."""
    rng = np.random.default_rng(seed)
    system, true = random_system("queue", rng)
    if case.at_rates:
        at_rates = VirtualRates(OpenRun(system, rng, max_users=POOL_MOST))
        answer = at_rates.decide(CapacityRequired(ratio * system.servers / system.service_s))
        return answer.state, at_rates.now_s
    by_users = VirtualRun(run(system, rng))
    assert true.knee_users is not None
    return by_users.decide(KneeRequired(ratio * true.knee_users)).state, by_users.now_s


# -- the trial


def carried_out(case: Case) -> dict[str, Any]:
    """Figures by bound: shares of answers, and the median seconds to one. A bound above the truth is met, but for knees and
    capacities, which are then not reached.
    """
    match case:
        case Queue():
            truth = float(np.quantile(case.replies(np.random.default_rng(1), TRUTH_S)[:, 1], QUANTILE))
            runs = [case.replies(np.random.default_rng([2, seed]), LONGEST_S) for seed in range(RUNS)]
            found = {ratio: [answered(run, ratio * truth) for run in runs] for ratio in RATIOS}
            fixed = {ratio: _fixed_s(runs, truth, ratio) for ratio in RATIOS}
            return {f"{ratio:g}": {**_summary(found[ratio]), "fixed_s": fixed[ratio]} for ratio in RATIOS}
        case Failing(share=share):
            counted = [case.seconds(np.random.default_rng([3, seed]), LONGEST_S) for seed in range(RUNS)]
            return {f"{ratio:g}": _summary([failing(*run, ratio * share) for run in counted]) for ratio in RATIOS}
        case Explored():
            seeds = range(case.first_seed, case.first_seed + case.sessions)
            sessions = [each for seed in seeds if (each := explored(case, seed))]
            return {f"{ratio:g}": _summary([each[ratio] for each in sessions]) for ratio in RATIOS}
        case Decided():
            seeds = range(case.first_seed, case.first_seed + case.sessions)
            return {f"{ratio:g}": _summary([decided(case, seed, ratio) for seed in seeds]) for ratio in RATIOS}


def _fixed_s(runs: Sequence[Replies], truth_s: float, ratio: float) -> int | None:
    """Seconds of a run of fixed length of which the p95 is wrong about the bound as rarely as WRONG_MOST; None: longer."""
    for seconds in looks():
        below = [np.quantile(run[run[:, 0] < seconds, 1], QUANTILE) <= ratio * truth_s for run in runs]
        if np.mean([each != (ratio > 1) for each in below]) <= WRONG_MOST:
            return seconds
    return None


def _summary(answers: Sequence[Outcome]) -> dict[str, Any]:
    decided = [seconds for state, seconds in answers if state != "undecided"]
    return {
        "runs": len(answers),
        "met": sum(state == "met" for state, _ in answers) / max(len(answers), 1),
        "not_met": sum(state == "not_met" for state, _ in answers) / max(len(answers), 1),
        "median_s": float(np.median(decided)) if decided else None,
    }


class RequirementTrial(Trial[Case]):
    """Cases compute, each in a process of its own."""

    name = "requirements"
    about = "How often requirements are answered wrongly, and how soon."
    cases = CASES
    parallel = 2

    def carry_out(self, case: Case, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        figures = self.in_a_process(carried_out, case)
        at_least = isinstance(case, Explored | Decided)
        wrong = {
            f"{ratio} times: {figures[ratio]['not_met' if is_met else 'met']:.1%} wrong": True
            for ratio in figures
            if figures[ratio]["not_met" if (is_met := (float(ratio) > 1) != at_least) else "met"] > WRONG_MOST
        }
        return Judged(wrong=kinds(wrong), figures=figures)
