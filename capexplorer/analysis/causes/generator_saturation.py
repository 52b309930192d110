"""The generator's readings, and whether they mean that it is saturated (docs/causes.md, `generator_cpu_saturated`).

Saturated means: the load thread is busy nearly all the time, or something blocks its event loop. A busy thread may still keep up,
so a second reason is required: an idle service (by the utilisation law the full resource is the bottleneck), late timers, or lost
time by Little's law. A load thread without any idle time needs no second reason. Threads that work for the load thread (DNS) need
the same interpreter lock, and no kernel clock measures how long the load thread waits for it: while the load thread is busy, the
CPU time of these threads counts as its own. A figure that was not measured is no reason for or against; without the load thread's
CPU the result is None.

The same is tested of the means over a level (`readings_at_level`) and of its latest seconds (`readings_over_seconds`). It is
always tested first (docs/causes.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

import msgspec

from ...model.events import Sample
from ...model.figures import LevelFigures
from ...model.readings import GeneratorReading, HostReading
from ..ladder import CYCLES_LEAST, Little
from ..statistics import MOSTLY, all_known, mean_of_all, mean_of_known, median_of_known, remainder

BUSY_LEAST = 0.95
"""The load thread is busy if it is on a CPU or waits for one for at least this share of time."""

BUSY_ALONE = 0.98
"""From this share on a busy load thread needs no second reason, since replies always wait in its loop. With nginx under 5, 20 and
200 users without waits it was 0.96, 0.99, 0.99, while loop lag was 1-7 ms and Little's law held, as in any closed loop
(measured)."""

LAG_MOST_MS = 20.0
"""Timers are late if the p99 of loop lag is above this. The event loop is blocked if its median is: by a call that does not
yield, or by the interpreter lock. Short bursts of other processes do not change the median of a second. Tasks that blocked for
25 ms each gave 120 ms at 0.02 cores (measured)."""

LITTLE_MOST = 1.15
"""Users lose time outside responses and waits if N / (X (R + Z)) is above this."""

QUIET_MOST = 0.8
"""Below this share of busy time the load thread has spare time: time that users lose is then their own (sleeps, other clients).
"""

LAGS_MOST = 5.0
"""Loop lag can explain lost time per request up to this many times its p99, since a request waits for the loop a few times.
Users at a full accept queue lost 1.4 s per request by connections that were not made, with a lag of 70 ms (measured)."""

WITHHELD_LEAST = 0.15
"""CPU time that others withheld is relevant from this share of the CPU time that the load thread, or the service, had: without
them it could have done as much more work. Less is within the accuracy of a knee (10%). With busy processes on the machine, the
load thread missed 0.87 and had 0.08 (measured)."""

OTHERS_LEAST = 0.2
"""Other processes may slow generator or service down if they use at least so many cores: idle machines use 0.02 to 0.1."""


def stretch(host_cpu_ratio: float | None, steal_ratio: float | None) -> float:
    """How many times as long threads were busy as their CPU time says. Time that the hypervisor takes of cores in use is in
    nobody's CPU time, and meets each thread in proportion to its own. 1 if it is not known.
    """
    return 1 + (steal_ratio or 0.0) / host_cpu_ratio if host_cpu_ratio else 1.0


class SaturationReadings(msgspec.Struct, frozen=True):
    """The generator's readings over settled seconds; None: not measured."""

    busy_ratio: float | None = None
    """Share of time in which the load thread was on a CPU, stolen time included, or waited for one."""
    threads_ratio: float | None = None
    """Cores used by other threads of its process, without screen and recorder."""
    loop_lag_p99_ms: float | None = None
    loop_lag_p50_ms: float | None = None
    little_ratio: float | None = None
    """Users divided by those that responses, waits and the time outside requests account for (Little's law)."""
    unaccounted_ms: float | None = None
    """Time per request that none of these explains."""
    target_cpu_ratio: float | None = None
    """Cores used by all processes of the target."""
    listen_queue: float | None = None
    """Connections in the target's accept queue."""
    run_delay_ratio: float | None = None
    """The part of `busy_ratio` in which the load thread waited for a core."""
    others_cpu_ratio: float | None = None
    """Cores used by processes that are neither the target's nor the generator's."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the reasons that hold."""
        return tuple(
            name
            for name, holds in (
                ("busy", self._busy),
                ("blocked", self._blocked),
                ("idle_target", self._target_idles),
                ("loop_lag", self._late),
                ("little", self._little),
            )
            if holds
        )

    @property
    def saturated(self) -> bool | None:
        """Whether the generator's own work saturated it; None if the load thread's CPU was not measured (imports)."""
        return None if self.busy_ratio is None else self._has_no_time and not self._is_starved

    @property
    def starved(self) -> bool:
        """Whether the load thread had no idle time, or waited for a core too long to be punctual, because other processes used
        the CPU: neither generator nor service is the cause.
        """
        waits = self._late and (self.run_delay_ratio or 0.0) >= MOSTLY
        return (self._has_no_time or waits) and self._is_starved

    @property
    def waits_in_a_call(self) -> bool:
        """Whether a call blocks the event loop while the load thread has CPU time to spare, and seldom waits for a core: timers
        are late then whatever code it is in."""
        has_time = self.busy_ratio is not None and self.busy_ratio < QUIET_MOST
        return self._blocked and has_time and (self.run_delay_ratio or 0.0) < MOSTLY

    @property
    def _has_no_time(self) -> bool:
        if self.busy_ratio is None:
            return False
        return self.busy_ratio >= BUSY_ALONE or self._blocked or (self._busy and len(self.reasons) > 1)

    @property
    def _is_starved(self) -> bool:
        others, delay = self.others_cpu_ratio or 0.0, self.run_delay_ratio or 0.0
        had = max(0.0, (self.busy_ratio or 0.0) - delay)
        if not self._busy and delay < MOSTLY:
            return False
        return others >= OTHERS_LEAST and min(others, delay) >= WITHHELD_LEAST * had

    @property
    def _busy(self) -> bool:
        if self.busy_ratio is None:
            return False
        helped = self.busy_ratio >= QUIET_MOST  # else the load thread has time to spare, whatever its other threads do
        return self.busy_ratio + (self.threads_ratio or 0.0) * helped >= BUSY_LEAST

    @property
    def _late(self) -> bool:
        return self.loop_lag_p99_ms is not None and self.loop_lag_p99_ms > LAG_MOST_MS

    @property
    def _blocked(self) -> bool:
        return self.loop_lag_p50_ms is not None and self.loop_lag_p50_ms >= LAG_MOST_MS

    @property
    def _little(self) -> bool:
        """Whether by Little's law time is lost, and not more than loop lag can explain."""
        if self.little_ratio is None or self.little_ratio <= LITTLE_MOST:
            return False
        lag_ms, lost_ms = self.loop_lag_p99_ms, self.unaccounted_ms
        return lag_ms is None or lost_ms is None or lost_ms <= LAGS_MOST * lag_ms

    @property
    def _target_idles(self) -> bool:
        return self.target_cpu_ratio is not None and self.target_cpu_ratio < MOSTLY and (self.listen_queue or 0) < 1


# -- of a level

PROCESS_THEN_THREADS = ("process_cpu_ratio", "cpu_ratio", "screen_cpu_ratio", "recorder_cpu_ratio")
"""Readings of the generator: the whole process first, then its threads that are known by name."""


def is_saturated(figures: LevelFigures, outside_requests_ms: float = 0.0) -> bool | None:
    """Whether the generator was saturated at a settled level; None if the load thread's CPU was not measured (imports).

    `outside_requests_ms`: the result of `time_outside_requests_ms`.
    """
    return readings_at_level(figures, outside_requests_ms).saturated


def time_outside_requests_ms(levels: Iterable[LevelFigures]) -> float:
    """Time per cycle that users spend outside responses and pauses, in ms, measured at the level with the fewest users.

    0 if it is not known, or the load thread had no spare time at that level.
    """
    known = [(figures, lost_ms) for figures in levels if (lost_ms := _unaccounted_ms(figures)) is not None]
    if not known:
        return 0.0
    fewest, lost_ms = min(known, key=lambda each: each[0].users_mean or 0.0)
    busy = _busy_ratio(fewest)
    return max(0.0, lost_ms) if busy is not None and busy < QUIET_MOST else 0.0


def readings_at_level(figures: LevelFigures, outside_requests_ms: float = 0.0) -> SaturationReadings:
    """The generator's readings at a level."""
    unaccounted_ms = _unaccounted_ms(figures)
    return SaturationReadings(
        busy_ratio=_busy_ratio(figures),
        threads_ratio=remainder(*(figures.readings.get(f"generator.{name}") for name in PROCESS_THEN_THREADS)),
        loop_lag_p99_ms=figures.loop_lag_p99_ms,
        loop_lag_p50_ms=figures.readings.get("generator.loop_lag_p50_ms"),
        little_ratio=little_ratio(figures, outside_requests_ms),
        unaccounted_ms=None if unaccounted_ms is None else unaccounted_ms - outside_requests_ms,
        target_cpu_ratio=figures.target_cpu_ratio,
        listen_queue=figures.readings.get("target.listen_queue"),
        run_delay_ratio=figures.generator_run_delay_ratio,
        others_cpu_ratio=others_cpu(figures),
    )


def _others(read: float | None, host: float | None, target: float | None, generator: float | None) -> float | None:
    """Cores used by other processes. In older logs without this reading: those of the host minus those of target and generator.

    None if it is not known: a service whose CPU was not measured may itself use these cores.
    """
    return remainder(host, target, generator) if read is None and target is not None else read


def others_cpu(figures: LevelFigures) -> float | None:
    """Cores used by other processes; None: not known."""
    readings = figures.readings
    return _others(
        *map(readings.get, ("neighbours.cpu_ratio", "host.cpu_ratio", "target.cpu_ratio", "generator.process_cpu_ratio"))
    )


def little_ratio(figures: LevelFigures, outside_requests_ms: float = 0.0) -> float | None:
    """N / (X (R + Z)), where Z is the mean pause of users plus `outside_requests_ms`.

    None if one of them is not known, if too few cycles were measured, and at an offered rate, whose pool has idle users.
    """
    if figures.offered is not None:
        return None
    if figures.pause_s is None or figures.response_ms is None or not figures.users_mean or not figures.throughput_rps:
        return None
    if figures.counted and 0 < figures.requests < CYCLES_LEAST * figures.users_mean:
        return None
    response_s = (figures.response_ms + outside_requests_ms) / 1000
    found = Little.of(figures.users_mean, figures.throughput_rps, response_s, figures.pause_s)
    return found.ratio if found.accounted else None


def _busy_ratio(figures: LevelFigures) -> float | None:
    stretched = stretch(figures.readings.get("host.cpu_ratio"), figures.readings.get("host.steal_ratio"))
    return _busy(figures.generator_cpu_ratio, figures.generator_run_delay_ratio, stretched)


def _busy(cpu: float | None, delay: float | None, stretched: float) -> float | None:
    return None if cpu is None else max(cpu, min(1.0, cpu * stretched)) + (delay or 0.0)


def _unaccounted_ms(figures: LevelFigures) -> float | None:
    if little_ratio(figures) is None or not figures.users_mean or not figures.throughput_rps:
        return None
    return 1000 * (figures.users_mean / figures.throughput_rps - (figures.pause_s or 0.0)) - (figures.response_ms or 0.0)


# -- of its latest seconds


def readings_over_seconds(ticks: Sequence[Sample], outside_requests_ms: float = 0.0) -> SaturationReadings:
    """The generator's readings over settled seconds of one level. Loop lag is that of the median second, so that one burst of
    other processes is no saturation. `outside_requests_ms`: the result of `time_outside_requests_ms`.
    """
    read = [tick.generator for tick in ticks if tick.generator is not None]
    little_ratio, unaccounted_ms = _little_over(ticks, outside_requests_ms) or (None, None)
    return SaturationReadings(
        busy_ratio=mean_of_known([_busy_of(tick) for tick in ticks]),
        threads_ratio=mean_of_all([remainder(*(getattr(each, name) for name in PROCESS_THEN_THREADS)) for each in read]),
        loop_lag_p99_ms=median_of_known([each.loop_lag_p99_ms for each in read]),
        loop_lag_p50_ms=median_of_known([each.loop_lag_p50_ms for each in read]),
        little_ratio=little_ratio,
        unaccounted_ms=unaccounted_ms,
        target_cpu_ratio=mean_of_known([_cpu_of_targets(tick) for tick in ticks]),
        listen_queue=mean_of_known([target.listen_queue for tick in ticks for target in tick.targets]),
        run_delay_ratio=mean_of_known([each.run_delay_ratio for each in read]),
        others_cpu_ratio=mean_of_all([_others_of(tick) for tick in ticks]),
    )


def _little_over(ticks: Sequence[Sample], outside_requests_ms: float) -> tuple[float, float] | None:
    """(user-seconds divided by those accounted for, ms per request not accounted for).

    None if too few cycles were measured, and at an offered rate, whose pool has idle users.
    """
    if any(tick.offered is not None for tick in ticks):
        return None
    requests = sum(each.requests for tick in ticks for each in tick.endpoints)
    users = fmean(tick.users for tick in ticks) if ticks else 0.0
    if not users or requests < CYCLES_LEAST * users:
        return None
    responses_s = sum(each.latency_sum_ms + each.failure_latency_sum_ms for tick in ticks for each in tick.endpoints) / 1000
    pauses_s = sum(tick.wait_sum_s + (tick.sleep_sum_s or 0.0) for tick in ticks)
    user_s = sum(tick.users * tick.duration_s for tick in ticks)
    found = Little(user_s, responses_s + pauses_s + requests * outside_requests_ms / 1000)
    return (found.ratio, 1000 * (found.users - found.accounted) / requests) if found.accounted > 0 else None


def _others_of(tick: Sample) -> float | None:
    if tick.neighbours is not None:
        return tick.neighbours.cpu_ratio
    generator = tick.generator.process_cpu_ratio if tick.generator is not None else None
    return _others(None, tick.host.cpu_ratio if tick.host is not None else None, _cpu_of_targets(tick), generator)


def _busy_of(tick: Sample) -> float | None:
    own, host = tick.generator or GeneratorReading(), tick.host or HostReading()
    return _busy(own.cpu_ratio, own.run_delay_ratio, stretch(host.cpu_ratio, host.steal_ratio))


def _cpu_of_targets(tick: Sample) -> float | None:
    """Cores used by all targets; None if there are none, or one was not measured."""
    known = all_known([target.cpu_ratio for target in tick.targets])
    return sum(known) if known else None
