"""Rate and p99 before and after moments of a session, and whether kills differ from moments at which nothing happened. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median, quantiles
from typing import Any

import msgspec

from capexplorer.model.events import Event, Sample
from capexplorer.model.histogram import LatencyHistogram

from .plan import WINDOW_S

SHUFFLES = 10_000
_LATE_S = 0.05
"""A second that begins so much after the end of the one before has a gap before it."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """After through before."""

    rate: float
    p99: float


def change_at(samples: Sequence[Sample], t_s: float) -> Change | None:
    """Of the seconds around a moment; the second in which it lies is the first one after it. None where there are too few."""
    before = [each for each in samples if t_s - WINDOW_S - 1 < each.t_s <= t_s][-WINDOW_S:]
    after = [each for each in samples if each.t_s > t_s][:WINDOW_S]
    if len(before) < WINDOW_S or len(after) < WINDOW_S:
        return None
    (rate, p99), (rate_after, p99_after) = _figures(before), _figures(after)
    return Change(rate=rate_after / rate, p99=p99_after / p99)


def _figures(samples: Sequence[Sample]) -> tuple[float, float]:
    merged = LatencyHistogram()
    for latency in (tick.latency for sample in samples for tick in sample.endpoints):
        if latency is not None:
            merged.add(LatencyHistogram.decode(latency))
    requests = sum(tick.requests for sample in samples for tick in sample.endpoints)
    (p99,) = merged.percentiles_ms((0.99,))
    assert p99 is not None, "seconds without a request"
    return requests / sum(sample.duration_s for sample in samples), p99


def gaps(events: Sequence[Event]) -> list[float]:
    """Where seconds are missing, in seconds of the session."""
    samples = [event for event in events if isinstance(event, Sample)]
    return [after.t_s for before, after in pairwise(samples) if after.t_s - after.duration_s - before.t_s > _LATE_S]


def compared(kills: Sequence[Change], controls: Sequence[Change], seed: int = 0) -> dict[str, Any]:
    """Spread of both, and how often chance alone would make kills differ from controls by as much."""
    return {
        name: {
            "kills": _spread([getattr(each, name) for each in kills]),
            "controls": _spread([getattr(each, name) for each in controls]),
            "p_value": _p_value([getattr(each, name) for each in kills], [getattr(each, name) for each in controls], seed),
        }
        for name in ("rate", "p99")
    }


def _spread(ratios: Sequence[float]) -> dict[str, float] | None:
    if len(ratios) < 2:
        return None
    low, _, high = quantiles(ratios, n=4)
    return {"count": len(ratios), "median": round(median(ratios), 4), "quartiles": [round(low, 4), round(high, 4)]}  # type: ignore[dict-item]


def _p_value(ours: Sequence[float], others: Sequence[float], seed: int) -> float | None:
    """Two-sided permutation test of the mean logarithms."""
    if len(ours) < 2 or len(others) < 2:
        return None
    values, chance = [math.log(each) for each in (*ours, *others)], random.Random(seed)

    def difference() -> float:
        return abs(fmean(values[: len(ours)]) - fmean(values[len(ours) :]))

    observed, as_much = difference(), 0
    for _ in range(SHUFFLES):
        chance.shuffle(values)
        as_much += difference() >= observed
    return round((as_much + 1) / (SHUFFLES + 1), 4)
