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
"""Seconds are missing if a second begins later than this after the end of the one before."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Ratios of the figures after a moment to those before it."""

    rate: float
    p99: float


def change_at(samples: Sequence[Sample], t_s: float) -> Change | None:
    """The change at a moment, from WINDOW_S seconds on each side; the second that contains it is the first one after it. None
    if a side has fewer seconds."""
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
    """Times of the first seconds after each gap, in seconds of the session."""
    samples = [event for event in events if isinstance(event, Sample)]
    return [after.t_s for before, after in pairwise(samples) if after.t_s - after.duration_s - before.t_s > _LATE_S]


def compared(kills: Sequence[Change], controls: Sequence[Change], seed: int = 0) -> dict[str, Any]:
    """Median and quartiles of the changes at kills and at controls, and the p-value of their difference."""
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


def _p_value(kills: Sequence[float], controls: Sequence[float], seed: int) -> float | None:
    """Two-sided permutation test of the mean logarithms."""
    if len(kills) < 2 or len(controls) < 2:
        return None
    values, rng = [math.log(each) for each in (*kills, *controls)], random.Random(seed)

    def difference() -> float:
        return abs(fmean(values[: len(kills)]) - fmean(values[len(kills) :]))

    observed, as_much = difference(), 0
    for _ in range(SHUFFLES):
        rng.shuffle(values)
        as_much += difference() >= observed
    return round((as_much + 1) / (SHUFFLES + 1), 4)
