"""Verdicts on levels of offered rates and the capacity as a rate: frozen values for marks, screens, reports and the autopilot.

Rates are iterations a second (an iteration is one task of a user, often one request). `None` means "not known", never zero.
`wording` has the sentences.
"""

from __future__ import annotations

from typing import Literal

from .grades import Confidence
from .readings import Reading
from .verdicts import EndpointDegradation, RegimeVerdict, Why

LevelState = Literal["kept", "unsure", "queue_grows", "fails", "dropped", "generator"]
"""`kept`: the service completed the offered rate ("served in full"). `unsure`: not known, since there were too few arrivals or
the rate is too near to the capacity. The others are reasons why goodput is less than the offered rate: work in flight grows,
iterations fail, arrivals are dropped, or the generator is at its own limit."""

Limit = Literal["queue_growth", "errors", "generator", "unknown"]
"""What limits the capacity: its queue grows, requests fail, or the generator."""


class RateLevelVerdict(Reading, frozen=True, kw_only=True):
    """The verdict on one level of an offered rate; for a ramp, on its last bin."""

    level: int
    """Index of the level."""
    offered_per_s: float
    """Arrivals due per second."""
    goodput_per_s: float
    """Iterations per second that ended without failure."""
    goodput_se_per_s: float
    """Its standard error."""
    state: LevelState
    failure_ratio: float
    dropped_ratio: float
    growth_per_s: float
    """Growth per second of the iterations in flight, those that wait for a user included. If it is significantly above zero, the
    level is not stationary, and its latency depends on its length."""
    recovery: bool = False
    """Whether it follows overload with a lower rate, so that the curve does not use it."""
    left_out: bool = False
    """Whether the curve does not use it because other processes, or a failure of generator, host or network, disturbed it,
    because its goodput varied too much, or because it belongs to another regime than the verdict."""
    is_part: bool = False
    """Whether its figures are those of a part of the level, since the service changed in it."""
    other_service: bool = False
    """Whether it is left out because it belongs to another regime (`RateVerdict.regimes`)."""
    unsteady: bool = False
    """Whether it is left out because its goodput varied too much for a mean, as while a backlog is worked off."""

    @property
    def why(self) -> Why | None:
        """Why the curve does not use it; None: it does."""
        if self.other_service:
            return "other_service"
        if self.unsteady:
            return "unsteady"
        return "disturbed" if self.left_out else "recovery" if self.recovery else None


class Overload(Reading, frozen=True, kw_only=True):
    """How the service behaves at the greatest rate that was offered beyond its capacity."""

    kind: Literal["refuses", "times_out", "queues"]
    """`refuses`: requests beyond the capacity fail quickly. `times_out`: requests fail after a long time. `queues`: work in
    flight grows as long as the rate is offered."""
    offered_per_s: float
    goodput_per_s: float
    failure_ratio: float
    growth_per_s: float
    dropped_ratio: float = 0.0
    """Share of the arrivals that were dropped."""
    fall_ratio: float | None = None
    """Share of the capacity that is lost at that rate; None unless goodput falls significantly."""

    @property
    def collapses(self) -> bool:
        """Whether more than half of the capacity is lost."""
        return self.fall_ratio is not None and self.fall_ratio > 0.5


class RateCapacity(Reading, frozen=True, kw_only=True):
    """The capacity as a rate, or a bound of it, by `kind`:

    - `capacity`: `per_s` is the greatest goodput, with its 90% interval.
    - `departs`: from the rate `per_s` on goodput is significantly less than the offered rate, but its maximum was not reached,
      or, if `overload` is given, the service may have become slower there. If it `rises` all is served up to a rate between
      `kept_per_s` and `high_per_s`.
    - `at_or_below`: goodput is significantly less already at the lowest rate, `high_per_s`.
    - `keeps_up`: all rates up to `per_s` were served in full.
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
    slower_times: float | None = None
    """If all rates were served in full, but at `per_s` the mean time from plan was several times that at the lowest rate: that
    ratio. The queue there is long, and may be one that grows slowly."""
    contradicted: bool = False
    """Whether a level was served in full although one at a lower rate was not: the service was not always the same."""
    rises: bool = False
    """Whether goodput rises from the lowest overloaded rate to the greatest by much of the rise of the rate: then a part of the
    requests is limited, such as those to one endpoint."""


class RateObjective(Reading, frozen=True, kw_only=True):
    """The greatest offered rate that keeps an objective; percentiles are of the time from plan."""

    name: Literal["p95_ms", "p99_ms", "failure_ratio"]
    limit: float
    state: Literal["crossed", "kept", "broken"]
    """`crossed`: met at a low rate and not at a high one. `kept`: met at all rates. `broken`: met at no rate."""
    per_s: float | None = None
    low_per_s: float | None = None
    high_per_s: float | None = None
    thin: bool = False
    """Whether the percentile at the limit rests on too few values."""


class RateRecovery(Reading, frozen=True, kw_only=True):
    """Whether the service recovered when the offered rate was reduced after overload: served the lower rate as before."""

    level: int
    from_per_s: float
    to_per_s: float
    recovered: bool | None
    """None: not known, since no earlier level had such a rate, or it is too early."""
    after_s: float | None = None
    """Seconds after the step down until it had recovered."""


class RateVerdict(Reading, frozen=True, kw_only=True):
    """The verdict on one epoch's levels of offered rates."""

    capacity: RateCapacity | None = None
    """None if no level has enough arrivals."""
    levels: tuple[RateLevelVerdict, ...] = ()
    """The verdicts on its levels, in the order they ran."""
    objectives: tuple[RateObjective, ...] = ()
    recoveries: tuple[RateRecovery, ...] = ()
    regimes: tuple[RegimeVerdict, ...] = ()
    """Regimes in the order they began; empty if the service did not change at levels of rates."""
    first_endpoint: EndpointDegradation | None = None
    """The endpoint that degrades first as the rate rises; None if there is none, or only one endpoint."""
