"""How often a series or a group of log lines is said to change at the bend of the curve although it does not, and how often one
that does is found: simulated telemetry at the levels of simulated sessions (`lab.population`), through the product's detector.

    python -m lab.telemetry [--count 20] [--first 10000] [--family autopilot-queue ...]

Each session gets SERIES_EACH of each kind of series that has no bend of its own, and LINES_EACH of such groups of lines; those of
even seeds get one of each kind that has. Loads, times, goodput and latencies are the session's, second by second.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from capexplorer.analysis.telemetry.bends import Bend
from capexplorer.analysis.telemetry.detector import ServiceTelemetry, bend_of
from capexplorer.model.events import Ended, Event, Log, Sample, Verdict
from capexplorer.model.readings import PartReading

from .population.families import Session
from .population.score import FAMILIES, log_path, read_log

FAMILIES_USED = (
    "autopilot-queue", "autopilot-usl", "autopilot-shedding", "autopilot-timeouts", "ladder-queue", "ladder-usl",
    "rates-queue", "rate-autopilot-queue", "rate-autopilot-shedding",
)  # fmt: skip
SERIES_EACH = 4
LINES_EACH = 3

Series = NDArray[np.float64]
Random = np.random.Generator


class Seconds(NamedTuple):
    """A session second by second; each of length n."""

    t_s: Series
    load: Series
    goodput: Series
    latency_ms: Series
    bend: Bend


# -- series that have no bend of their own


def _noise(n: int, rng: Random, correlation: float = 0.0) -> Series:
    values = rng.normal(size=n)
    for index in range(1, n if correlation else 0):
        values[index] = correlation * values[index - 1] + math.sqrt(1 - correlation**2) * values[index]
    return values


def _wobble(s: Seconds, rng: Random) -> Series:
    return np.exp(rng.uniform(0.02, 0.3) * _noise(len(s.t_s), rng))


def steady(s: Seconds, rng: Random) -> Series:
    """A constant with noise."""
    return 100 * _wobble(s, rng)


def correlated(s: Seconds, rng: Random) -> Series:
    """Noise that lasts for 10 to 100 s."""
    return 100 * np.exp(0.3 * _noise(len(s.t_s), rng, float(rng.uniform(0.9, 0.99))))


def walk(s: Seconds, rng: Random) -> Series:
    """A random walk, such as memory."""
    return 1000 + np.cumsum(rng.normal(size=len(s.t_s))) * float(rng.uniform(1, 10))


def drift(s: Seconds, rng: Random) -> Series:
    """It grows with time."""
    return (100 + s.t_s * float(rng.uniform(0.1, 2))) * _wobble(s, rng)


def warm_up(s: Seconds, rng: Random) -> Series:
    """It grows with time, and ever less so, such as a cache."""
    return 1000 * (1 - np.exp(-s.t_s / float(rng.uniform(20, 400)))) * _wobble(s, rng)


def jump(s: Seconds, rng: Random) -> Series:
    """It changes once, at any time."""
    return np.where(s.t_s > rng.uniform(s.t_s[0], s.t_s[-1]), 10.0, 1.0) * _wobble(s, rng)


def periodic(s: Seconds, rng: Random) -> Series:
    """A saw tooth, such as memory between collections."""
    period_s = float(rng.uniform(5, 90))
    return 50 + 100 * ((s.t_s + rng.uniform(0, period_s)) % period_s) / period_s


def of_users(s: Seconds, rng: Random) -> Series:
    """It grows with the load, such as open connections."""
    return s.load * float(rng.uniform(0.5, 3)) + float(rng.uniform(0, 20))


def of_goodput(s: Seconds, rng: Random) -> Series:
    """It follows the goodput, such as CPU."""
    return (s.goodput * float(rng.uniform(0.1, 3)) + float(rng.uniform(0, 20))) * _wobble(s, rng)


def counted(s: Seconds, rng: Random) -> Series:
    """Rare events, each with the same probability in a request."""
    return rng.poisson(np.maximum(s.goodput, 0) * float(rng.uniform(0.001, 0.1))).astype(np.float64)


def root(s: Seconds, rng: Random) -> Series:
    """It grows ever less with the load."""
    return np.sqrt(s.load) * _wobble(s, rng)


def square(s: Seconds, rng: Random) -> Series:
    """It grows ever more with the load."""
    found: Series = s.load * s.load * _wobble(s, rng)
    return found


def elsewhere(s: Seconds, rng: Random) -> Series:
    """It bends at a third, or at three times, of the load."""
    return np.maximum(0.0, s.load - s.bend.load * float(rng.choice([0.33, 3.0]))) * _wobble(s, rng)


# -- series that bend


def waiting(s: Seconds, rng: Random) -> Series:
    """Requests that wait for a connection, by Little's law, as read at one moment."""
    low_ms = float(np.nanmedian(s.latency_ms[s.load <= np.nanmin(s.load)]))
    mean = s.goodput * np.nan_to_num(np.maximum(s.latency_ms - 1.2 * low_ms, 0.0)) / 1000
    return np.asarray(rng.poisson(mean), np.float64)


def duration(s: Seconds, rng: Random) -> Series:
    """The mean time of a request."""
    return s.latency_ms / 1000 * np.exp(0.05 * _noise(len(s.t_s), rng))


def timeouts(s: Seconds, rng: Random) -> Series:
    """A counter of what happens beyond the bend only."""
    return np.where(s.load > s.bend.high, rng.poisson(float(rng.uniform(2, 20)), len(s.t_s)), 0.0)


Kind = Callable[[Seconds, Random], Series]
STRAIGHT: tuple[Kind, ...] = (
    steady, correlated, walk, drift, warm_up, jump, periodic, of_users, of_goodput, counted, root, square, elsewhere,
)  # fmt: skip
BENT: tuple[Kind, ...] = (waiting, duration, timeouts)


# -- lines: probability of a line in each second


def rare(s: Seconds, rng: Random) -> Series:
    """At any time."""
    return np.full(len(s.t_s), float(rng.uniform(0.002, 0.2)))


def of_requests(s: Seconds, rng: Random) -> Series:
    """With a request in so many."""
    return 1 - np.exp(-np.maximum(s.goodput, 0) * float(rng.uniform(0.0001, 0.05)))


def from_then_on(s: Seconds, rng: Random) -> Series:
    """From some time on."""
    return np.where(s.t_s > rng.uniform(s.t_s[0], s.t_s[-1]), 0.5, 0.0)


def burst(s: Seconds, rng: Random) -> Series:
    """For some seconds."""
    at_s = rng.uniform(s.t_s[0], s.t_s[-1])
    return np.where((s.t_s > at_s) & (s.t_s < at_s + rng.uniform(2, 30)), 0.9, 0.0)


def refusals(s: Seconds, rng: Random) -> Series:
    """Beyond the bend."""
    return np.where(s.load > s.bend.high, float(rng.uniform(0.1, 1)), 0.0)


PLAIN_LINES: tuple[Kind, ...] = (rare, of_requests, from_then_on, burst)
BEGINNING: tuple[Kind, ...] = (refusals,)


# -- scores


def seconds_of(session: Session, bend: Bend) -> Seconds:
    """The session's seconds, settled or not."""
    samples = [each for each in session.events if isinstance(each, Sample)]
    loads = [each.load.amount for each in samples]
    goodput = [(each.work or 0.0) / each.duration_s for each in samples]
    latency = [
        sum(one.latency_sum_ms for one in each.endpoints) / max(1, sum(one.requests - one.failures for one in each.endpoints))
        for each in samples
    ]
    known = [value if value else math.nan for value in latency]
    return Seconds(np.array([each.t_s for each in samples]), np.array(loads), np.array(goodput), np.array(known), bend)


def with_telemetry(session: Session, series: dict[str, Series], lines: dict[str, Series], rng: Random) -> Iterator[Event]:
    """The session's events with these series as figures of a part, and these lines."""
    index = 0
    for event in session.events:
        if not isinstance(event, Sample):
            yield event
            continue
        figures = {name: float(each[index]) for name, each in series.items() if not math.isnan(each[index])}
        for name, chance in lines.items():
            if rng.random() < chance[index]:
                yield Log(t_s=event.t_s, source="target", text=f"{name} took {index} ms")
        yield replace(event, parts=(*event.parts, PartReading(name="service", age_s=0.0, server=figures)))
        index += 1


class Score(NamedTuple):
    """Of one session: kinds that were reported, and the shares of false findings."""

    found: Counter[str]
    false_share: float
    false_share_of_lines: float
    levels: int
    bends: bool
    """Whether it has series that bend."""
    is_after_only: bool
    """Whether no lower load followed, which the product says."""


def score(session: Session, seed: int) -> Score | None:
    """None: the curve does not bend."""
    verdict = session.timeline.verdict
    found = bend_of(verdict) if verdict is not None else None
    if verdict is None or found is None:
        return None
    rng = np.random.default_rng([seed, 34])
    seconds = seconds_of(session, found[0])
    series = {f"{kind.__name__}_{each}": kind(seconds, rng) for kind in STRAIGHT for each in "abcd"[:SERIES_EACH]}
    lines = {f"{kind.__name__}-{each}": kind(seconds, rng) for kind in PLAIN_LINES for each in "abc"[:LINES_EACH]}
    if seed % 2 == 0:
        series |= {f"{kind.__name__}_x": kind(seconds, rng) for kind in BENT}
        lines |= {f"{kind.__name__}-x": kind(seconds, rng) for kind in BEGINNING}
    detector = ServiceTelemetry()
    for event in with_telemetry(session, series, lines, rng):
        if not isinstance(event, Verdict | Ended):  # it is asked once, below
            detector.process(event, session.timeline)
    changes = detector.changes(session.timeline, verdict.epoch, most=1_000)
    if changes.unknown_why is not None:
        return None
    names = [each.name.rpartition("_")[0] for each in changes.series]
    groups = [each.text.partition("-")[0] for each in changes.lines]
    return Score(
        Counter(names + groups),
        _false(names, {kind.__name__ for kind in BENT}),
        _false(groups, {kind.__name__ for kind in BEGINNING}),
        len(session.timeline.levels),
        seed % 2 == 0,
        changes.is_after_only,
    )


def _false(names: list[str], right: set[str]) -> float:
    return sum(each not in right for each in names) / len(names) if names else 0.0


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=10_000)
    parser.add_argument("--logs", type=Path, help="logs of these sessions that lab.population kept")
    parser.add_argument("--family", nargs="*", default=FAMILIES_USED)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.count)
    sessions = (
        (seed, read_log(log_path(given.logs, name, seed)) if given.logs else FAMILIES[name].session(seed))
        for name in given.family
        for seed in seeds
    )
    report([found for seed, session in sessions if (found := score(session, seed)) is not None])


def report(scores: list[Score]) -> None:
    """How often each kind was reported, and the mean share of false findings."""
    print(f"{len(scores)} sessions whose curve bends, {np.mean([each.levels for each in scores]):.1f} levels")
    for kinds, each in ((STRAIGHT, SERIES_EACH), (BENT, 1), (PLAIN_LINES, LINES_EACH), (BEGINNING, 1)):
        those = [one for one in scores if one.bends or each > 1]
        for kind in kinds:
            found, of = sum(one.found[kind.__name__] for one in those), each * len(those)
            print(f"  {kind.__name__:14} {found:5} of {of:5}  {found / of:6.1%}")
    for name, those in (
        ("a lower load followed, some series bend", [one for one in scores if one.bends and not one.is_after_only]),
        ("a lower load followed, none bends", [one for one in scores if not one.bends and not one.is_after_only]),
        ("none followed", [one for one in scores if one.is_after_only]),
    ):
        series, lines = (np.mean([one[index] for one in those]) for index in (1, 2))
        print(f"false share, {name}, {len(those)} sessions: series {series:.2%}, lines {lines:.2%}")


if __name__ == "__main__":
    main()
