"""A/B trials of `capexplorer ab` (`make ab`): equal builds, which may differ in 5% of runs at most, and known changes.

Simulated: the search is left out, the rest is the code of real runs, on two queues in virtual time. Real: the command, on
services that work on k requests at a time, each for s; s is 5% or 10% longer in B, so it serves 5% or 9% less, and p95 below the
knee is 5% or 10% longer.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from capexplorer.commands.ab.child import ChildError, ChildRun
from capexplorer.commands.ab.measuring import BELOW, BEYOND, Measuring
from capexplorer.model.controls import Control, StepTo
from capexplorer.model.load import Users
from capexplorer.report.ab import formats
from capexplorer.report.ab.result import Result, Side
from lab.kit.programs import missing
from lab.kit.runs import LAB, PROGRAM, MarkedEnvironment
from lab.simulation.ladders import random_system
from lab.simulation.queues import System, Trouble, run
from lab.simulation.virtual import VirtualRun
from lab.trial import Judged, SeedTrial
from lab.trial import Result as Ran
from lab.trials.services import KnownService

UNTIL, WITHIN_S = 0.05, 600.0
SLOWER = (0.0, 0.05, 0.10)
"""Relative increase of service times in B."""
UNNAMED = Side(given="", understood="")

Found = Mapping[str, Any]


def figures(read: Found) -> dict[str, Any]:
    """What is kept of a result, as the command writes it."""
    asked = [each for each in read["findings"] if each["answer"] is not None]
    of_failures = [each["answer"] for each in asked if each["figure"] == "failures"]
    kept = {
        each["figure"]: {key: _rounded(each[key]) for key in ("answer", "change", "low", "high", "pairs", "a", "b")}
        for each in asked
        if each["figure"] != "failures"
    }
    run = read["run"]
    return {
        **kept,
        "failures_differ": any(each in ("lower", "higher") for each in of_failures),
        "exit_code": read["exit_code"],
        "ended": run["ended"],
        "took_s": round(run["took_s"]),
        "loads": [each["users"] for each in run["loads"]],
    }


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def counts(results: Sequence[Ran], slower: float) -> dict[str, Any]:
    """How often each answer was given, over runs whose B has service times that are longer by that share."""
    found = [each.figures for each in results if "p95" in each.figures and "capacity" in each.figures]

    def of(figure: str) -> dict[str, int]:
        given = [each[figure]["answer"] for each in found]
        return {answer: given.count(answer) for answer in ("lower", "higher", "equal", "undecided") if answer in given}

    took_s = sorted(each["took_s"] for each in found)
    return {
        "runs": len(found),
        "failed": len(results) - len(found),
        "capacity": of("capacity"),
        "capacity_intervals_without_the_truth": sum(not _holds(each["capacity"], 1 / (1 + slower) - 1) for each in found),
        "p95": of("p95"),
        **({} if slower else {"p95_intervals_without_the_truth": sum(not _holds(each["p95"], 0.0) for each in found)}),
        "failures_differ": sum(each["failures_differ"] for each in found),
        "exit_codes": {code: sum(each["exit_code"] == code for each in found) for code in (0, 3, 5)},
        "median_s": took_s[len(took_s) // 2] if took_s else None,
    }


def _holds(found: Found, truth: float) -> bool:
    return found["low"] is None or found["low"] <= truth <= found["high"]


# -- simulated

SLOW_SPEED, SLOW_S = 0.8, 60.0
STEADY = ("constant", "uniform")
"""Service times of which a block has enough for a capacity within 2%."""


@dataclass(frozen=True, slots=True)
class Queue:
    seed: int
    slower: float
    slow_minute: bool
    """Whether both queues lose a fifth of their speed for a minute."""
    noise: float | None = None
    """Of the speed, from second to second; None: 3 to 10%, as drawn."""

    @property
    def systems(self) -> tuple[System, System, float]:
        """A, B, and the knee of A."""
        rng = np.random.default_rng([self.seed, 23])
        system, truth = random_system("queue", rng)
        at_s = float(rng.uniform(0, WITHIN_S / 2))
        if self.noise is not None:
            system = replace(system, noise=self.noise)
        if self.slow_minute:
            system = replace(system, trouble=Trouble(at_s, at_s + SLOW_S, speed=SLOW_SPEED))
        assert truth.knee_users is not None
        return system, replace(system, service_s=system.service_s * (1 + self.slower)), truth.knee_users


class SimulatedRun(ChildRun):
    """A queue in virtual time, which a second of passes at each `follow`."""

    def __init__(self, name: str, system: System, rng: np.random.Generator) -> None:
        self.name = name
        self._virtual = VirtualRun(run(system, rng))
        self.timeline = self._virtual.timeline

    def do(self, control: Control) -> None:
        load = control.load.users if isinstance(control, StepTo) else 0
        if load != self._virtual.users:
            self._virtual.step(load)

    def follow(self) -> None:
        self._virtual.second()


def simulated(case: Queue) -> dict[str, Any]:
    """One A/B run."""
    a, b, knee_users = case.systems
    rng, now_s = np.random.default_rng([case.seed, 29]), [0.0]

    def pause() -> None:
        now_s[0] += 1.0

    measuring = Measuring(
        [SimulatedRun("A", a, rng), SimulatedRun("B", b, rng)],
        Result(
            a=UNNAMED,
            b=UNNAMED,
            loads=tuple(Users(max(1, round(share * knee_users))) for share in (BELOW, BEYOND)),
            beyond_knee=True,
            until=UNTIL,
            within_s=WITHIN_S,
            repeats=1,
            seed=case.seed,
        ),
        pause,
        lambda passed_s, line: None,
        lambda: now_s[0],
    )
    try:
        measuring.carry_out()
    except ChildError as error:
        return {"why": str(error)}
    return figures(json.loads(formats.json(measuring.result)))


class Simulated(SeedTrial[Queue]):
    """`count` equal pairs, and a quarter of that of each change. Half of them share a slow minute."""

    name = "ab-simulated"
    about = "A/B runs of simulated queues: equal ones, and with service times that are 5% and 10% longer."
    count, first_seed = 100, 2_000_000

    def __init__(self) -> None:
        self._cases: dict[str, Queue] = {}

    def chosen(self, options: argparse.Namespace) -> Mapping[str, Queue]:
        cases = [
            Queue(seed, slower, slow_minute=not seed % 2)
            for slower in SLOWER
            for seed in range(options.seed, options.seed + (options.count // 4 if slower else options.count))
        ]
        return {f"{each.seed}, {each.slower:.0%} slower": each for each in cases}

    def carry_out(self, case: Queue, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        self._cases[f"{case.seed}, {case.slower:.0%} slower"] = case
        return Judged(figures=self.in_a_process(simulated, case))

    def summary(self, results: Sequence[Ran]) -> dict[str, Any]:
        cases = self._cases
        groups: dict[str, Callable[[Queue], bool]] = {
            "all": lambda case: True,
            "constant or even service times, no slow minute": lambda case: _is_steady(case) and not case.slow_minute,
            "constant or even service times, a slow minute": lambda case: _is_steady(case) and case.slow_minute,
            "exponential or lognormal": lambda case: not _is_steady(case),
        }
        return {
            f"slower_by_{slower:.0%}": {
                name: counts([each for each in results if is_one(cases[each.case]) and cases[each.case].slower == slower], slower)
                for name, is_one in groups.items()
            }
            for slower in SLOWER
        }


class Quiet(Simulated):
    """`count` of each, with constant or even service times, on a machine whose speed varies by 1%."""

    name = "ab-quiet"
    about = "A/B runs of simulated queues on a quiet machine."
    count, first_seed = 14, 2_100_000

    def chosen(self, options: argparse.Namespace) -> Mapping[str, Queue]:
        steady = (seed for seed in itertools.count(options.seed) if _is_steady(Queue(seed, 0.0, slow_minute=False)))
        seeds = list(itertools.islice(steady, options.count))
        cases = [Queue(seed, slower, slow_minute=False, noise=0.01) for slower in SLOWER for seed in seeds]
        return {f"{each.seed}, {each.slower:.0%} slower": each for each in cases}


def _is_steady(case: Queue) -> bool:
    return case.systems[0].service_spread in STEADY


# -- real


@dataclass(frozen=True, slots=True)
class Pair:
    a: KnownService
    slower: float

    @property
    def b(self) -> KnownService:
        return replace(self.a, sleep_s=self.a.sleep_s * (1 + self.slower))


SERVICES = (
    KnownService("gunicorn", 4, 0.100, 0.40, "worker processes"),
    KnownService("go", 8, 0.100, 0.40, "a channel of tokens", "go"),
    KnownService("postgresql-pool", 4, 0.100, 0.50, "connections to PostgreSQL", "psql"),
)


class Real(SeedTrial[Pair]):
    """`count` A/B runs of each pair. The services sleep, so two may run at a time; a result has the load of the machine."""

    name = "ab-real"
    about = "The command on three real services: equal ones, and with service times that are 5% and 10% longer."
    parallel, count = 1, 2

    def chosen(self, options: argparse.Namespace) -> Mapping[str, Pair]:
        return {
            f"{service.name}, {slower:.0%} slower, {number}": Pair(service, slower)
            for number in range(1, options.count + 1)
            for slower in SLOWER
            for service in SERVICES
        }

    def why_not(self, case: Pair, options: argparse.Namespace) -> str:
        return missing(case.a.program) if case.a.program else ""

    def carry_out(self, case: Pair, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        for name, service in (("a", case.a), ("b", case.b)):
            (folder / f"{name}.toml").write_text(service.profile, encoding="utf-8")
        words = ["--a", str(folder / "a.toml"), "--b", str(folder / "b.toml"), "--seed", str(options.seed)]
        outputs = ["--sessions-dir", str(folder / "sessions"), "--json", str(folder / "result.json")]
        marked = MarkedEnvironment()
        done = subprocess.run(
            [PROGRAM, "ab", *words, *outputs],
            cwd=LAB,
            env=marked.environment,
            capture_output=True,
            text=True,
            timeout=2 * WITHIN_S,
            check=False,
        )
        (folder / "stderr").write_text(done.stderr, encoding="utf-8")
        left = marked.processes()
        marked.kill_remaining()
        read = json.loads((folder / "result.json").read_bytes())
        found = {"verdict": read["verdict"], **figures(read), "slower": case.slower}
        return Judged(figures=found, wrong=("process_left",) * bool(left) + ("failed",) * (done.returncode not in (0, 3, 5)))

    def summary(self, results: Sequence[Ran]) -> dict[str, Any]:
        by_slower = {
            f"slower_by_{slower:.0%}": counts([each for each in results if each.figures.get("slower") == slower], slower)
            for slower in SLOWER
        }
        return {**by_slower, "runs": {each.case: each.figures for each in results}}
