"""How often experiments at the knee name the right cause, a wrong one, or none, of simulated services.

`python -m lab.population.explained --count 20 [--first 0] [--family lock pool ...] [--params] [--save FILE]`: the autopilot
explores each service and makes its experiments. Seeds as of the population: tuning below 10,000, validation from 10,000 on.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from capexplorer.model.experiments import Explanation, LimitCause
from lab.simulation.queues import Spread
from lab.simulation.stations import Endpoint, Station, StationRun
from lab.simulation.virtual import VirtualRun

EXPLORED_S = 900.0

Random = np.random.Generator


class Service(NamedTuple):
    endpoints: list[Endpoint]
    station: Station
    think_s: float
    spread: Spread


# -- families: what limits the service, of all endpoints or of one


def _uniform(rng: Random, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def _log(rng: Random, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _endpoints(rng: Random, hold_s: float, *, least: int = 1, one_holds: bool = False) -> list[Endpoint]:
    """One to three endpoints with holds of `hold_s` on average, that differ up to sixfold, and a rest of up to twice as long;
    only the first one needs the station if `one_holds`."""
    count = int(rng.integers(least, 4))
    weights = [_uniform(rng, 0.5, 2.0) for _ in range(count)]
    factors = [1.0 if at == 0 else 0.0 if one_holds else _log(rng, 1 / 6, 1.0) for at in range(count)]
    mean = sum(w * f for w, f in zip(weights, factors, strict=True)) / sum(weights)
    holds = [hold_s * factor / mean for factor in factors]
    rest = _uniform(rng, 0.0, 2.0)
    return [Endpoint(f"/{at}", weights[at], holds[at], max(0.001, rest * (holds[at] or hold_s))) for at in range(count)]


def _held(rng: Random, station: Station, *, one_holds: bool = False) -> Service:
    """A lock or a pool, of 15 to 200 requests a second, with a knee at 3 users or more."""
    per_s = _log(rng, 15, 200)
    endpoints = _endpoints(rng, station.slots / per_s, least=2 if one_holds else 1, one_holds=one_holds)
    return Service(endpoints, station, _think_s(rng, per_s, endpoints), _spread(rng))


def _think_s(rng: Random, per_s: float, endpoints: list[Endpoint]) -> float:
    response_s = sum(each.weight * (each.hold_s + each.other_s) for each in endpoints) / sum(each.weight for each in endpoints)
    knee = max(_log(rng, 4, 80), 1.3 * per_s * response_s)
    return knee / per_s - response_s


def _spread(rng: Random) -> Spread:
    spreads: tuple[Spread, ...] = ("constant", "uniform", "exponential", "lognormal")
    return spreads[int(rng.integers(4))]


def lock(rng: Random) -> Service:
    return _held(rng, Station("lock"))


def route_lock(rng: Random) -> Service:
    return _held(rng, Station("lock"), one_holds=True)


def growing_lock(rng: Random) -> Service:
    """Holds are up to three times as long while many wait, as of a lock whose waiters disturb its holder."""
    return _held(rng, Station("lock", growth=_uniform(rng, 0.3, 2.0)))


def after_reply(rng: Random) -> Service:
    """Requests are answered once they have the lock, and go on holding it: responses do not show the holds."""
    return _held(rng, Station("lock", after_reply=True))


def pool_after_reply(rng: Random) -> Service:
    return _held(rng, Station("pool", int(rng.integers(2, 7)), after_reply=True))


def pool(rng: Random) -> Service:
    return _held(rng, Station("pool", int(rng.integers(2, 13))))


def pair(rng: Random) -> Service:
    return _held(rng, Station("pool", 2))


def route_pool(rng: Random) -> Service:
    return _held(rng, Station("pool", int(rng.integers(2, 13))), one_holds=True)


def growing_pool(rng: Random) -> Service:
    return _held(rng, Station("pool", int(rng.integers(2, 7)), growth=_uniform(rng, 0.3, 2.0)))


def changing_pool(rng: Random) -> Service:
    """The service becomes faster or slower by 10 to 50% at some time."""
    speed = _uniform(rng, 1.1, 1.5) ** (1 if rng.random() < 0.5 else -1)
    return _held(rng, Station("pool", int(rng.integers(2, 7)), changes_s=_uniform(rng, 60, 250), speed=speed))


def rate_limit(rng: Random) -> Service:
    return _limited(rng, one=False)


def route_limit(rng: Random) -> Service:
    return _limited(rng, one=True)


def _limited(rng: Random, *, one: bool) -> Service:
    """Delays what comes faster than 15 to 200 a second; responses at low load take 0.1 to 6 times as long as its gaps."""
    per_s = _log(rng, 15, 200)
    count = int(rng.integers(2 if one else 1, 4))
    endpoints = [
        Endpoint(f"/{at}", _uniform(rng, 0.5, 2.0), 0.0 if one and at else 1.0, _log(rng, 0.1, 6.0) / per_s)
        for at in range(count)
    ]
    station = Station("rate_limit", per_s=per_s, burst=max(1.0, _uniform(rng, 0.0, 0.3) * per_s))
    share = endpoints[0].weight / sum(each.weight for each in endpoints) if one else 1.0
    free = [each._replace(hold_s=0.0) for each in endpoints]
    return Service(endpoints, station, _think_s(rng, per_s / share, free), _spread(rng))


TRUE: dict[Callable[[Random], Service], LimitCause] = {
    lock: "lock",
    route_lock: "lock",
    growing_lock: "lock",
    after_reply: "lock",
    pool_after_reply: "pool",
    pool: "pool",
    pair: "pool",
    route_pool: "pool",
    growing_pool: "pool",
    changing_pool: "pool",
    rate_limit: "rate_limit",
    route_limit: "rate_limit",
}


# -- how they are judged


class Judged(NamedTuple):
    family: str
    seed: int
    true: LimitCause
    confirmed: LimitCause | None
    left: tuple[LimitCause, ...]
    tested: bool
    """Whether there was a knee that experiments could explain."""
    wrong_reasons: tuple[str, ...]
    """Why the true cause was ruled out."""
    seconds: float
    """That the experiments took."""

    @property
    def outcome(self) -> str:
        if not self.tested:
            return "no experiment"
        if self.confirmed is not None:
            return "right" if self.confirmed == self.true else "WRONG"
        return "unknown" if self.true in self.left else "true cause ruled out"


def judged(make: Callable[[Random], Service], seed: int, *, has_params: bool) -> Judged:
    """`has_params`: whether the target has the parameters `pool`, which sizes the pool if there is one, and `threads`, which
    changes nothing."""
    rng = np.random.default_rng([seed, list(TRUE).index(make), 34])
    service = make(rng)
    running = StationRun(service.endpoints, service.station, service.think_s, service.spread, rng)
    params = {"pool": service.station.slots if service.station.kind == "pool" else int(rng.integers(2, 13)), "threads": 16}
    session = VirtualRun(running, endpoints=[each.name for each in service.endpoints], params=params if has_params else {})
    session.explore(EXPLORED_S)
    session.end()
    known = session.timeline.explained.get(0)
    found = known.explanation if known is not None else Explanation(users=0, causes=())
    levels = [each for each in session.timeline.levels if each.opened.experiment is not None]
    seconds = sum((each.ended_s or each.started_s) - each.opened.t_s for each in levels)
    wrong = tuple(sorted({each.reason for each in found.inferences if TRUE[make] in each.excludes}))
    return Judged(make.__name__, seed, TRUE[make], found.confirmed, found.left, known is not None, wrong, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--family", nargs="*", default=[])
    parser.add_argument("--save", type=Path)
    parser.add_argument("--params", action="store_true", help="targets have parameters")
    options = parser.parse_args()
    families = [make for make in TRUE if not options.family or make.__name__ in options.family]
    for line in _report(families, range(options.first, options.first + options.count), options.save, options.params):
        print(line, flush=True)


def _report(families: list[Callable[[Random], Service]], seeds: range, save: Path | None, has_params: bool) -> Iterator[str]:
    total = Counter[str]()
    for make in families:
        found = [judged(make, seed, has_params=has_params) for seed in seeds]
        if save is not None:
            with save.open("a") as file:
                file.writelines(json.dumps(each._asdict()) + "\n" for each in found)
        outcomes = Counter(each.outcome for each in found)
        total += outcomes
        seconds = sorted(each.seconds for each in found if each.tested)
        reasons = Counter(reason for each in found for reason in each.wrong_reasons)
        lasts = f", {seconds[len(seconds) // 2]:.0f} s" if seconds else ""
        yield f"{make.__name__:14} {dict(outcomes)}{lasts}{f', ruled out by {dict(reasons)}' if reasons else ''}"
    yield f"{'all':14} {dict(total)}"


if __name__ == "__main__":
    main()
