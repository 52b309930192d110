"""Capacities as offered rates, on simulated services of known capacity (lab/simulation)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from statistics import median
from typing import Any

import msgspec
import numpy as np

from capexplorer.analysis.knee.rate_capacity import judge_rates
from capexplorer.model.events import Mark
from capexplorer.model.verdicts import RateCapacity
from lab.kit.record import RESULTS, Conditions, save
from lab.kit.runs import ROOT
from lab.kit.tables import filled, share, table
from lab.simulation.moving import RAMPED_KINDS, WORLDS, Moving, World, moving_rates, ramped_rates, steady_rate
from lab.simulation.open_queue import POOL_MOST, OpenRun, climb, mean_wait_s, theory_wait_s
from lab.simulation.queues import System
from lab.simulation.virtual import VirtualRates

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


def rate_capacity(climbs: int = 100, explorations: int = 20, first_seed: int = 510_000) -> None:
    """Accuracy of capacities as offered rates, on simulated services of known capacity: levels of 20 s, and the autopilot.

    M/M/1, M/D/1 and M/M/4 queues without bound, services that shed load at 20 or 8 requests, clients with a timeout, a machine
    whose speed varies by 8%, a service that never saturates, and pools with too few users. Thresholds were tuned on seeds below
    200; 500,000 and up were checked once; these are 510,000 and up. Mean waiting times are compared with Erlang C and
    Pollaczek-Khinchine.
    """
    print("\nmean waiting time divided by theory, 20,000 s\n")
    print(table(("service", "50%", "70%", "85%"), [(each.name, *_waiting(each, first_seed)) for each in SERVICES[:3]], "lr"))
    print(f"\n{climbs} ladders each, 20 to 160/s, levels of 20 s; and as many up to 80/s, in which no capacity may be found\n")
    head = ("service", "within 5%", "median error", "interval holds it", "limit", "kind of overload", "capacity found below it")
    print(table(head, [(each.name, *_climbs(each, first_seed, climbs)) for each in SERVICES], "lrrrllr"))
    print(f"\nautopilot from 10/s, {explorations} explorations each, 900 s at most\n")
    head = ("service", "within 5%", "within 10%", "interval holds it", "median s", "most s", "most offered")
    print(table(head, [(each.name, *_explorations(each, first_seed, explorations)) for each in SERVICES[:7]], "lr"))


def _waiting(service: Service, first_seed: int) -> list[str]:
    ratios = []
    for load in (0.5, 0.7, 0.85):
        run = OpenRun(service.system, np.random.default_rng([first_seed, 1]))
        run.offer(load * CAPACITY)
        run.until(200)
        ratios.append(mean_wait_s(run.until(20_200), service.system.service_s) / theory_wait_s(load, service.system))
    return [f"{ratio:.3f}" for ratio in ratios]


def _climbs(service: Service, first_seed: int, count: int) -> tuple[str, ...]:
    """Cells of a service. For a service that never saturates: how often a capacity was found, which is wrong."""
    found = [_judged(service, [first_seed + seed, 2], UP_TO) for seed in range(count)]
    below = [_judged(service, [first_seed + seed, 3], BELOW) for seed in range(count)]
    false = f"{sum(each is not None and each.kind in ('capacity', 'at_or_below') for each in below) / count:.0%}"
    known = [each for each in found if each is not None and each.kind == "capacity"]
    limits = Counter(each.limit for each in found if each is not None)
    beyond = Counter(each.overload.kind for each in known if each.overload is not None)
    words = [", ".join(f"{name} {times}" for name, times in counts.most_common()) for counts in (limits, beyond)]
    if not service.saturates:
        return ("–", f"{len(known)} marks", "–", words[0], words[1] or "–", false)
    errors = np.array([abs(each.per_s / CAPACITY - 1) for each in known] + [np.inf] * (len(found) - len(known)))
    covered = sum(_holds(each) for each in known) / len(found)
    return (f"{np.mean(errors <= 0.05):.0%}", f"{np.median(errors):.1%}", f"{covered:.0%}", *words, false)


def _explorations(service: Service, first_seed: int, count: int) -> tuple[str, ...]:
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
        most_per_s = max(most_per_s, *(level.load.per_s or 0.0 for level in session.timeline.levels))
    shares = [f"{np.mean(np.array(errors) <= bound):.0%}" for bound in (0.05, 0.10)]
    return (*shares, f"{covered / count:.0%}", f"{np.median(lasted_s):.0f}", f"{max(lasted_s):.0f}", f"{most_per_s:g}/s")


def _judged(service: Service, seed: Sequence[int], rates: Sequence[float]) -> RateCapacity | None:
    return judge_rates(climb(OpenRun(service.system, np.random.default_rng(seed), max_users=service.max_users), rates, 20))


def _holds(found: RateCapacity) -> bool:
    return (found.low_per_s or 0.0) <= CAPACITY <= (found.high_per_s or np.inf)


# -- whole sessions ------------------------------------------------------------------------------------------------------------


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
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


_KINDS = {str(kind): kind for kind in RAMPED_KINDS}
_WORLDS: dict[str, World] = {world: world for world in WORLDS}


def outcome(group: str, service: str, seed: int) -> Outcome:
    """Simulate a session. `service`: the kind, for ramps."""
    if group == "steady":
        return _outcome_of(group, steady_rate(seed))
    return _outcome_of(group, ramped_rates(_KINDS[service], seed) if group == "ramp" else moving_rates(_WORLDS[group], seed))


def _outcome_of(group: str, found: Moving) -> Outcome:
    system, verdict = found.system, found.verdict
    capacity = verdict.capacity if verdict is not None else None
    marks = [mark for mark in found.timeline.marks.values() if isinstance(mark, Mark) and mark.state != "retracted"]
    service = "never saturates" if system.linear else "times out" if system.timeout_s else "queues"
    return Outcome(
        group=group,
        service="refuses" if system.queue_limit is not None else service,
        seed=found.seed,
        truths=tuple(round(each, 3) for each in found.truths if np.isfinite(each)),
        most_per_s=max(found.loads),
        **{name: getattr(capacity, name, None) for name in ("kind", "per_s", "low_per_s", "high_per_s")},
        false=found.false is not None,
        changed=any(each.inside for each in verdict.regimes) if verdict is not None else False,
        shifts=tuple(mark.id for mark in marks if mark.kind == "shift"),
        load=round(max(found.loads) / found.truths[0], 3) if group == "steady" else None,
    )


def rate_worlds(
    moving: int = 350,
    still: int = 200,
    ramps: int = 160,
    steady: int = 200,
    first_seed: int = 730_000,
    processes: int = 2,
    page: bool = False,
) -> None:
    """Accuracy of capacities as offered rates in whole sessions of simulated services of known capacity.

    Sessions of rising rates on services that change and on services that do not, ramps, and stationary queues, in which no change
    may be marked. A capacity is false if it is more than 15% from every capacity that the service had, and a bound if it
    contradicts all of them by as much. For services that refuse or time out below their capacity, lower bounds are not compared.
    On a service that does not change, a marked change is wrong if no step of load explains it. Rules were tuned on seeds 0-9,999,
    and intervals of ramps on 730,000-730,119; 730,120 and up are for reports.
    """
    began, kinds, worlds = Conditions.now(), list(_KINDS), [str(world) for world in WORLDS[1:]]
    chosen = [(worlds[at % len(worlds)], "", first_seed + at) for at in range(moving)]
    chosen += [("still", "", first_seed + at) for at in range(still)]
    chosen += [("ramp", kinds[at % len(kinds)], first_seed + at) for at in range(ramps)]
    chosen += [("steady", "", first_seed + at) for at in range(steady)]
    with Pool(processes) as pool:
        outcomes = pool.starmap(outcome, chosen, chunksize=5)
    command = f"python -m lab.bench rate_worlds --first-seed {first_seed}"
    result = {"command": command, "outcomes": msgspec.to_builtins(outcomes)}
    print(tables(result["outcomes"]))
    if page:
        saved = save("rate-worlds", result, began).read_bytes()
        PAGE.write_text(page_of(msgspec.json.decode(saved)), encoding="utf-8")


DATA = RESULTS / "rate-worlds.json"
PAGE = ROOT / "docs/rate-worlds.md"
DUE = 1.15
"""Multiple of the capacity that a session must reach for the capacity to be due."""

Row = Mapping[str, Any]


def page_of(found: Mapping[str, Any]) -> str:
    load = " to ".join(f"{each:g}" for each in found["load_average_1m"])
    run = f"`{found['command']}`, commit {found['commit']}, {found['started_at']}, {found['took_s']} s on {found['cpus']} cores"
    return filled("rate-worlds", run=f"{run}, load average {load}.", tables=tables(found["outcomes"]))


def tables(rows: Sequence[Row]) -> str:
    """All tables: sessions of rising rates and ramps, stationary queues, and the list of false verdicts."""
    groups = list(dict.fromkeys(row["group"] for row in rows if row["group"] != "steady"))
    parts = [_table("change", {group.replace("_", " "): _of(rows, "group", group) for group in groups})]
    for group in ("still", "ramp"):
        chosen = _of(rows, "group", group)
        services = list(dict.fromkeys(row["service"] for row in chosen))
        if chosen:
            parts.append(_table(f"{group}, by service", {name: _of(chosen, "service", name) for name in services}))
    steady = _of(rows, "group", "steady")
    return "\n\n".join([*parts, *([_steady(steady)] if steady else []), _listed(rows)])


def _of(rows: Sequence[Row], key: str, value: str) -> list[Row]:
    return [row for row in rows if row[key] == value]


def _table(title: str, groups: Mapping[str, Sequence[Row]]) -> str:
    accuracy = ("capacity found, of due", "median error", "within 10%", "interval holds it")
    head = (title, "sessions", "false", *accuracy, "change marked", "verdicts")
    return table(head, [(name, *_cells(rows)) for name, rows in groups.items()], "lrrrrrrrl")


def _cells(rows: Sequence[Row]) -> tuple[str, ...]:
    due = [row for row in rows if row["truths"] and row["most_per_s"] >= DUE * row["truths"][0]]
    found = [row for row in rows if row["kind"] == "capacity" and row["truths"] and row["service"] == "queues"]
    errors = [min(abs(row["per_s"] / truth - 1) for truth in row["truths"]) for row in found]
    verdicts = Counter(row["kind"] or "none" for row in rows)
    return (
        str(len(rows)),
        str(sum(row["false"] for row in rows)),
        f"{sum(row['kind'] == 'capacity' for row in due)} of {len(due)}",
        f"{median(errors):.1%}" if errors else "–",
        share(error <= 0.1 for error in errors),
        share(any(row["low_per_s"] <= truth <= row["high_per_s"] for truth in row["truths"]) for row in found),
        str(sum(row["changed"] for row in rows)),
        ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in verdicts.most_common()),
    )


def _steady(rows: Sequence[Row]) -> str:
    shown = []
    for name, low, high in (("to 0.7", 0.0, 0.7), ("0.7 to 0.85", 0.7, 0.85), ("0.85 to 1", 0.85, 1.0), ("above 1", 1.0, 9.0)):
        chosen = [row for row in rows if low <= row["load"] < high]
        latency, goodput = (sum(any(kind in each for each in row["shifts"]) for row in chosen) for kind in ("latency", "goodput"))
        shown.append((name, len(chosen), latency, goodput, sum(row["changed"] and not row["shifts"] for row in chosen)))
    head = ("rate over capacity", "sessions", "latency marked as changed", "goodput marked as changed", "other changes")
    return f"Stationary queues at one rate for 40 to 240 s, in which nothing changes:\n\n{table(head, shown, 'lr')}"


def _listed(rows: Sequence[Row]) -> str:
    wrong = [row for row in rows if row["false"] or (row["changed"] and row["group"] in ("still", "ramp"))]
    listed = "; ".join(map(_in_words, wrong)) or "none"
    return f"False verdicts, and changes marked where nothing changes, with seeds: {listed}."


def _in_words(row: Row) -> str:
    truth = " and ".join(f"{each:.3g}/s" for each in row["truths"])
    kind, per_s = (row["kind"] or "none").replace("_", " "), row["per_s"]
    found = kind if per_s is None else f"{kind} {per_s:.3g}/s"
    return f"{row['group'].replace('_', ' ')} {row['seed']} ({row['service']}, {truth}): {found}{', changed' * row['changed']}"
