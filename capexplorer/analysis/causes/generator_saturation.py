"""Whether the generator was saturated: it is ruled out first, always (CAUSES.md, `generator_cpu_saturated`).

Never without its CPU: a load thread that has time to spare is not saturated, however late a neighbour makes its timers and
however long users do things of their own; unless half of all timers are late, as in a loop that something blocks. And on a second
ground beside it, since a busy thread may keep up; an idle service is one (utilisation law: what is full is the bottleneck), and a
loop without idle time needs none. Threads that resolve names for it hold the same GIL, and how long it waits for that no clock of
the kernel shows: beside a load thread that is busy itself their CPU counts as its own. What was not measured is no ground and no
defence; where the load thread's CPU was not, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from ...model.events import LevelFigures, Sample

BUSY_LEAST = 0.95
"""On-CPU and waiting for a core, of the load thread, together."""

BUSY_ALONE = 0.98
"""From here on there is always a reply that waits in the loop. nginx under 5, 20 and 200 users without waits: 0.96, 0.99, 0.99,
while loop lag stays at 1-7 ms and Little's law holds, as it must in a closed loop (measured)."""

IDLE_TARGET_MOST = 0.7
"""Cores, of the target's whole tree, under which not even a single thread or a GIL in it is full."""

LAG_MOST_MS = 20.0
"""Loop lag p99."""

BLOCKED_MS = 20.0
"""Loop lag p50: half of all timers so late is a loop that stands still, whatever its CPU: a call that blocks, a GIL that is held.
Bursts of neighbours do not reach the median of a second, and a core that neighbours have shows as run delay. Tasks that blocked
25 ms each made 120 ms with 0.02 cores (measured)."""

LITTLE_MOST = 1.15
"""N / (X (R + Z)): users that neither responses nor waits account for."""

QUIET_MOST = 0.8
"""Of a load thread: what users lose in a level where it has time to spare they spend themselves (sleeps, other clients)."""

CYCLES_LEAST = 3.0
"""Requests a user, under which what is still in flight spoils Little's law: a stalled service would look like a slow loop."""

LAGS_MOST = 5.0
"""Loop lags p99 that a request's unaccounted time may be: it waits for the loop a few times. Users at a full accept queue lost
1.4 s a request to connections that were not made, beside a lag of 70 ms that neighbours made (measured)."""


PROCESS = ("process_cpu_ratio", "cpu_ratio", "screen_cpu_ratio", "recorder_cpu_ratio")
"""Readings of the generator: the whole process, and those of its threads that are known by name."""


@dataclass(frozen=True, slots=True)
class SaturationGrounds:
    """What was measured of the generator over some settled seconds; None: it was not."""

    busy_ratio: float | None = None
    """Of the load thread: on-CPU, and waiting for a core."""
    threads_ratio: float | None = None
    """On-CPU, of the threads that work for it: the process without load thread, screen and recorder."""
    loop_lag_p99_ms: float | None = None
    loop_lag_p50_ms: float | None = None
    little_ratio: float | None = None
    """Users over those that responses, chosen waits and the users' own time account for."""
    unaccounted_ms: float | None = None
    """Of a request's cycle: what none of them explains."""
    target_cpu_ratio: float | None = None
    listen_queue: float | None = None

    @property
    def held(self) -> tuple[str, ...]:
        """The grounds that hold."""
        late = self.loop_lag_p99_ms is not None and self.loop_lag_p99_ms > LAG_MOST_MS
        return tuple(
            name
            for name, holds in (
                ("busy", self._busy),
                ("blocked", self._blocked),
                ("idle_target", self._target_idles),
                ("loop_lag", late),
                ("little", self._little),
            )
            if holds
        )

    @property
    def saturated(self) -> bool | None:
        """None where the load thread's CPU was not measured (imports)."""
        if self.busy_ratio is None:
            return None
        return self.busy_ratio >= BUSY_ALONE or self._blocked or (self._busy and len(self.held) > 1)

    @property
    def _busy(self) -> bool:
        if self.busy_ratio is None:
            return False
        helped = self.busy_ratio >= QUIET_MOST  # under it there is time to spare, whatever its threads do outside the GIL
        return self.busy_ratio + (self.threads_ratio or 0.0) * helped >= BUSY_LEAST

    @property
    def _blocked(self) -> bool:
        return self.loop_lag_p50_ms is not None and self.loop_lag_p50_ms >= BLOCKED_MS

    @property
    def _little(self) -> bool:
        """Off by more than it may, and by no more than the loop's lateness can explain."""
        if self.little_ratio is None or self.little_ratio <= LITTLE_MOST:
            return False
        lag_ms, lost_ms = self.loop_lag_p99_ms, self.unaccounted_ms
        return lag_ms is None or lost_ms is None or lost_ms <= LAGS_MOST * lag_ms

    @property
    def _target_idles(self) -> bool:
        return self.target_cpu_ratio is not None and self.target_cpu_ratio < IDLE_TARGET_MOST and (self.listen_queue or 0) < 1


def is_saturated(figures: LevelFigures, own_ms: float = 0.0) -> bool | None:
    """Of a settled level; `own_ms`: see `own_time_ms`. None where the load thread's CPU was not measured (imports)."""
    return grounds_of(figures, own_ms).saturated


def own_time_ms(levels: Iterable[LevelFigures]) -> float:
    """Of a request's cycle, what users spend beside responses and chosen waits: as in the level with the fewest users.

    0 where that is not known, or the load thread had no time to spare there.
    """
    known = [(figures, lost_ms) for figures in levels if (lost_ms := _unaccounted_ms(figures)) is not None]
    if not known:
        return 0.0
    fewest, lost_ms = min(known, key=lambda each: each[0].users_mean or 0.0)
    busy = _busy_ratio(fewest)
    return max(0.0, lost_ms) if busy is not None and busy < QUIET_MOST else 0.0


def grounds_of(figures: LevelFigures, own_ms: float = 0.0) -> SaturationGrounds:
    """Of a level's means."""
    unaccounted_ms = _unaccounted_ms(figures)
    return SaturationGrounds(
        busy_ratio=_busy_ratio(figures),
        threads_ratio=_rest(*(figures.readings.get(f"generator.{name}") for name in PROCESS)),
        loop_lag_p99_ms=figures.loop_lag_p99_ms,
        loop_lag_p50_ms=figures.readings.get("generator.loop_lag_p50_ms"),
        little_ratio=little_ratio(figures, own_ms),
        unaccounted_ms=None if unaccounted_ms is None else unaccounted_ms - own_ms,
        target_cpu_ratio=figures.target_cpu_ratio,
        listen_queue=figures.readings.get("target.listen_queue"),
    )


def grounds_over(ticks: Sequence[Sample], own_ms: float = 0.0) -> SaturationGrounds:
    """Of settled seconds of one level. Loop lag is the median second's: one burst of a neighbour is no saturation."""
    read = [tick.generator for tick in ticks if tick.generator is not None]
    busy = [each.cpu_ratio + (each.run_delay_ratio or 0.0) for each in read if each.cpu_ratio is not None]
    threads = [_rest(*(getattr(each, name) for name in PROCESS)) for each in read]
    lags = [each.loop_lag_p99_ms for each in read if each.loop_lag_p99_ms is not None]
    medians = [each.loop_lag_p50_ms for each in read if each.loop_lag_p50_ms is not None]
    little = _little_over(ticks, own_ms)
    cpu = [[target.cpu_ratio for target in tick.targets] for tick in ticks if tick.targets]
    queues = [target.listen_queue for tick in ticks for target in tick.targets if target.listen_queue is not None]
    return SaturationGrounds(
        busy_ratio=fmean(busy) if busy else None,
        threads_ratio=fmean(known) if (known := _all(threads)) else None,
        loop_lag_p99_ms=median(lags) if lags else None,
        loop_lag_p50_ms=median(medians) if medians else None,
        little_ratio=little[0] if little else None,
        unaccounted_ms=little[1] if little else None,
        target_cpu_ratio=fmean(sum(known) for each in cpu if (known := _all(each))) if any(map(_all, cpu)) else None,
        listen_queue=fmean(queues) if queues else None,
    )


def little_ratio(figures: LevelFigures, own_ms: float = 0.0) -> float | None:
    """N / (X (R + Z)) with Z the mean wait that users chose, and `own_ms` of their own.

    None where one of them is not known, or few cycles were watched.
    """
    if figures.wait_s is None or figures.response_ms is None or not figures.users_mean or not figures.throughput_rps:
        return None
    if figures.counted and 0 < figures.requests < CYCLES_LEAST * figures.users_mean:
        return None
    return figures.users_mean / (figures.throughput_rps * ((figures.response_ms + own_ms) / 1000 + figures.wait_s))


def _busy_ratio(figures: LevelFigures) -> float | None:
    cpu = figures.generator_cpu_ratio
    return None if cpu is None else cpu + (figures.generator_run_delay_ratio or 0.0)


def _rest(whole: float | None, *parts: float | None) -> float | None:
    """What is left of the whole; None where one of them was not measured."""
    known = _all(parts)
    return max(0.0, whole - sum(known)) if whole is not None and known else None


def _unaccounted_ms(figures: LevelFigures) -> float | None:
    if little_ratio(figures) is None or not figures.users_mean or not figures.throughput_rps:
        return None
    return 1000 * (figures.users_mean / figures.throughput_rps - (figures.wait_s or 0.0)) - (figures.response_ms or 0.0)


def _little_over(ticks: Sequence[Sample], own_ms: float) -> tuple[float, float] | None:
    """(user-seconds over those that are accounted for, ms a request that are not); None for few cycles."""
    requests = sum(each.requests for tick in ticks for each in tick.endpoints)
    users = fmean(tick.users for tick in ticks) if ticks else 0.0
    if not users or requests < CYCLES_LEAST * users:
        return None
    responses_s = sum(each.latency_sum_ms + each.failure_latency_sum_ms for tick in ticks for each in tick.endpoints) / 1000
    accounted_s = responses_s + sum(tick.wait_sum_s for tick in ticks) + requests * own_ms / 1000
    there_s = sum(tick.users * tick.duration_s for tick in ticks)
    return (there_s / accounted_s, 1000 * (there_s - accounted_s) / requests) if accounted_s > 0 else None


def _all(values: Sequence[float | None]) -> list[float]:
    """The values; none of them when one was not measured."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []
