"""Sweeps whose capacity with each setting is known: of simulated services, and of real ones by construction.

`python -m lab.trials sweeps-simulated --save`, `python -m lab.trials sweeps`. Real: k requests at a time, each for s: k / s. Of
the Go service at most so many connections are in use, so that further workers bring nothing. No threshold was tuned on them, nor
on the seeds from FIRST_SEED on.
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from capexplorer.model.events import Command, HostFacts, Sweep, Target
from capexplorer.model.sweep import Params
from capexplorer.model.timeline import Timeline
from capexplorer.report.sweep.findings import Row, compared, findings
from lab.kit.programs import missing
from lab.kit.runs import LAB, Ran, started_run
from lab.simulation.ladders import random_system
from lab.simulation.queues import System, run
from lab.simulation.virtual import VirtualRun
from lab.trial import Judged, Result, SeedTrial, Trial, seeds

TIMEOUT_S = 1_500.0
NEAR = 0.1
"""A capacity that is farther from the truth is wrong; so is it to call a setting enough that has less than 1 minus this."""

SURE = 0.2
"""A setting that is lower by more than this must be called lower."""


@dataclass(frozen=True, slots=True)
class SweptService:
    """A service with a capacity for each value of the parameter that is swept."""

    profile: str
    parameter: str
    capacities_rps: Mapping[int, float]
    program: str = ""
    """What it needs beside Python's packages."""

    @property
    def setting(self) -> str:
        return f"{self.parameter}={','.join(map(str, self.capacities_rps))}"


def _pool(service: str, **params: float) -> str:
    named = "".join(f", {name} = {value}" for name, value in params.items())
    return (
        f'target = "pool"\nparams = {{ service = "{service}", sleep_ms = 100.0{named} }}\n'
        '[users]\nwait_s = { poisson = 2.5 }\n[[users.task]]\nname = "/work"\n[guards]\nmax_users = 300\n'
    )


THREADS = 'target = "mixed"\n[users]\nwait_s = { poisson = 2.5 }\n[[users.task]]\nname = "/io"\n[guards]\nmax_users = 300\n'
"""Waitress with a pool of threads; a request sleeps for 200 ms."""

SERVICES = {
    "go": SweptService(_pool("go", connections=4), "workers", {2: 20.0, 4: 40.0, 8: 40.0, 16: 40.0}, "go"),
    "postgresql-pool": SweptService(_pool("postgresql-pool"), "workers", {2: 20.0, 4: 40.0, 8: 80.0}, "psql"),
    "threads": SweptService(THREADS, "threads", {2: 10.0, 4: 20.0, 8: 40.0}),
}


def judge(service: SweptService, settings: Sequence[dict[str, Any]]) -> Judged:
    """`settings`: those of the key `sweep` of the JSON export."""
    absent, problems = list[str](), list[str]()
    best = max(service.capacities_rps.values())
    for each in settings:
        value = each["params"][service.parameter]
        true, found = service.capacities_rps[value], each["capacity_per_s"]
        share, named = true / best, f"{service.parameter}={value}"
        if found is None or each["at_least"]:
            absent.append(f"capacity of {named}")
        elif abs(found / true - 1) > NEAR:
            problems.append(f"capacity of {named}")
        if each["compared"]:
            problems += [f"{named} {what}" for what in _wrong(each, share)]
            absent += [f"{named} is lower"] * (share < 1 - SURE and not each["lower_than_best"])
    return Judged(missing=tuple(absent), wrong=tuple(problems))


def _wrong(each: Mapping[str, Any], share: float) -> Iterator[str]:
    """What is said of a setting and is not true. `share`: its true capacity, of the best one."""
    if each["lower_than_best"] and share == 1:
        yield "is not lower"
    if each["enough"] and share < 1 - NEAR:
        yield "is not enough"


class Sweeps(Trial[SweptService]):
    """One sweep of each."""

    name = "sweeps"
    about = "Sweeps over a parameter of three services of known capacity."
    cases = SERVICES

    def why_not(self, case: SweptService, options: argparse.Namespace) -> str:
        if importlib.util.find_spec("uvicorn") is None:
            return "uvicorn is not installed: `make services` installs lab/trials/services.lock first"
        return missing(case.program) if case.program else ""

    def carry_out(self, case: SweptService, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir(parents=True)
        (profile := folder / "swept.toml").write_text(case.profile, encoding="utf-8")
        with started_run(folder, str(profile), "--set", case.setting, subcommand="sweep", cwd=LAB) as run:
            try:
                code: int | None = run.process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                run.process.send_signal(signal.SIGINT)
                code = run.process.wait(60)
        ran = Ran.of(run.sessions, code, run.stderr)
        swept = ran.summary["sweep"]
        found = judge(case, swept["settings"])
        figures = {
            "sentence": swept["sentence"],
            "explored_s": ran.timeline.last_s,
            "exit_code": code,
            "settings": swept["settings"],
        }
        return Judged(missing=found.missing, wrong=found.wrong, figures=figures)


# -- simulated

FIRST_SEED = 2_200_000
EXPLORED_S = 900
SHARES = {1: 0.5, 2: 0.8, 3: 0.9, 4: 1.0, 8: 1.0}
"""The capacity with each setting, as a share of that of a random queue."""


def swept(seed: int) -> list[dict[str, Any]]:
    """What a sweep says of each setting of one service, with the true shares."""
    rng = np.random.default_rng([seed, 77])
    system, truth = random_system("queue", rng)
    assert truth.capacity_rps is not None
    rows = [_explored(replace(system, service_s=system.service_s / share), number, rng) for number, share in SHARES.items()]
    found = compared(rows, finds_rate=False)
    best = SHARES[int(found.best.params["workers"])] if found.best is not None else 1.0
    return [
        {
            "share": SHARES[int(row.params["workers"])] / best,
            "known": row.is_known,
            "best": row is found.best,
            "lower": row.is_lower,
            "enough": row.is_enough,
            "off": row.per_s / (truth.capacity_rps * SHARES[int(row.params["workers"])]) - 1,
        }
        for row in found.rows
    ]


def _explored(system: System, workers: int, rng: np.random.Generator) -> Row:
    """One setting, as a sweep of it alone."""
    explored = VirtualRun(run(system, rng))
    explored.explore(EXPLORED_S)
    explored.end()
    header, *events = explored.sink.take()
    same, params = msgspec.structs.replace(header, host=HostFacts(name="simulated", cpus=1)), Params(workers=workers)
    begin = (Sweep(t_s=0.0, settings=(params,)), Target(t_s=0.0, state="starting", params=params))
    ended = Command(t_s=explored.now_s, name="autopilot", by="autopilot", args={"on": False, "end": "done"})
    found = findings(Timeline([same, *begin, *events, ended]))
    assert found is not None
    return found.rows[0]


class SimulatedSweeps(SeedTrial[int]):
    """Random queues. Wrong is to call a setting lower that is not, or enough although the best one has 15% more."""

    name = "sweeps-simulated"
    about = "Sweeps over five settings of simulated services: how often what they say is wrong."
    count = 60
    first_seed = FIRST_SEED

    def chosen(self, options: argparse.Namespace) -> Mapping[str, int]:
        return seeds(options)

    def carry_out(self, case: int, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        settings = self.in_a_process(swept, case)
        wrong = [f"{each['share']:.2f} is {what}" for each in settings for what in _false(each)]
        return Judged(wrong=tuple(wrong), figures={"settings": settings})

    def summary(self, results: Sequence[Result]) -> dict[str, Any]:
        counts: dict[str, Counter[str]] = {}
        for each in (each for result in results for each in result.figures.get("settings", ())):
            of_share = counts.setdefault(f"{each['share']:.2f}", Counter())
            if each["known"] and not each["best"]:
                of_share.update({"settings": 1, "lower": each["lower"], "enough": each["enough"]})
        off = [abs(each["off"]) for result in results for each in result.figures.get("settings", ()) if each["known"]]
        return {
            "by_share_of_the_best": {share: dict(found) for share, found in sorted(counts.items())},
            "median_error": float(np.median(off)) if off else None,
        }


def _false(each: Mapping[str, Any]) -> Iterator[str]:
    if each["lower"] and each["share"] >= 1:
        yield "called lower"
    if each["enough"] and 1 / each["share"] > 1.15:
        yield "called enough"
