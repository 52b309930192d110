"""Levels as tests of the knee detector write them: as a table of (users, goodput), or of an ideal service."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from capexplorer.analysis.ladder import LadderLevel


def rates(pairs: Iterable[tuple[float, float]], *, seconds: float | None = None) -> list[LadderLevel]:
    """Levels of which only (users, goodput) is known."""
    return [
        LadderLevel(users=users, goodput_rps=rate, throughput_rps=rate, seconds=seconds, started_s=float(index))
        for index, (users, rate) in enumerate(pairs)
    ]


def ideal(users: Sequence[float], *, per_user: float = 2.0, capacity: float = 100.0) -> list[LadderLevel]:
    """Goodput is the smaller of `per_user` x users and `capacity`: N* = capacity / per_user. Latency follows from Little's law
    and a think time of 0.9 / per_user seconds."""
    levels = []
    for index, count in enumerate(users):
        rate = min(per_user * count, capacity)
        latency_ms = (count / rate - 0.9 / per_user) * 1000
        levels.append(
            LadderLevel(
                users=count, goodput_rps=rate, goodput_se_rps=0.01 * rate, throughput_rps=rate, latency_ms=latency_ms,
                latency_se_ms=0.02 * latency_ms, response_ms=latency_ms, failure_ratio=0.0, requests=int(20 * rate), seconds=20.0,
                started_s=30.0 * index,
            )
        )  # fmt: skip
    return levels
