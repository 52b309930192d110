"""Sampled stacks for tests, from a table of stacks to the threads that are in each on average.

    stacks({"run threading.py:9; checkout* db.py:41; acquire pool.py:7": 3.5, "run threading.py:9; get queue.py:5": 0.5})

A function with a star is the service's own. `session` puts two samplings into a session, each in a level of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from capexplorer.model.events import StacksSampled
from capexplorer.model.readings import TargetReading
from capexplorer.model.stacks import Clock, Frame, Runtime, SampledStacks, Stack

from .scenario import Scenario

Threads = Mapping[str, float]
"""Mean number of threads by stack."""


def stacks(
    threads: Threads, *, clock: Clock = "wall", runtime: Runtime = "python", seconds: float = 10.0, pids: tuple[int, ...] = (7,)
) -> SampledStacks:
    """What a tool reports that sees these threads, 100 times a second."""
    frames: dict[Frame, int] = {}
    found = []
    for stack, count in threads.items():
        places = tuple(frames.setdefault(_frame(each), len(frames)) for each in stack.split(";") if each.strip())
        found.append(Stack(places, max(0.01, count * seconds)))
    return SampledStacks(
        runtime=runtime, clock=clock, tool="py-spy 0.4.1", pids=pids, seconds=seconds, frames=tuple(frames), stacks=tuple(found)
    )


def _frame(written: str) -> Frame:
    name, _, place = written.strip().partition(" ")
    file, _, line = place.rpartition(":") if ":" in place else (place, "", "")
    return Frame(name.removesuffix("*"), file, int(line or 0), name.endswith("*"))


class Sampled(NamedTuple):
    """A level in which stacks are sampled."""

    users: int
    rps: int
    latency_ms: float
    sampled: tuple[SampledStacks, ...]
    target_cores: float | None = None


def session(
    *levels: Sampled, scenario: Scenario | None = None, seconds: int = 10, failed: tuple[str, ...] = (), **opened: Any
) -> Scenario:
    """A session with these levels. `failed`: what could not be sampled. `opened`: fields of each LevelOpened."""
    made = Scenario().ready() if scenario is None else scenario
    for level in levels:
        made.open(level.users, **opened)
        targets = () if level.target_cores is None else (TargetReading(pid=7, cpu_ratio=level.target_cores),)
        made.seconds(seconds, rps=level.rps, latency_ms=level.latency_ms, p99_ms=level.latency_ms / 0.75, targets=targets)
        index = made.timeline.levels[-1].opened.index
        made.add(StacksSampled(t_s=made.t_s, level=index, sampled=level.sampled, failed=failed)).close()
    return made


_CHECKOUT = "handle* /srv/shop/app.py:9; checkout* /srv/shop/db.py:41; acquire /usr/lib/pool.py:7"
_QUERY = "handle* /srv/shop/app.py:12; query* /srv/shop/db.py:60; recv /usr/lib/socket.py:3"
_IDLE = "run /usr/lib/threading.py:9; get /usr/lib/queue.py:5"

POOL_AND_QUERY = (
    Sampled(
        2, 40, 50.0,
        (stacks({_CHECKOUT: 0.05, _QUERY: 1.9, _IDLE: 18.0}), stacks({_CHECKOUT: 0.01, _QUERY: 0.04}, clock="cpu")),
    ),
    Sampled(
        20, 80, 250.0,
        (stacks({_CHECKOUT: 16.0, _QUERY: 4.0}), stacks({_CHECKOUT: 0.02, _QUERY: 0.08}, clock="cpu")),
    ),
)  # fmt: skip
"""A pool of connections of which 20 users want one each: a wait for it of 199 ms, of 200 by which requests became slower."""

OF_STACKS = ("speedscope", "pprof")
"""Formats of sampled stacks alone, which refuse a session without any."""
