"""`make knees`: every finder on simulated and on real services; results, corpus, docs/benchmark-knees.md, its picture.

python -m lab.trials.knees [simulated|live|page]... [--seeds N] [--first-seed N] [--repeats N] [--parallel N]
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec

from lab.trials.record import Conditions

from . import corpus, live_services, page, results
from .exploration import Exploration, autopilot, simulated
from .policies import POLICIES
from .simulated import FIRST_SEED, Service, services

PARTS = ("simulated", "live", "page")


def main() -> int:
    options = _options()
    if find_spec("kneed") is None:
        print("knees: kneed is missing; install it with: pip install -r lab/bench/requirements.lock", file=sys.stderr)
        return 2
    parts = options.parts or PARTS
    if "simulated" in parts:
        print(corpus.write())
        began = Conditions.now()
        with ProcessPoolExecutor(options.parallel or os.cpu_count()) as pool:
            rows = [row for some in pool.map(each_finder, services(options.seeds, options.first_seed)) for row in some]
        command = f"python -m lab.trials.knees simulated --seeds {options.seeds} --first-seed {options.first_seed}"
        print(results.write("knees-simulated", rows, began, command))
    if "live" in parts:
        began = Conditions.now()
        parallel = options.parallel or live_services.PARALLEL
        rows = live_services.explore_all(options.repeats, parallel)
        command = f"python -m lab.trials.knees live --repeats {options.repeats} --parallel {parallel}"
        print(results.write("knees-live", rows, began, command))
    print(page.write())
    return 0


def each_finder(service: Service) -> list[Exploration]:
    """All finders on one simulated service."""
    return [autopilot(service), *(simulated(name, policy, service) for name, policy in POLICIES.items())]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.trials.knees", description=__doc__.splitlines()[0])
    parser.add_argument(
        "parts",
        nargs="*",
        choices=(*PARTS, []),
        help="simulated services, real ones, the page; all of these unless some are named",
    )
    parser.add_argument("--seeds", type=int, default=30, help="random services of each kind")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="seed of the first service of each kind")
    parser.add_argument("--repeats", type=int, default=3, help="explorations of each real service by each finder")
    parser.add_argument(
        "--parallel",
        type=int,
        help=f"explorations at a time; by default one a core with simulated services, {live_services.PARALLEL} with real ones",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
