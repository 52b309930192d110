"""Levels of a timeline, in the parts that count, with their rates: settled ones of one epoch, nothing pooled yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...model.figures import LevelFigures
from ...model.level import Level
from .ladder_level import LadderLevel


@dataclass(frozen=True, slots=True)
class Part:
    """A whole level, a bin of a ramp, or what lies between two changes inside a level."""

    users: float
    figures: LevelFigures
    started_s: float
    ended_s: float | None
    """None: it is open."""
    began_inside: bool = False
    """A change inside the level began it, not a step."""
    after_queue: bool = False
    """Just before it replies had become slow, as those of a queue that fills. Known at offered rates only."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A settled level, or a part of one, with its rates."""

    level: Level
    part: Part
    rates: LadderLevel

    @property
    def figures(self) -> LevelFigures:
        """Of the part."""
        return self.part.figures


def parts(level: Level) -> list[Part]:
    """A level as one part, a ramp as its bins."""
    found = [(part.users, part.figures) for part in level.bins] if level.opened.ramp else [_whole(level)]
    return [Part(users, figures, level.started_s, level.ended_s) for users, figures in found]


def _whole(level: Level) -> tuple[float, LevelFigures]:
    return level.figures.users_mean or float(level.users), level.figures


def measured_of(
    levels: Iterable[Level],
    *,
    epoch: int = 0,
    work_is_metric: bool = False,
    saturated: Mapping[int, bool] = MappingProxyType({}),
    disturbed: Callable[[Level, Part], tuple[bool, bool]] = lambda level, part: (False, False),
    replied: Mapping[int, tuple[float, float]] = MappingProxyType({}),
    first_requests: bool = False,
    parts_of: Callable[[Level], Sequence[Part]] = parts,
) -> Iterator[Measured]:
    """Settled levels of an epoch in the order they ran, in the parts that `parts_of` makes of them, nothing pooled yet.

    `saturated`: by level index, whether the generator was saturated; a level that is not in it: not known. `disturbed`:
    whether other processes used CPU that a level needed, and whether its goodput suffered. `replied`: by level index, the
    shares of failed requests that got a reply with any status, and with one that refuses. `first_requests`: figures include
    users' first requests, as those of imported histories do (`header.source` is set).
    """
    for level in levels:
        if level.opened.epoch != epoch:
            continue
        for part in parts_of(level):
            figures = part.figures
            if figures.settled and figures.goodput_rps is not None and part.users > 0:
                is_disturbed, goodput_disturbed = disturbed(level, part)
                shares = replied.get(level.opened.index, (None, None))
                rates = ladder_level(
                    part.users,
                    figures,
                    started_s=part.started_s,
                    ended_s=part.ended_s,
                    ramp=level.opened.ramp,
                    arrivals_per_s=level.opened.spawn_rate if first_requests and level.opened.ramp else 0.0,
                    generator_saturated=saturated.get(level.opened.index),
                    disturbed=is_disturbed,
                    goodput_disturbed=goodput_disturbed,
                    replied_ratio=shares[0],
                    refused_ratio=shares[1],
                    work_is_metric=work_is_metric,
                )
                yield Measured(level, part, rates)


def ladder_level(users: float, figures: LevelFigures, **known: Any) -> LadderLevel:
    """One settled level whose goodput is known, not pooled; `known`: fields that are not figures."""
    assert figures.goodput_rps is not None
    return LadderLevel(
        users=users,
        goodput_rps=figures.goodput_rps,
        goodput_se_rps=figures.goodput_se_rps,
        throughput_rps=figures.throughput_rps,
        response_ms=figures.response_ms,
        latency_ms=figures.latency_ms.mean,
        latency_se_ms=figures.latency_se_ms,
        p95_ms=figures.latency_ms.p95,
        p99_ms=figures.latency_ms.p99,
        failure_ratio=figures.failure_ratio,
        requests=figures.requests if figures.counted else None,
        seconds=(figures.settled_seconds or None) if figures.counted else None,
        wait_s=figures.pause_s,
        knows_pauses=figures.think_s is not None,
        loop_lag_ms=figures.loop_lag_p99_ms,
        **known,
    )
