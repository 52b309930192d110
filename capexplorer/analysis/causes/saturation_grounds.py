"""What was measured of the generator, and whether that means saturated (docs/causes.md, `generator_cpu_saturated`).

Saturated means: the load thread is busy nearly all the time, or something blocks its event loop. A busy thread may still keep up,
so a second reason is required: an idle service (by the utilisation law the full resource is the bottleneck), late timers, or lost
time by Little's law. A load thread without any idle time needs no second reason. Threads that work for the load thread (DNS) hold
the same interpreter lock, and no clock of the kernel shows how long it waits for that lock: while the load thread is busy itself,
their CPU time counts as its own. A figure that was not measured is no reason for or against; without the load thread's CPU the
result is None.
"""

from __future__ import annotations

from dataclasses import dataclass

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
that blocks its loop. From it on late timers are due to that wait, however little work the thread has: two workers that shared a
core with four busy processes were on a core or waited for one for 0.89 of the time, and waited for 0.57 (measured)."""


@dataclass(frozen=True, slots=True)
class SaturationGrounds:
    """The generator's readings over settled seconds; None: not measured."""

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
        """Whether its own work saturated it. None where the load thread's CPU was not measured (imports)."""
        return None if self.busy_ratio is None else self._has_no_time and not self._is_starved

    @property
    def starved(self) -> bool:
        """Whether the load thread had no idle time, or waited for a core too long to be punctual, because other processes used
        the CPU: neither generator nor service is the cause.
        """
        waits = self._late and (self.run_delay_ratio or 0.0) >= STARVED_BLOCKED_LEAST
        return (self._has_no_time or waits) and self._is_starved

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
    def _late(self) -> bool:
        return self.loop_lag_p99_ms is not None and self.loop_lag_p99_ms > LAG_MOST_MS

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
