"""Sweeps of real services whose capacity with each setting is known by construction (`python -m lab.trials sweeps`).

k requests at a time, each for s: k / s. Of the Go service at most so many connections are in use, so that further workers bring
nothing. No threshold was tuned on them.
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.kit.programs import missing
from lab.kit.runs import LAB, Ran, started_run
from lab.trial import Judged, Trial

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
