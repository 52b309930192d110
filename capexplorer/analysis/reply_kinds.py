"""Replies that change their kind with load: short ones, many times faster than any at low load, with a status that counts as a
success. Often they are refusals or error pages that no check rejects. A hint for a person: nothing else uses it.

Pure: the same timeline gives the same marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ..model.events import Mark
from ..model.figures import LevelEndpoint
from ..model.findings import RepliesChanged
from ..model.histogram import counts_between
from ..model.level import Level
from ..model.load import Rate, Users
from ..model.timeline import Timeline
from .statistics import COUNT_LEAST, LOST_LEAST, NOTABLE

FASTER_TIMES = 5.0
"""Such replies take at most the least time of any at the lowest load, divided by this: 2 ms instead of 100. Less is what warm
caches and idle CPUs bring."""

SIZE_TIMES = 2.0
"""Their size differs by at least this factor: a cache returns the same replies sooner."""


class _Seen(msgspec.Struct, frozen=True):
    """What one level shows of one endpoint."""

    level: Level
    share_ratio: float
    size_bytes: float
    latency_ms: float


def marks(timeline: Timeline, epoch: int) -> Iterator[Mark]:
    """At most one mark: about the endpoint with the greatest share of such replies."""
    closed = [level for level in timeline.levels if level.opened.epoch == epoch and level.closed is not None and level.has_load]
    settled = [level for level in closed if level.figures.settled and not level.opened.ramp]
    at_rates = [level for level in settled if isinstance(level.load, Rate)]
    at_users = [level for level in settled if isinstance(level.load, Users)]
    found = [each for levels in (at_users, at_rates) for each in _found(sorted(levels, key=_load))]
    if not found:
        return
    first, finding = max(found, key=lambda each: each[1].share_ratio)
    t_s = first.level.ended_s or timeline.last_s
    yield Mark(t_s=t_s, key=f"replies_changed:epoch{epoch}", state="open", finding=finding, epoch=epoch, **first.level.load.named)


def _load(level: Level) -> float:
    return level.load.amount


def _found(levels: Sequence[Level]) -> Iterator[tuple[_Seen, RepliesChanged]]:
    """For each endpoint with such replies: the lowest load that shows them, and the finding. `levels`: by load, ascending."""
    before: dict[tuple[str, str], LevelEndpoint] = {}
    seen: dict[tuple[str, str], list[_Seen]] = {}
    for level in levels:
        for endpoint in level.endpoints:
            key = endpoint.method, endpoint.name
            if key in before:
                changed = _changed(level, endpoint, before[key])
                seen.setdefault(key, []).extend([changed] if changed is not None else [])
            elif endpoint.requests - endpoint.failures >= COUNT_LEAST and endpoint.latency_ms.min is not None:
                before[key] = endpoint
    for (method, name), several in seen.items():
        if several:
            usual, most = before[method, name], max(several, key=lambda each: each.share_ratio)
            finding = RepliesChanged(
                method=method,
                name=name,
                share_ratio=most.share_ratio,
                size_bytes=most.size_bytes,
                size_before_bytes=usual.mean_bytes or 0.0,
                latency_ms=most.latency_ms,
                latency_before_ms=usual.latency_ms.p50 or 0.0,
            )
            yield several[0], finding


def _changed(level: Level, now: LevelEndpoint, before: LevelEndpoint) -> _Seen | None:
    """The replies of an endpoint that are of another kind than those of the lowest load; None if there are too few."""
    least_ms, size = before.latency_ms.min or 0.0, before.mean_bytes
    if now.latency is None or now.latency_ms.min is None or not size or now.mean_bytes is None:
        return None
    most_ms = least_ms / FASTER_TIMES
    if now.latency_ms.min > most_ms or now.failures > LOST_LEAST * now.requests:
        return None
    below = int(counts_between([now.latency], np.array([most_ms * 1000]))[0])
    share = below / max(1, now.requests - now.failures)
    if below < COUNT_LEAST or share < NOTABLE:
        return None
    size_now = max(0.0, (now.mean_bytes - (1 - share) * size) / share)
    is_other = size_now * SIZE_TIMES <= size or size_now >= SIZE_TIMES * size
    return _Seen(level, share, size_now, _median_ms(now.latency, most_ms)) if is_other else None


def _median_ms(latency: str, most_ms: float) -> float:
    """The median of the latencies up to `most_ms`."""
    edges_ms = np.linspace(0.0, most_ms, 201)
    counts = np.cumsum(counts_between([latency], edges_ms * 1000)[:-1])
    return float(edges_ms[int(np.searchsorted(counts, counts[-1] / 2))])
