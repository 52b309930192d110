"""A benchmark of knee finders: the autopilot compared with policies of other tools, on services of known capacity (`make
knees`)."""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from lab.kit.record import RESULTS, Conditions, save
from lab.kit.runs import headless
from lab.kit.servers import sleepers
from lab.trial import Judged, Result, Trial

from . import page
from .exploration import AUTOPILOT, Exploration, autopilot, explored, row, simulated
from .finders import LIMIT_S, NO_KNEE, POLICIES, Answer
from .rates import explored_by_rate
from .services import FIRST_SEED, SERVICES, LiveService, Service, live_world, services, stalling, started
from .tools import TOOLS, run_tool

# -- real services -------------------------------------------------------------------------------------------------------------

PARALLEL = 6
"""Explorations at a time: the services sleep, and six use about half a core."""

LIVE = ("pepe (USL fit)", "aiperf (adaptive_scale)", "vayu (+25%)", "stair-step by hand")
"""Policies that explore real services beside capexplorer and the tools themselves: those of 2026, and two of before."""


def finders_here() -> tuple[str, ...]:
    return AUTOPILOT, *LIVE, *(name for name, path in TOOLS.items() if path.exists())


def explore_all(explorations: int) -> list[Exploration]:
    """One round of all finders after another."""
    rows: list[Exploration] = []
    with ThreadPoolExecutor(PARALLEL) as pool:
        for number in range(explorations):
            wanted = [(service, name, number) for service in SERVICES for name in finders_here()]
            rows += [row for some in pool.map(lambda one: _explored(*one), wanted) for row in some]
    return rows


def _explored(service: LiveService, finder: str, number: int) -> list[Exploration]:
    each, began = service.system, Conditions.now()
    with sleepers(each.workers, each.sleep_s * 1000) as (port, pid), stalling(pid) if service.stalls else nullcontext():
        url = f"http://127.0.0.1:{port}"
        if finder in TOOLS:
            rows = run_tool(finder, service, f"{url}/work", number)
        else:
            rows = [_autopilot(service, url, number) if finder == AUTOPILOT else _policy(service, finder, url, number)]
    ended = Conditions.now()
    steal_s = round(ended.steal_s - began.steal_s, 1)
    for found in rows:
        print(
            f"{number} {found.service}, {found.finder}: {found.load} of {found.knees[0]:g} in {found.seconds:.0f} s,"
            f" load average {ended.load_average_1m}, steal {steal_s} s",
            flush=True,
        )
    return [replace(found, load_average=ended.load_average_1m, steal_s=steal_s) for found in rows]


def _policy(service: LiveService, finder: str, url: str, number: int) -> Exploration:
    with live_world(f"{url}/work", service.system.think_s) as world:
        return explored(finder, POLICIES[finder], world, service.name, number, (service.system.knee_users,))


def _autopilot(service: LiveService, url: str, number: int) -> Exploration:
    with tempfile.TemporaryDirectory() as folder:
        ran = headless(Path(folder), str(service.system.path), "--host", url, "--autopilot", timeout_s=LIMIT_S)
    knees, columns = (service.system.knee_users,), ran.timeline.columns
    steps = [(float(users), float(lasted_s)) for users, lasted_s in zip(columns["users"], columns["duration_s"], strict=True)]
    knee = ran.knee
    answer = NO_KNEE if knee is None else Answer(knee["users"], knee.get("capacity_rps"), knee["users_low"], knee["users_high"])
    return row(AUTOPILOT, service.name, number, knees, answer, ran.timeline.last_s, steps)


# -- results -------------------------------------------------------------------------------------------------------------------

FIELDS = Exploration.__struct_fields__
KNEES = ("knees-simulated", "knees-rates", "knees-live")
"""The names of the results, one of each part."""


def keep(name: str, rows: Sequence[Exploration], began: Conditions, command: str) -> None:
    """Replace `NAME.csv`, a row for each exploration, and `NAME.json`, the commit and machine on which they were made."""
    with (RESULTS / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for row in sorted(rows, key=lambda row: (row.service, row.seed, row.finder)):
            writer.writerow([_text(getattr(row, field)) for field in FIELDS])
    print(save(name, {"command": command, "explorations": len(rows)}, began))


def kept(name: str) -> list[Exploration]:
    """The rows of `NAME.csv`; empty if the file does not exist."""
    if not (path := RESULTS / f"{name}.csv").exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{**fields, "knees": fields["knees"].split()} for fields in csv.DictReader(file)]
    known = [{name: value for name, value in fields.items() if value != ""} for fields in rows]
    return [msgspec.convert({"load": None, **fields}, Exploration, strict=False) for fields in known]


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(_text(each) for each in value)
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


# -- the corpus ----------------------------------------------------------------------------------------------------------------

CORPUS = RESULTS / "knees-corpus.jsonl"
"""Ladders of simulated services with their true knees, second by second, for other knee finders; lab/results/README.md describes
its fields."""
SEEDS = 6
RUNGS = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.1, 1.3, 1.6, 2.0, 2.2)
"""User counts of the levels as multiples of N*, or of WITHOUT_KNEE_USERS for services without a knee."""
WITHOUT_KNEE_USERS = 40.0
LEVEL_S = 15


def ladder(service: Service) -> dict[str, Any]:
    """One service under all levels, from low to high load."""
    trouble = service.system.trouble
    at_s, until_s = (round(each, 3) if math.isfinite(each) else None for each in (trouble.at_s, trouble.until_s))
    return {
        "service": service.name,
        "seed": service.seed,
        "knees": [round(knee, 3) for knee in service.knees],
        "changes_at_s": at_s,
        "changes_until_s": until_s,
        "levels": list(_levels(service)),
    }


def _levels(service: Service) -> Iterator[dict[str, Any]]:
    run, top = started(service), service.knees[0] if service.knees else WITHOUT_KNEE_USERS
    for rung in RUNGS:
        users, started_s, first = max(1, round(rung * top)), run.now_s, len(run.ended_s)
        run.to(users)
        run.until(started_s + LEVEL_S)
        second = np.array(run.ended_s[first:]).astype(int) - int(started_s)
        inside = (second >= 0) & (second < LEVEL_S)
        ok = np.array(run.ok[first:], bool)
        took_ms = np.array(run.response_s[first:]) * 1000
        good, bad = (np.bincount(second[inside & each], minlength=LEVEL_S) for each in (ok, ~ok))
        sums_ms = np.bincount(second[inside & ok], weights=took_ms[inside & ok], minlength=LEVEL_S)
        yield {
            "users": users,
            "started_s": round(started_s),
            "goodput": good.tolist(),
            "failures": bad.tolist(),
            "mean_ms": [round(total / count, 1) if count else None for total, count in zip(sums_ms, good, strict=True)],
        }


# -- the trial -----------------------------------------------------------------------------------------------------------------


class Knees(Trial[str]):
    """Every finder on simulated and on real services; the results of a part replace those that were kept."""

    name = "knees"
    about = "Compares knee finders on services of known capacity."
    cases = {"simulated": "simulated", "rates": "rates", "live": "live"}
    attempts = 1

    def add_cases(self, parser: argparse.ArgumentParser) -> None:
        super().add_cases(parser)
        parser.set_defaults(unsaved=True)
        parser.add_argument("--seeds", type=int, default=30, help="random services of each kind")
        parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="seed of the first service of each kind")
        parser.add_argument("--explorations", type=int, default=5, help="of each real service by each finder")

    def why_not(self, case: str, options: argparse.Namespace) -> str:
        return "" if find_spec("kneed") else "kneed is not installed: `make knees` installs lab/bench/requirements.lock first"

    def carry_out(self, case: str, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        began, command = Conditions.now(), f"make knees PARTS={case}"
        if case == "live":
            rows = explore_all(options.explorations)
            command += f" EXPLORATIONS={options.explorations}"
        else:
            if case == "simulated":
                CORPUS.write_text("".join(json.dumps(ladder(each)) + "\n" for each in services(SEEDS)), encoding="utf-8")
            explore = each_finder if case == "simulated" else explored_by_rate
            with ProcessPoolExecutor(os.cpu_count()) as pool:
                rows = [row for some in pool.map(explore, services(options.seeds, options.first_seed)) for row in some]
            command += f" SEEDS={options.seeds} FIRST_SEED={options.first_seed}"
        keep(f"knees-{case}", rows, began, command)
        return Judged(figures={"explorations": len(rows)})

    def finish(self, results: Sequence[Result], options: argparse.Namespace, began: Conditions) -> None:
        self.write_page()

    def write_page(self) -> None:
        page.write(*map(kept, KNEES))


def each_finder(service: Service) -> list[Exploration]:
    return [autopilot(service), *(simulated(name, policy, service) for name, policy in POLICIES.items())]
