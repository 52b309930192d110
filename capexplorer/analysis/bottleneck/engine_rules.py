"""Rules about inference engines: what holds up the replies of a language model, by the engine's own counts (`read.servers`)
and by the stages of its streams.

An engine works on a batch of requests, each with its tokens in a cache (KV). Requests beyond the batch, or beyond the cache, wait
for their first token; in a larger batch each further token takes longer. Of 150 simulated engines and gateways (validation seeds
from 10,300 of `lab.population.engines`) 145 were named rightly, three not at all, and two wrongly: a batch that slows down as a
lock, and a gateway as such a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.figures import LevelFigures
from ...model.stages import Stage
from ..statistics import FULL, MOSTLY, NOTABLE
from . import queue_rules
from .gate import LATENCY_MORE, USERS_MORE
from .measured_level import Found, MeasuredLevel
from .watched_parts import WatchedParts


def kv_cache(level: MeasuredLevel) -> Found | None:
    """The cache has no room: requests of the batch are sent back to the queue, or others wait that do not fit."""
    preempted = level.read("server.preemptions_per_s") or 0.0
    sends_back = preempted > NOTABLE * (level.figures.throughput_rps or 0.0)
    if not sends_back and not (_cache_is_full(level) and requests_wait(level)):
        return None
    named = level.named("kv_cache_ratio", "preemptions_per_s", "requests_running", "requests_waiting")
    return Found("kv_cache_full", named, (), () if sends_back else ("engine_queue",))


def engine_queue(level: MeasuredLevel) -> Found | None:
    """Requests wait for a place in the batch, though the cache has room for more."""
    if not requests_wait(level) or kv_cache(level) is not None:
        return None
    named = level.named("requests_running", "requests_waiting", "kv_cache_ratio")
    return Found("engine_queue", named, level.missing("server.kv_cache_ratio"))


def _cache_is_full(level: MeasuredLevel) -> bool:
    """Whether another request of the mean size of those in the batch would not fit: a cache with room for three is used to 0.83
    in the mean when it is full.
    """
    used, running = level.read("server.kv_cache_ratio"), level.read("server.requests_running")
    return used is not None and running is not None and used >= min(FULL, running / (running + 1)) > 0


def requests_wait(level: MeasuredLevel) -> bool:
    """Whether requests wait, by the engine's own count: that many do not by chance, where no more are served."""
    waiting, running = level.read("server.requests_waiting"), level.read("server.requests_running")
    if waiting is None or running is None:
        return False
    return waiting >= max(queue_rules.QUEUED_LEAST, NOTABLE * (waiting + running))


def holds(parts: Sequence[MeasuredLevel], inside: float) -> bool:
    """Whether engines have nearly all requests that are inside, so that none waits before them."""
    counts = ("server.requests_running", "server.requests_waiting")
    return sum(part.read(name) or 0.0 for part in parts for name in counts) >= FULL * inside


def tokens_slow_down(level: MeasuredLevel, levels: Sequence[MeasuredLevel], parts: WatchedParts) -> Found | None:
    """Tokens come more slowly than with few users, which is most of what replies became longer by, while nothing is busy.

    The first token of a request that waits for its turn is late, its further ones are not: so this is no queue.
    """
    low, engine = min(levels, key=lambda each: each.users, default=level), _engine(parts)
    if low.users * USERS_MORE > level.users or not queue_rules.generator_has_spare_time(level):
        return None
    if level.target_is_here and not queue_rules.is_idle(level):
        return None
    if engine is not None and requests_wait(engine):
        return None
    times = [_mean_ms(each.figures, stage) for stage in ("ttft", "tpot") for each in (low, level)]
    first_before_ms, first_ms, before_ms, now_ms = times
    more_ms = (level.figures.response_ms or 0.0) - (low.figures.response_ms or 0.0)
    if first_before_ms is None or first_ms is None or before_ms is None or now_ms is None or more_ms <= 0:
        return None
    if now_ms < LATENCY_MORE * before_ms or more_ms - (first_ms - first_before_ms) < MOSTLY * more_ms:
        return None
    counts = engine.named("requests_running", "kv_cache_ratio") if engine is not None else {}
    unavailable = () if engine is not None else ("server.requests_running",)
    readings = {"tpot_ms": now_ms, "tpot_before_ms": before_ms, **counts}
    return Found("tokens_slow_down", readings, unavailable, part=engine.part if engine is not None else None)


def _engine(parts: WatchedParts) -> MeasuredLevel | None:
    """The only watched part that counts its requests as an engine does; None: there is none, or several."""
    found = [part for part in parts.levels if part.read("server.requests_running") is not None]
    return found[0] if len(found) == 1 else None


def _mean_ms(figures: LevelFigures, stage: Stage) -> float | None:
    found = figures.stages.get(stage)
    return found.ms.mean if found is not None else None
