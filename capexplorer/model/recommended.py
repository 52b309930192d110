"""What is recommended by a knee, or by a capacity as a rate: the load to operate at, and settings for it.

It is not written to the log, since it follows from the verdict and the levels there.
"""

from __future__ import annotations

import math

from .load import Load
from .readings import Reading
from .verdicts import RateObjective, SloVerdict


class Estimate(Reading, frozen=True, kw_only=True):
    """A figure and its 90% interval; an end is None if it is not known."""

    value: float
    low: float | None = None
    high: float | None = None

    def times(self, factor: float) -> Estimate:
        """Multiplied by a factor above 0 that is known exactly."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Estimate(value=self.value * factor, low=low, high=high)

    def by(self, other: Estimate) -> Estimate:
        """Multiplied by an independent figure: relative errors add in squares."""
        return self._combined(self.value * other.value, other)

    def over(self, other: Estimate) -> Estimate:
        """Divided by an independent figure above 0."""
        return self._combined(self.value / other.value, other)

    def _combined(self, value: float, other: Estimate) -> Estimate:
        one, two = self._half_width_ratio, other._half_width_ratio
        if one is None or two is None:
            return Estimate(value=value)
        half = value * math.hypot(one, two)
        return Estimate(value=value, low=max(0.0, value - half), high=value + half)

    @property
    def _half_width_ratio(self) -> float | None:
        if self.low is None or self.high is None or self.value <= 0:
            return None
        return (self.high - self.low) / 2 / self.value


class OperatingLoad(Reading, frozen=True, kw_only=True):
    """The greatest load to operate at, and what was measured there."""

    load: Load
    objective: SloVerdict | RateObjective | None = None
    """What keeps it that low; None: it is a share of the lower end of the knee or capacity."""
    measured: bool = False
    """Whether a level had this load; otherwise its figures are those of the chord between the loads beside it."""
    goodput_per_s: Estimate | None = None
    p95_ms: Estimate | None = None
    """Of successes; at a rate that of the time from plan. Not measured: `low` is that of the load below, `value` of the chord."""
    failure_ratio: float | None = None
    verified: bool = False
    """Whether the knee is."""
    generator_limited: bool = False
    """Whether the generator limits goodput: the service may carry more."""


class Recommended(Reading, frozen=True, kw_only=True):
    """What to set, by what was found in one epoch. None: it cannot be derived."""

    epoch: int
    operating: OperatingLoad
    rate_limit_per_s: Estimate | None = None
    """What the service completes at the operating load; more is refused."""
    in_flight: Estimate | None = None
    """Requests in flight at the knee, by Little's law. More would wait, and add little goodput: with the upper end as the limit
    28 simulated services kept 93% to 102% of their capacity at 1.5 times the knee, with the value 87% or more."""
    busy: Estimate | None = None
    """Requests that are worked on at once at the capacity: capacity times the response time at the lowest load. If each takes a
    worker, a thread or a connection of a pool, that is how many are busy."""
    parameter: str | None = None
    """The target's parameter that has this value, and may be the limit."""
    workers: Estimate | None = None
    """So many workers, or processes if `by_process`, use up the CPU; only if workers are the limit now."""
    by_process: bool = False
    replicas: int | None = None
    """For `wanted_per_s`, each at its operating load."""
    wanted_per_s: float | None = None
    """The rate that is required."""
    cpu_target_ratio: Estimate | None = None
    """CPU at the operating load over that at the capacity, for a service that CPU limits: the target of an autoscaler."""
    cpu_cores: float | None = None
    """CPU at the capacity, which that ratio is of: what a replica requests."""
    timeout_ms: Estimate | None = None
    """The tail at the operating load; a timeout below its upper end ends requests that would succeed."""
    timeout_quantile: float | None = None
    """Share of the replies that take at most so long."""
    next_limit_per_s: Estimate | None = None
    """Goodput at which the service would use all of its cores if the present limit were removed."""
