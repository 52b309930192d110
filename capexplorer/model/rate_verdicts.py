"""What is known of the capacity on the axis of offered rates: frozen values that marks, screens, reports and the autopilot share.

Rates are iterations a second (an iteration is one task of a user, often one request). `None` means "not known", never zero. No
sentences here: `wording` makes them.
"""

from __future__ import annotations

from typing import Literal

from .grades import Confidence
from .readings import Reading
from .verdicts.service_changes import RegimeVerdict

LevelState = Literal["kept", "unsure", "queue_grows", "fails", "dropped", "generator"]
"""`kept`: the service finished what was offered. `unsure`: too few arrivals, or too near the capacity, to say. The others say why
goodput is less than the offered rate: work in flight grows, iterations fail, arrivals are dropped, or the generator is at its own
limit."""

Limit = Literal["queue_growth", "errors", "generator", "unknown"]


class RateLevelVerdict(Reading, frozen=True, kw_only=True):
    """One level at an offered rate; of a ramp its latest bin."""

    level: int
    offered_per_s: float
    """Arrivals that were due, a second."""
    goodput_per_s: float
    """Iterations that ended without failure, a second."""
    goodput_se_per_s: float
    state: LevelState
    failure_ratio: float
    dropped_ratio: float
    growth_per_s: float
    """By how much the iterations in flight grow a second, those that wait for a user included. Surely above zero: the level is
    not stationary, and its latency is that of its length."""
    recovery: bool = False
    """It follows overload at a lower rate, and the curve does not use it."""
    left_out: bool = False
    """The curve does not use it: other processes, or a failure of generator, host or network, disturbed it, or the service was
    another one than that of the verdict."""
    is_part: bool = False
    """The figures here are of a part of the level: the service changed in it."""
    other_service: bool = False
    """Left out for that last reason: see `RateVerdict.regimes`."""


class Overload(Reading, frozen=True, kw_only=True):
    """What the service does at the greatest rate that was offered beyond its capacity."""

    kind: Literal["refuses", "times_out", "queues"]
    """`refuses`: it fails what exceeds its capacity, quickly. `times_out`: requests fail after a long time. `queues`: work in
    flight grows as long as the rate is offered."""
    offered_per_s: float
    goodput_per_s: float
    failure_ratio: float
    growth_per_s: float
    dropped_ratio: float = 0.0
    """Of the arrivals."""
    fall_ratio: float | None = None
    """Share of the capacity that is surely lost there, if goodput falls while the offered rate rises."""

    @property
    def collapses(self) -> bool:
        """Whether more than half of the capacity is lost."""
        return self.fall_ratio is not None and self.fall_ratio > 0.5


class RateCapacity(Reading, frozen=True, kw_only=True):
    """The capacity as a rate.

    `capacity`: `per_s` is the greatest goodput, with its 90% interval. `departs`: goodput is surely less than the offered
    rate from `per_s` on, but its maximum was not reached, or, where `overload` is given, the service may have become slower
    there. `at_or_below`: so it is at the lowest rate, `high_per_s`. `keeps_up`: the service finished all that was offered, up
    to `per_s`.
    """

    kind: Literal["capacity", "departs", "at_or_below", "keeps_up"]
    per_s: float
    low_per_s: float | None = None
    high_per_s: float | None = None
    kept_per_s: float | None = None
    """The greatest offered rate that was served in full."""
    limit: Limit | None = None
    overload: Overload | None = None
    confidence: Confidence | None = None
    contradicted: bool = False
    """A level served in full what another one at a lower rate did not: the service is not the same all the time."""


class RateObjective(Reading, frozen=True, kw_only=True):
    """The greatest offered rate that keeps an objective; percentiles are of the time from plan."""

    name: Literal["p95_ms", "p99_ms", "failure_ratio"]
    limit: float
    state: Literal["crossed", "kept", "broken"]
    """As of `SloVerdict`."""
    per_s: float | None = None
    low_per_s: float | None = None
    high_per_s: float | None = None
    thin: bool = False
    """Whether the percentile at the limit rests on too few values."""


class RateRecovery(Reading, frozen=True, kw_only=True):
    """Whether the service, when the offered rate was reduced after overload, served that rate as before."""

    level: int
    from_per_s: float
    to_per_s: float
    recovered: bool | None
    """None: no earlier level to compare with, or too early to say."""
    after_s: float | None = None


class RateVerdict(Reading, frozen=True, kw_only=True):
    """The verdict on one epoch's levels of offered rates; levels of users have their own."""

    capacity: RateCapacity | None = None
    """None: no level is long enough."""
    levels: tuple[RateLevelVerdict, ...] = ()
    """In the order they ran."""
    objectives: tuple[RateObjective, ...] = ()
    recoveries: tuple[RateRecovery, ...] = ()
    regimes: tuple[RegimeVerdict, ...] = ()
    """In the order they began, if the service changed at levels of rates; empty: it did not."""
