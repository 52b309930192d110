"""Settled levels of one epoch of a timeline, or the segments of them that are judged apart, as ladder levels; not pooled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...model.figures import LevelFigures
from ...model.level import Level
from .ladder_level import LadderLevel


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """What is judged as one: a whole level, a bin of a ramp, or the seconds between two changes inside a level."""

    users: float
    figures: LevelFigures
    started_s: float
    ended_s: float | None
    """End, in seconds of the session; None while it is open."""
    began_inside: bool = False
    """Whether it began with a change inside the level, not with a step of load."""
    after_queue: bool = False
    """Whether replies had become slow just before it, as while a queue fills. Known at offered rates only."""
    limited: bool = False
    """Whether a rate limiter refused its failed requests (`epoch.limiter_burst`)."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A settled level, or a part of one, with its ladder level (`rates`)."""

    level: Level
    part: JudgedPart
    rates: LadderLevel

    @property
    def figures(self) -> LevelFigures:
        """Figures of the part."""
        return self.part.figures

    @property
    def is_part(self) -> bool:
        """Whether the level changed inside, and this is only a part of it."""
        return self.part.began_inside or self.part.ended_s != self.level.ended_s


def parts(level: Level) -> list[JudgedPart]:
    """The level as one part, or the bins of a ramp."""
    found = [(part.users, part.figures) for part in level.bins] if level.opened.ramp else [_whole(level)]
    return [JudgedPart(users, figures, level.started_s, level.ended_s) for users, figures in found]


def _whole(level: Level) -> tuple[float, LevelFigures]:
    return level.figures.users_mean or float(level.users), level.figures


def measured_of(
    levels: Iterable[Level],
    *,
    epoch: int = 0,
    work_is_metric: bool = False,
    saturated: Mapping[int, bool] = MappingProxyType({}),
    disturbed: Callable[[Level, JudgedPart], tuple[bool, bool]] = lambda level, part: (False, False),
    replied: Mapping[int, tuple[float, float]] = MappingProxyType({}),
    first_requests: bool = False,
    parts_of: Callable[[Level], Sequence[JudgedPart]] = parts,
) -> Iterator[Measured]:
    """Settled levels of an epoch in the order they ran, divided into parts by `parts_of`; not pooled.

    `work_is_metric`: goodput is the target's own count of work, not successful requests.
    `saturated`: by level index, whether the generator was saturated; not known for levels that are missing.
    `disturbed`: (whether other processes used CPU that the part needed, whether its goodput is only a lower bound).
    `replied`: by level index, the shares of failed requests that got a reply: (with any status, with one that refuses).
    `first_requests`: figures include users' first requests, as in imported histories (`header.source` is set).
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
    """The ladder level of settled figures with goodput. `known`: fields of LadderLevel that are not in the figures."""
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
        wait_se_s=figures.think_se_s,
        wait_includes_sleeps=figures.think_s is not None,
        loop_lag_ms=figures.loop_lag_p99_ms,
        **known,
    )
