"""Pairs of sessions whose difference is known by construction, each explored by the autopilot in virtual time: what the headline
says of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np

from capexplorer.model.events import Ended, HostFacts
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import SecondLatencies, Session, compare, sentences
from lab.simulation.ladders import KINDS, Kind, random_system
from lab.simulation.queues import System, Trouble, run
from lab.simulation.virtual_run import VirtualRun

FIRST_SEED = 1_300_000
"""Seeds of the reported pairs; sentences and claims were chosen on seeds from 1,200,000."""

LONGEST_S = 900

FAILING = 0.03

WORDS = 15
"""Words of a headline that must say which build is better, by how much, and how sure that is."""

Truth = Literal["equal", "better", "worse"]


@dataclass(frozen=True, slots=True)
class Construction:
    """How the second service differs from the first one, which is a random system."""

    name: str
    truth: Truth
    change: Callable[[System], System]
    figure: str
    """The figure that the change affects: a headline that claims it names it; empty for equal services."""
    pairs: int = 4
    first: Callable[[System], System] = lambda system: system
    """Makes the first service of the random system."""


def _faster(share: float) -> Callable[[System], System]:
    return lambda system: replace(system, service_s=system.service_s / (1 + share))


def _doubled(system: System) -> System:
    return replace(system, servers=2 * system.servers)


def _slow_and_wide(system: System) -> System:
    """The same capacity by twice as many servers that are half as fast."""
    return replace(system, servers=2 * system.servers, service_s=2 * system.service_s)


CONSTRUCTIONS = (
    Construction("equal", "equal", lambda system: system, "", pairs=6),
    Construction("5% more capacity", "better", _faster(0.05), "capacity"),
    Construction("10% more capacity", "better", _faster(0.10), "capacity"),
    Construction("doubled", "better", _doubled, "capacity"),
    Construction("halved", "worse", lambda system: replace(system, servers=system.servers // 2), "capacity", first=_doubled),
    Construction("longer latency, same capacity", "worse", _slow_and_wide, "latency"),
    Construction(
        "3% of requests fail",
        "worse",
        lambda system: replace(system, trouble=Trouble(0.0, math.inf, failing=FAILING)),
        "failures",
    ),
)

EQUAL_KINDS: tuple[Kind, ...] = KINDS
CHANGED_KINDS: tuple[Kind, ...] = ("queue",)
"""Kinds whose capacity is that of a pool of servers, so that each construction means what it says."""


def tasks(first_seed: int) -> list[tuple[str, Kind, int]]:
    """(construction, kind, seed) of all pairs."""
    found: list[tuple[str, Kind, int]] = []
    for each in CONSTRUCTIONS:
        kinds = EQUAL_KINDS if each.truth == "equal" else CHANGED_KINDS
        found += [(each.name, kinds[number % len(kinds)], first_seed + number) for number in range(each.pairs)]
    return found


def constructed(name: str, kind: Kind, seed: int) -> dict[str, Any]:
    """One pair: its construction, whether the headline says the truth, something false or nothing, and the headline."""
    how = next(each for each in CONSTRUCTIONS if each.name == name)
    before, after = sessions(how, kind, seed)
    comparison = compare([before, after])
    (pair,) = comparison.pairs
    headline = sentences.verdict(comparison)
    said = (
        "equal"
        if not pair.directions
        else "better"
        if pair.directions == {True}
        else "worse"
        if pair.directions == {False}
        else "both"
    )
    return {
        "construction": name,
        "kind": kind,
        "seed": seed,
        "truth": how.truth,
        "said": said,
        "found": said == how.truth,
        "first_words": " ".join(headline.split()[:WORDS]),
        "headline": headline,
    }


def sessions(how: Construction, kind: Kind, seed: int) -> tuple[Session, Session]:
    """Two explorations, of the first service and of the changed one."""
    rng = np.random.default_rng([seed, KINDS.index(kind), 11])
    system, _ = random_system(kind, rng)
    first = how.first(system)
    before, after = (_explored(each, rng) for each in (first, how.change(first)))
    return before, after


def _explored(system: System, rng: np.random.Generator) -> Session:
    """A session of the service, on a machine that is the same for all."""
    explored = VirtualRun(run(system, rng))
    explored.explore(LONGEST_S)
    explored.end()
    latencies = SecondLatencies()
    ended = Ended(t_s=explored.now_s, reason="autopilot", levels=len(explored.timeline.levels))
    header, *events = explored.sink.take()
    same = msgspec.structs.replace(header, host=HostFacts(name="simulated", cpus=1))
    return Session(Timeline(latencies.collecting([same, *events, ended])), latencies=latencies)
