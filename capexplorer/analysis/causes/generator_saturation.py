"""Whether the generator was saturated, which is always tested first (docs/causes.md, `generator_cpu_saturated`).

Saturated means: the load thread is busy nearly all the time, or something blocks its event loop. A busy thread may still keep up,
so a second reason is required: an idle service (by the utilisation law the full resource is the bottleneck), late timers, or lost
time by Little's law. A load thread without any idle time needs no second reason. Threads that work for the load thread (DNS) hold
the same interpreter lock, and no clock of the kernel shows how long it waits for that lock: while the load thread is busy itself,
their CPU time counts as its own. A figure that was not measured is no reason for or against; without the load thread's CPU the
result is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from ...model.events import Sample
from ...model.figures import LevelFigures
from ...model.readings import GeneratorReading

BUSY_LEAST = 0.95
"""Share of time in which the load thread was on a CPU or waited for one, from which it is busy."""

BUSY_ALONE = 0.98
"""Share from which a busy load thread needs no second reason: replies always wait in its loop.
nginx under 5, 20 and 200 users without waits: 0.96, 0.99, 0.99,
while loop lag stays at 1-7 ms and Little's law holds, as it does in any closed loop (measured)."""

IDLE_TARGET_MOST = 0.7
"""Cores used by all processes of the target, under which not even one thread of it can be saturated."""

LAG_MOST_MS = 20.0
"""Loop lag p99 up to which timers are punctual."""

BLOCKED_MS = 20.0
"""Loop lag p50 from which the event loop is blocked, whatever its CPU: by a call that does not yield, or by the interpreter lock.
Short bursts of other processes do not move the median of a second, and a core taken by them shows as run delay. Tasks that
blocked for 25 ms each made 120 ms at 0.02 cores (measured)."""

LITTLE_MOST = 1.15
"""N / (X (R + Z)), above which users lose time outside responses and waits."""

QUIET_MOST = 0.8
"""Share of time under which the load thread has time to spare: lost time of users is their own then (sleeps, other clients)."""

CYCLES_LEAST = 3.0
"""Requests a user from which Little's law is applied: with fewer, requests in flight make a stalled service look like a slow
loop."""

LAGS_MOST = 5.0
"""Most lost time of a request, in loop lags (p99), that the loop can explain: a request waits for it a few times. Users at a full
accept queue lost 1.4 s a request to connections that were not made, at a lag of 70 ms (measured)."""


OTHERS_LEAST = 0.2
"""Cores used by other processes from which they may hold back generator or service: quiet machines use 0.02 to 0.1."""

STARVED_LEAST = 0.15
"""CPU time that others withheld from the load thread, over the CPU time that it had, from which it is starved (0.87 over 0.08
beside busy neighbours). Less, and the load thread is full by itself."""

STARVED_BLOCKED_LEAST = 0.5
"""Share of time for which the load thread waited for a core, under which half of its timers are late for another reason: a call
that blocks its loop."""

PROCESS = ("process_cpu_ratio", "cpu_ratio", "screen_cpu_ratio", "recorder_cpu_ratio")
"""Readings of the generator: the whole process first, then its threads that are known by name."""


@dataclass(frozen=True, slots=True)
class SaturationGrounds:
    """What was measured of the generator over settled seconds; None: not measured."""

    busy_ratio: float | None = None
    """Share of time in which the load thread was on a CPU or waited for one."""
    threads_ratio: float | None = None
    """Cores used by its other threads: the process without load thread, screen and recorder."""
    loop_lag_p99_ms: float | None = None
    loop_lag_p50_ms: float | None = None
    little_ratio: float | None = None
    """Users over those that responses, declared waits and the users' own time account for."""
    unaccounted_ms: float | None = None
    """Part of a request's cycle that none of these explains."""
    target_cpu_ratio: float | None = None
    listen_queue: float | None = None
    run_delay_ratio: float | None = None
    """The part of `busy_ratio` in which the load thread waited for a core."""
    others_cpu_ratio: float | None = None
    """Cores used by processes that are neither the target's nor the generator's."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons that were found, by name."""
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
        """By its own work. None where the load thread's CPU was not measured (imports)."""
        return None if self.busy_ratio is None else self._has_no_time and not self._is_starved

    @property
    def starved(self) -> bool:
        """It had no time to spare because other processes had the CPU: nothing is the generator's fault, nor the service's."""
        return self._has_no_time and self._is_starved

    @property
    def _has_no_time(self) -> bool:
        if self.busy_ratio is None:
            return False
        return self.busy_ratio >= BUSY_ALONE or self._blocked or (self._busy and len(self.reasons) > 1)

    @property
    def _is_starved(self) -> bool:
        others, delay = self.others_cpu_ratio or 0.0, self.run_delay_ratio or 0.0
        had = max(0.0, (self.busy_ratio or 0.0) - delay)
        if not self._busy and delay < STARVED_BLOCKED_LEAST:
            return False
        return others >= OTHERS_LEAST and min(others, delay) >= STARVED_LEAST * had

    @property
    def _busy(self) -> bool:
        if self.busy_ratio is None:
            return False
        helped = self.busy_ratio >= QUIET_MOST  # else the load thread has time to spare, whatever its other threads do
        return self.busy_ratio + (self.threads_ratio or 0.0) * helped >= BUSY_LEAST

    @property
    def _blocked(self) -> bool:
        return self.loop_lag_p50_ms is not None and self.loop_lag_p50_ms >= BLOCKED_MS

    @property
    def _little(self) -> bool:
        """Little's law shows lost time, and not more than the loop's lag can explain."""
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
    """The part of a user's cycle outside responses and the pauses that it chose, measured at the level with the fewest users.

    0 if it is not known or the load thread had no time to spare at that level.
    """
    known = [(figures, lost_ms) for figures in levels if (lost_ms := _unaccounted_ms(figures)) is not None]
    if not known:
        return 0.0
    fewest, lost_ms = min(known, key=lambda each: each[0].users_mean or 0.0)
    busy = _busy_ratio(fewest)
    return max(0.0, lost_ms) if busy is not None and busy < QUIET_MOST else 0.0


def grounds_of(figures: LevelFigures, own_ms: float = 0.0) -> SaturationGrounds:
    """From the means of a level."""
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
        run_delay_ratio=figures.generator_run_delay_ratio,
        others_cpu_ratio=others_cpu(figures),
    )


def others_cpu(figures: LevelFigures) -> float | None:
    """Cores used by other processes. In logs from before that was a reading: the host's less the target's and the generator's.

    None where it cannot be known: a service whose CPU was not measured may itself be what uses them.
    """
    readings = figures.readings
    known, target = readings.get("neighbours.cpu_ratio"), readings.get("target.cpu_ratio")
    if known is not None or target is None:
        return known
    return _rest(readings.get("host.cpu_ratio"), target, readings.get("generator.process_cpu_ratio"))


def grounds_over(ticks: Sequence[Sample], own_ms: float = 0.0) -> SaturationGrounds:
    """From settled seconds of one level. Loop lag is that of the median second: one burst of other processes is no saturation."""
    read = [tick.generator for tick in ticks if tick.generator is not None]
    little_ratio, unaccounted_ms = _little_over(ticks, own_ms) or (None, None)
    return SaturationGrounds(
        busy_ratio=_mean_of_known([_busy_of(each) for each in read]),
        threads_ratio=_mean_of_all([_rest(*(getattr(each, name) for name in PROCESS)) for each in read]),
        loop_lag_p99_ms=_median([each.loop_lag_p99_ms for each in read]),
        loop_lag_p50_ms=_median([each.loop_lag_p50_ms for each in read]),
        little_ratio=little_ratio,
        unaccounted_ms=unaccounted_ms,
        target_cpu_ratio=_mean_of_known([_cpu_of_targets(tick) for tick in ticks]),
        listen_queue=_mean_of_known([target.listen_queue for tick in ticks for target in tick.targets]),
        run_delay_ratio=_mean_of_known([each.run_delay_ratio for each in read]),
        others_cpu_ratio=_mean_of_all([_others_of(tick) for tick in ticks]),
    )


def _others_of(tick: Sample) -> float | None:
    """The reading, or of a tick from before it was one: the host's CPU less the target's and the generator's."""
    if tick.neighbours is not None:
        return tick.neighbours.cpu_ratio
    generator = tick.generator.process_cpu_ratio if tick.generator is not None else None
    host = tick.host.cpu_ratio if tick.host is not None else None
    return _rest(host, generator, *(target.cpu_ratio for target in tick.targets)) if tick.targets else None


def _busy_of(generator: GeneratorReading) -> float | None:
    return None if generator.cpu_ratio is None else generator.cpu_ratio + (generator.run_delay_ratio or 0.0)


def _cpu_of_targets(tick: Sample) -> float | None:
    """None if there are none, or one was not measured."""
    known = _all([target.cpu_ratio for target in tick.targets])
    return sum(known) if known else None


def little_ratio(figures: LevelFigures, own_ms: float = 0.0) -> float | None:
    """N / (X (R + Z)) with Z the mean pause that users chose, plus `own_ms`.

    None if one of them is not known or too few cycles were measured.
    """
    if figures.pause_s is None or figures.response_ms is None or not figures.users_mean or not figures.throughput_rps:
        return None
    if figures.counted and 0 < figures.requests < CYCLES_LEAST * figures.users_mean:
        return None
    cycles = figures.throughput_rps * ((figures.response_ms + own_ms) / 1000 + figures.pause_s)
    return figures.users_mean / cycles if cycles else None


def _busy_ratio(figures: LevelFigures) -> float | None:
    cpu = figures.generator_cpu_ratio
    return None if cpu is None else cpu + (figures.generator_run_delay_ratio or 0.0)


def _rest(whole: float | None, *parts: float | None) -> float | None:
    """The whole minus its parts; None if one of them was not measured."""
    known = _all(parts)
    return max(0.0, whole - sum(known)) if whole is not None and known else None


def _unaccounted_ms(figures: LevelFigures) -> float | None:
    if little_ratio(figures) is None or not figures.users_mean or not figures.throughput_rps:
        return None
    return 1000 * (figures.users_mean / figures.throughput_rps - (figures.pause_s or 0.0)) - (figures.response_ms or 0.0)


def _little_over(ticks: Sequence[Sample], own_ms: float) -> tuple[float, float] | None:
    """(user-seconds over accounted user-seconds, unaccounted ms a request); None if too few cycles were measured."""
    requests = sum(each.requests for tick in ticks for each in tick.endpoints)
    users = fmean(tick.users for tick in ticks) if ticks else 0.0
    if not users or requests < CYCLES_LEAST * users:
        return None
    responses_s = sum(each.latency_sum_ms + each.failure_latency_sum_ms for tick in ticks for each in tick.endpoints) / 1000
    pauses_s = sum(tick.wait_sum_s + (tick.sleep_sum_s or 0.0) for tick in ticks)
    accounted_s = responses_s + pauses_s + requests * own_ms / 1000
    there_s = sum(tick.users * tick.duration_s for tick in ticks)
    return (there_s / accounted_s, 1000 * (there_s - accounted_s) / requests) if accounted_s > 0 else None


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    """None if one was not measured."""
    known = _all(values)
    return fmean(known) if known else None


def _median(values: Sequence[float | None]) -> float | None:
    """Of those that were measured."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _all(values: Sequence[float | None]) -> list[float]:
    """The values, or an empty list if one was not measured."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []
