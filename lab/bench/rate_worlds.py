"""Accuracy of capacities as offered rates in whole sessions of simulated services of known capacity.

Sessions of rising rates on services that change and on services that do not, ramps, and stationary queues, in which no change
may be marked. A capacity is false if it is more than 15% from every capacity that the service had, and a bound if it
contradicts all of them by as much. For services that refuse or time out below their capacity, lower bounds are not compared.
On a service that does not change, a marked change is wrong if no step of load explains it. Rules were tuned on seeds 0-9,999,
and intervals of ramps on 730,000-730,119; 730,120 and up are for reports.

    python -m lab.bench rate_worlds [--moving 350] [--still 200] [--ramps 160] [--steady 200] [--first-seed 730000] [--page]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from multiprocessing import Pool
from typing import Any

import msgspec
import numpy as np

from capexplorer.model.events import Mark
from lab.simulation.moving import WORLDS, World
from lab.simulation.moving_rates import RAMPED_KINDS, MovingRates, moving_rates, ramped_rates, steady_rate
from lab.trials.record import Conditions, save

from . import rate_worlds_page

FIRST_SEED = 730_000


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    group: str
    """The world, `ramp`, or `steady`."""
    service: str
    seed: int
    truths: tuple[float, ...]
    """Capacities that the service had, 1/s; empty: it has none."""
    most_per_s: float
    """The highest offered rate."""
    kind: str | None = None
    """Kind of the verdict's capacity; None: there is no verdict."""
    per_s: float | None = None
    low_per_s: float | None = None
    high_per_s: float | None = None
    false: bool = False
    changed: bool = False
    """Whether a change was marked that no step of load explains."""
    shifts: tuple[str, ...] = ()
    load: float | None = None
    """Offered rate of a steady queue, divided by its capacity."""


def outcome(chosen: tuple[str, str, int]) -> Outcome:
    """Simulate a session. `chosen`: group, kind of service (for ramps, else empty), seed."""
    group, service, seed = chosen
    if group == "steady":
        return _outcome_of(group, steady_rate(seed))
    if group == "ramp":
        return _outcome_of(group, ramped_rates(_KINDS[service], seed))
    return _outcome_of(group, moving_rates(_WORLDS[group], seed))


_WORLDS: dict[str, World] = {world: world for world in WORLDS}
_KINDS = {str(kind): kind for kind in RAMPED_KINDS}


def _outcome_of(group: str, found: MovingRates) -> Outcome:
    system, verdict = found.system, found.verdict
    capacity = verdict.capacity if verdict is not None else None
    marks = [mark for mark in found.timeline.marks.values() if isinstance(mark, Mark) and mark.state != "retracted"]
    service = "never saturates" if system.linear else "times out" if system.timeout_s else "queues"
    return Outcome(
        group=group,
        service="refuses" if system.queue_limit is not None else service,
        seed=found.seed,
        truths=tuple(round(each, 3) for each in found.capacities if np.isfinite(each)),
        most_per_s=max(found.rates),
        kind=capacity.kind if capacity is not None else None,
        per_s=capacity.per_s if capacity is not None else None,
        low_per_s=capacity.low_per_s if capacity is not None else None,
        high_per_s=capacity.high_per_s if capacity is not None else None,
        false=found.false is not None,
        changed=any(each.inside for each in verdict.regimes) if verdict is not None else False,
        shifts=tuple(mark.id for mark in marks if mark.kind == "shift"),
        load=round(max(found.rates) / found.capacities[0], 3) if group == "steady" else None,
    )


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moving", type=int, default=350, help="sessions of services that change, over eight kinds")
    parser.add_argument("--still", type=int, default=200, help="sessions of services that do not change")
    parser.add_argument("--ramps", type=int, default=160, help="ramps, over four kinds of service")
    parser.add_argument("--steady", type=int, default=200, help="stationary queues at one rate")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="save the result and write its page")
    options = parser.parse_args(list(argv))
    began = Conditions.now()
    started_s = time.perf_counter()
    with Pool(options.processes) as pool:
        outcomes = pool.map(outcome, _chosen(options), chunksize=5)
    command = " ".join(["python -m lab.bench rate_worlds", *argv])
    result = {"command": command, "outcomes": msgspec.to_builtins(outcomes)}
    print(rate_worlds_page.tables(result))
    print(f"\n{time.perf_counter() - started_s:.0f} s")
    if options.page:
        path = save("rate-worlds", result, began)
        rate_worlds_page.PAGE.write_text(rate_worlds_page.page(msgspec.json.decode(path.read_bytes())), encoding="utf-8")


def _chosen(options: Any) -> list[tuple[str, str, int]]:
    first: int = options.first_seed
    kinds = list(_KINDS)
    moving = [str(world) for world in WORLDS[1:]]
    chosen = [(moving[index % len(moving)], "", first + index) for index in range(options.moving)]
    chosen += [("still", "", first + index) for index in range(options.still)]
    chosen += [("ramp", kinds[index % len(kinds)], first + index) for index in range(options.ramps)]
    return [*chosen, *(("steady", "", first + index) for index in range(options.steady))]


if __name__ == "__main__":
    main(sys.argv[1:])
