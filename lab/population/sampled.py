"""Sampled stacks of simulated services with threads: is the function that limits a service the one that is named?

A closed network of N users who think for Z: an interpreter that runs one thread at a time (CPU for g in `compute`, in turns of
5 ms; after each wait for something else a short turn, which waits as long for the interpreter, in `authenticate` or outside the
service's code), and a lock or pool of c slots, which a request holds for h in `checkout`. Or a pool of w threads that take
requests from a queue, and wait for h in `work`. Throughput and queues are exact (mean value analysis); stacks of 10 s have the
errors of samples, 1.5 times those of independent requests. They are sampled at 1 user and at a multiple of an N* that was found
within 10%, and judged by `analysis.stacks`. The function that limits the service is that with the greatest demand; where two
differ by less than a tenth, both are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from capexplorer.analysis import stacks
from capexplorer.model.events import LevelClosed, LevelOpened, StacksSampled
from capexplorer.model.figures import LevelFigures
from capexplorer.model.stacks import Clock, Frame, SampledStacks, Stack
from capexplorer.model.timeline import Timeline

SAMPLED_S = 10.0
PERIOD_S = 0.01
TURN_S = 0.005
"""After which Python's interpreter lets another thread run."""
SHORT_S = 0.0003
"""CPU of a turn after a wait."""
HOLD_MOST_S = 0.3
ERRORS = 1.5
NEAR = 1.1
MULTIPLES = (1.0, 1.2, 1.5)
FULL = (0.6, 0.7, 0.8, 0.9, 0.95)
LEFT = (0.1, 0.2, 0.3, 0.4)

IDLE = -1.0
"""In place of a number of threads: all worker threads that are not busy."""

Places = dict[tuple[str, bool, int], float]
"""Threads by function, whether it is the service's own, and line."""


class Service(NamedTuple):
    """Demands in seconds."""

    kind: str
    think_s: float
    cpu_s: float = 0.0
    waits: int = 1
    seen_in_own: bool = True
    """Whether a short turn waits in `authenticate`; else outside the service's code."""
    hold_s: float = 0.0
    slots: int = 1
    worker_threads: int = 0

    @property
    def limits(self) -> set[str]:
        """The functions that a developer should look at first."""
        if self.worker_threads:
            return {"work"}
        demands = {"compute": self.cpu_s, "checkout": self.hold_s / self.slots}
        return {name for name, demand in demands.items() if demand * NEAR >= max(demands.values())}

    @property
    def knee(self) -> float:
        """N*."""
        most_s = max(self._interpreter_s, self.hold_s / max(self.slots, self.worker_threads))
        return (self.think_s + self._interpreter_s + self.hold_s) / most_s

    @property
    def _interpreter_s(self) -> float:
        return 0.0 if self.worker_threads else self.cpu_s + self.waits * SHORT_S

    def at(self, users: int) -> tuple[float, float, Places, Places]:
        """(requests/s, response in s, threads at each place, those that use CPU)."""
        servers = self.worker_threads or self.slots
        rate, in_interpreter, at_slots = solved(users, self.think_s, self._interpreter_s, self.hold_s, servers)
        response_s = (in_interpreter + at_slots) / rate
        if self.worker_threads:
            busy = rate * self.hold_s
            return rate, response_s, {("work", True, 47): busy, ("serve", True, 46): IDLE}, {}
        turns = math.ceil(self.cpu_s / TURN_S), self.waits
        waiting = max(0.0, in_interpreter - rate * self._interpreter_s)
        shares = [waiting * each / sum(turns) for each in turns]
        short = ("authenticate", True, 9) if self.seen_in_own else ("readinto", False, 706)
        wall = {("compute", True, 30): rate * self.cpu_s + shares[0], short: rate * self.waits * SHORT_S + shares[1]}
        cpu = {("compute", True, 30): rate * self.cpu_s, short: rate * self.waits * SHORT_S}
        return rate, response_s, wall | ({("checkout", True, 12): at_slots} if self.hold_s else {}), cpu


def solved(users: int, think_s: float, one_s: float, several_s: float, servers: int) -> tuple[float, float, float]:
    """(X, requests at a station of one server, at one of several) of a closed network, by mean value analysis with the marginal
    probabilities of the second (Reiser & Lavenberg 1980)."""
    at_one, at_several, rate = 0.0, 0.0, 0.0
    probabilities = [1.0]
    for present in range(1, users + 1):
        one = one_s * (1 + at_one)
        several = several_s * sum((j + 1) / min(j + 1, servers) * p for j, p in enumerate(probabilities))
        rate = present / (think_s + one + several)
        at_one, at_several = rate * one, rate * several
        later = [rate * several_s / min(j, servers) * probabilities[j - 1] for j in range(1, present + 1)]
        probabilities = [max(0.0, 1 - sum(later)), *later]
    return rate, at_one, at_several


def drawn(rng: np.random.Generator) -> Service:
    """A random service."""
    kind = str(rng.choice(("interpreter", "lock", "both", "threads")))
    think_s = float(np.exp(rng.uniform(np.log(0.2), np.log(1.5))))
    if kind == "threads":
        return Service(kind, think_s, hold_s=float(rng.uniform(0.02, 0.2)), worker_threads=int(rng.integers(2, 17)))
    cpu_s = float(np.exp(rng.uniform(np.log(0.001), np.log(0.03))))
    waits, is_own = int(rng.integers(1, 4)), bool(rng.random() < 0.5)
    ratio = {"interpreter": 0.0, "lock": rng.uniform(2.0, 20.0), "both": np.exp(rng.uniform(-np.log(2), np.log(2)))}[kind]
    slots = int(rng.choice((1, 1, 2, 4, 8)))
    cpu_s = min(cpu_s, HOLD_MOST_S / (float(ratio) * slots)) if ratio else cpu_s
    return Service(kind, think_s, cpu_s, waits, is_own, float(ratio) * cpu_s * slots, slots)


def session(service: Service, users: int, rng: np.random.Generator) -> Timeline:
    """Stacks at 1 user and at `users`."""
    timeline = Timeline()
    for index, count in enumerate((1, users)):
        rate, response_s, wall, cpu = service.at(count)
        begin_s = 20.0 * index
        figures = LevelFigures(
            settled=True, settled_seconds=SAMPLED_S, throughput_rps=rate, goodput_rps=rate, response_ms=1000 * response_s
        )
        clocks: tuple[tuple[Clock, Places], ...] = ("wall", wall), ("cpu", cpu)
        sampled = tuple(seen(clock, places, rate, service.worker_threads, rng) for clock, places in clocks if places)
        timeline.apply(LevelOpened(t_s=begin_s, index=index, users=count, spawn_rate=1.0, by="plan", stacks=True))
        timeline.apply(StacksSampled(t_s=begin_s + SAMPLED_S, level=index, sampled=sampled))
        timeline.apply(
            LevelClosed(t_s=begin_s + SAMPLED_S, index=index, users=count, started_s=begin_s, settled_s=begin_s, figures=figures)
        )
    return timeline


def seen(clock: Clock, places: Places, per_s: float, workers: int, rng: np.random.Generator) -> SampledStacks:
    """What a sampler sees of these threads, with its errors: a whole number of samples. A worker is idle where it is not busy."""
    frames, found, left = list[Frame](), list[Stack](), float(workers)
    for (function, is_own, line), threads in places.items():
        time_s, requests = threads / per_s, per_s * SAMPLED_S
        time_s = max(time_s, 1e-9)
        error = ERRORS * math.sqrt(time_s * (time_s + PERIOD_S) / requests) * per_s
        known = left if threads == IDLE else max(0.0, rng.normal(threads, error))
        known = min(known, left) if workers else known
        left -= known
        samples = round(known * SAMPLED_S / PERIOD_S)
        if samples:
            found.append(Stack((len(frames),), samples * PERIOD_S))
            frames.append(Frame(function, "app.py" if is_own else "/usr/lib/socket.py", line, is_own))
    return SampledStacks(
        runtime="python", clock=clock, tool="simulated", pids=(1,), seconds=SAMPLED_S, frames=tuple(frames), stacks=tuple(found)
    )


def judged(seeds: Iterable[int], multiple: float) -> Iterator[tuple[str, str]]:
    """(kind, right, none or wrong) of each service."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        service = drawn(rng)
        users = max(2, math.ceil(multiple * service.knee * rng.uniform(0.9, 1.1)))
        found = stacks.difference(session(service, users, rng))
        named = found.named.function.frame.function if found is not None and found.named is not None else None
        yield service.kind, "none" if named is None else "right" if named in service.limits else "wrong"


def report(seeds: Sequence[int]) -> str:
    """Named rightly and wrongly, of services of each kind, by each number that decides."""
    lines = [f"{len(seeds)} services; of each kind: right, wrong, the rest none"]
    for multiple in MULTIPLES:
        lines.append(f"at {multiple:g} N*: {_row(judged(seeds, multiple))}")
    for name, values in (("INTERPRETER_FULL", FULL), ("IDLE_LEFT_MOST", LEFT)):
        kept = getattr(stacks, name)
        for value in values:
            setattr(stacks, name, value)
            lines.append(f"{name} {value:g}: {_row(judged(seeds, 1.2))}")
        setattr(stacks, name, kept)
    return "\n".join(lines)


def _row(found: Iterable[tuple[str, str]]) -> str:
    counts = Counter(found)
    kinds = sorted({kind for kind, _ in counts})
    totals = {kind: sum(count for (each, _), count in counts.items() if each == kind) for kind in kinds}
    return ", ".join(
        f"{kind} {counts[kind, 'right'] / totals[kind]:.0%} {counts[kind, 'wrong'] / totals[kind]:.0%}" for kind in kinds
    )
