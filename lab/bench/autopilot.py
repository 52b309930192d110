"""The autopilot and two plain policies on the same simulated systems, whose knees are known.

Closed queues of six kinds, explored from one user on, second by second, by the whole product (`virtual_run`): only load and
readings are simulated. Policies were tuned on seeds 0-399, and on linear systems of 600,000-600,059; 660,000-660,039 were checked
once; these are 670,000 and up. Times are simulated: `to knee` is the end of the search (a knee was found, or the autopilot gave
up), `to end` includes the verification. `verified`: share of verified knees among those within 25%; `wrongly`: number of verified
knees among all others.

    python -m lab.bench autopilot [--systems 240] [--first-seed 670000]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from capexplorer.model.verdicts import KneeVerdict
from lab.simulation.ladders import KINDS, Kind
from lab.simulation.policy_runs import Policy, PolicyRun, fixed_steps, linear_system, run_autopilot, system_of

from .shares import share

FIRST_SEED = 670_000

COLUMNS = ("systems", "knee", "in 25%", "in 15%", "median", "covered", "limit", "to knee s", "to end s", "most/N*", "levels",
           "verified", "wrongly")  # fmt: skip


def row(name: str, runs: Sequence[PolicyRun]) -> None:
    knees = [_knee(run) for run in runs]
    errors = np.array(
        [
            abs((knee.users or 0.0) / (run.truth.knee_users or 1.0) - 1) if knee is not None else np.inf
            for run, knee in zip(runs, knees, strict=True)
        ]
    )
    found = [(run, knee) for run, knee in zip(runs, knees, strict=True) if knee is not None]
    cells = (
        str(len(runs)),
        share(knee is not None for knee in knees),
        share(errors <= 0.25),
        share(errors <= 0.15),
        f"{np.median(errors):.1%}",
        share((v.users_low or 0.0) <= (f.truth.knee_users or 0.0) <= (v.users_high or np.inf) for f, v in found),
        share(v.limit == f.truth.limit for f, v in found),
        spread([run.found_s for run in runs], "{:.0f}"),
        spread([run.ended_s for run in runs], "{:.0f}"),
        spread([run.most_users / (run.truth.knee_users or 1.0) for run in runs], "{:.2f}"),
        f"{np.median([len(run.steps) for run in runs]):.0f}",
        share(not knee.provisional for knee, error in zip(knees, errors, strict=True) if knee is not None and error <= 0.25),
        f"{sum(not knee.provisional for knee, error in zip(knees, errors, strict=True) if knee is not None and error > 0.25)} of "
        f"{sum(knee is not None and error > 0.25 for knee, error in zip(knees, errors, strict=True))}",
    )
    print(f"  {name:26}" + "".join(f"{cell:>11}" for cell in cells), flush=True)


def spread(values: Sequence[float], form: str) -> str:
    """`MEDIAN/90TH PERCENTILE`, each formatted by `form`."""
    return f"{form.format(np.median(values))}/{form.format(np.quantile(values, 0.9))}"


def _knee(run: PolicyRun) -> KneeVerdict | None:
    knee = run.verdict.knee
    return knee if knee is not None and knee.kind == "knee" else None


def explored(policy: Policy, chosen: Sequence[tuple[Kind, int]]) -> list[PolicyRun]:
    return [policy(*system_of(kind, seed)) for kind, seed in chosen]


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=240, help="number of systems, over six kinds")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    options = parser.parse_args(list(argv))
    seeds = range(options.first_seed, options.first_seed + options.systems // len(KINDS))
    chosen = [(kind, seed) for seed in seeds for kind in KINDS]
    print(f"  {len(chosen)} systems of {len(KINDS)} kinds, seeds {seeds.start}-{seeds.stop - 1}; median/90th percentile\n")
    print(f"  {'':26}" + "".join(f"{name:>11}" for name in COLUMNS))
    began = time.perf_counter()
    explorations = explored(run_autopilot, chosen)
    spent_s = time.perf_counter() - began
    row("autopilot", explorations)
    policies: tuple[tuple[str, Callable[[], Policy]], ...] = (
        ("+5 users, 20 s", lambda: fixed_steps(add=5, times=1.0, level_s=20)),
        ("double, 8 s", lambda: fixed_steps(add=0, times=2.0, level_s=8)),
    )
    for name, policy in policies:
        row(name, explored(policy(), chosen))
    print()
    for wanted in KINDS:
        row(f"autopilot, {wanted}", [run for (kind, _), run in zip(chosen, explorations, strict=True) if kind == wanted])
    linear(range(options.first_seed, options.first_seed + options.systems // 4))
    print(f"  an exploration is simulated in {spent_s / len(chosen) * 1000:.0f} ms")


def linear(seeds: range) -> None:
    """Print the results on systems that never saturate, with at most 400 users."""
    runs = [run_autopilot(*linear_system(seed), max_users=400) for seed in seeds]
    kinds = Counter(run.verdict.knee.kind if run.verdict.knee is not None else "none" for run in runs)
    endings = Counter(run.ending or "none" for run in runs)
    times = spread([run.ended_s for run in runs], "{:.0f}")
    print(f"\n  linear, to 400 users: {len(runs)} systems, verdicts {dict(kinds)}, endings {dict(endings)}, {times} s")


if __name__ == "__main__":
    main(sys.argv[1:])
