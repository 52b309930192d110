"""Accuracy of capacities as offered rates, on simulated services of known capacity: levels of 20 s, and the autopilot.

M/M/1, M/D/1 and M/M/4 queues without bound, services that shed load at 20 or 8 requests, clients with a timeout, a machine
whose speed varies by 8%, a service that never saturates, and pools with too few users. Thresholds were tuned on seeds below
200; 500,000 and up were checked once; these are 510,000 and up. Mean waiting times are compared with Erlang C and
Pollaczek-Khinchine.

    python -m lab.bench rate_capacity [--climbs 100] [--explorations 20] [--first-seed 510000]
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capexplorer.analysis.rates.rate_capacity import judge
from capexplorer.model.rate_verdicts import RateCapacity
from lab.simulation.open_queue import POOL_MOST, OpenRun
from lab.simulation.queues import System
from lab.simulation.rate_ladder import climb, mean_wait_s, theory_wait_s
from lab.simulation.virtual_rates import VirtualRates

FIRST_SEED = 510_000
CAPACITY = 100.0

UP_TO = tuple(20.0 * step for step in range(1, 9))
BELOW = (10.0, 25.0, 40.0, 55.0, 70.0, 80.0)
"""Rates below the capacity, which is 100/s for all services."""


@dataclass(frozen=True)
class Service:
    name: str
    system: System
    max_users: int = POOL_MOST
    saturates: bool = True


SERVICES = (
    Service("M/M/1", System(1 / CAPACITY, 0)),
    Service("M/D/1", System(1 / CAPACITY, 0, service_spread="constant")),
    Service("M/M/4", System(4 / CAPACITY, 0, servers=4)),
    Service("M/M/1, speed varies by 8%", System(1 / CAPACITY, 0, noise=0.08)),
    Service("M/M/1, sheds beyond 20", System(1 / CAPACITY, 0, queue_limit=20)),
    Service("M/M/4, sheds beyond 8", System(4 / CAPACITY, 0, servers=4, queue_limit=8)),
    Service("M/M/1, clients give up after 1 s", System(1 / CAPACITY, 0, timeout_s=1.0)),
    Service("never saturates", System(0.05, 0, linear=True), saturates=False),
    Service("never saturates, pool of 5 users", System(0.05, 0, linear=True), max_users=5, saturates=False),
)
WAITING = SERVICES[:3]


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--climbs", type=int, default=100, help="ladders of each service")
    parser.add_argument("--explorations", type=int, default=20, help="of each service by the autopilot")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    options = parser.parse_args(arguments)
    waiting(options.first_seed)
    climbs(options.first_seed, options.climbs)
    explorations(options.first_seed, options.explorations)


def waiting(first_seed: int) -> None:
    print("\nmean waiting time divided by theory, 20,000 s\n\n| service | 50% | 70% | 85% |\n| --- | ---: | ---: | ---: |")
    for service in WAITING:
        ratios = []
        for load in (0.5, 0.7, 0.85):
            run = OpenRun(service.system, np.random.default_rng([first_seed, 1]))
            run.offer(load * CAPACITY)
            run.until(200)
            ratios.append(mean_wait_s(run.until(20_200), service.system.service_s) / theory_wait_s(load, service.system))
        print(f"| {service.name} | " + " | ".join(f"{ratio:.3f}" for ratio in ratios) + " |")


def climbs(first_seed: int, count: int) -> None:
    print(f"\n{count} ladders each, 20 to 160/s, levels of 20 s; and as many up to 80/s, in which no capacity may be found\n")
    print("| service | within 5% | median error | interval holds it | limit | kind of overload | capacity found below it |")
    print("| --- | ---: | ---: | ---: | --- | --- | ---: |")
    for service in SERVICES:
        found = [_judged(service, [first_seed + seed, 2], UP_TO) for seed in range(count)]
        below = [_judged(service, [first_seed + seed, 3], BELOW) for seed in range(count)]
        false = sum(each is not None and each.kind in ("capacity", "at_or_below") for each in below)
        print(f"| {service.name} | {_row(found, service)} | {false / count:.0%} |")


def explorations(first_seed: int, count: int) -> None:
    print(f"\nautopilot from 10/s, {count} explorations each, 900 s at most\n")
    print("| service | within 5% | within 10% | interval holds it | median s | most s | most offered |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for service in SERVICES[:7]:
        errors, covered, lasted_s, most_per_s = [], 0, [], 0.0
        for seed in range(count):
            session = VirtualRates(OpenRun(service.system, np.random.default_rng([first_seed + seed, 4])))
            session.explore(900)
            session.end()
            verdict = session.timeline.verdict
            found = verdict.rate_capacity if verdict is not None else None
            errors.append(abs(found.per_s / CAPACITY - 1) if found is not None else np.inf)
            covered += found is not None and _holds(found)
            lasted_s.append(session.now_s)
            most_per_s = max(most_per_s, *(level.offered_per_s or 0.0 for level in session.timeline.levels))
        shares = [f"{np.mean(np.array(errors) <= bound):.0%}" for bound in (0.05, 0.10)]
        cells = [*shares, f"{covered / count:.0%}", f"{np.median(lasted_s):.0f}", f"{max(lasted_s):.0f}", f"{most_per_s:g}/s"]
        print(f"| {service.name} | {' | '.join(cells)} |")


def _judged(service: Service, seed: Sequence[int], rates: Sequence[float]) -> RateCapacity | None:
    return judge(climb(OpenRun(service.system, np.random.default_rng(seed), max_users=service.max_users), rates, 20))


def _row(found: Sequence[RateCapacity | None], service: Service) -> str:
    """Cells of a service, except the first and the last. For a service that never saturates: how often a capacity was found,
    which is wrong."""
    known = [each for each in found if each is not None and each.kind == "capacity"]
    limits = Counter(each.limit for each in found if each is not None)
    beyond = Counter(each.overload.kind for each in known if each.overload is not None)
    words = [", ".join(f"{name} {count}" for name, count in counts.most_common()) for counts in (limits, beyond)]
    if not service.saturates:
        return f"– | {len(known)} marks | – | {words[0]} | {words[1] or '–'}"
    errors = np.array([abs(each.per_s / CAPACITY - 1) for each in known] + [np.inf] * (len(found) - len(known)))
    covered = sum(_holds(each) for each in known) / len(found)
    return f"{np.mean(errors <= 0.05):.0%} | {np.median(errors):.1%} | {covered:.0%} | {words[0]} | {words[1]}"


def _holds(found: RateCapacity) -> bool:
    return (found.low_per_s or 0.0) <= CAPACITY <= (found.high_per_s or np.inf)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
