"""The verdict on the knee: the load beyond which goodput does not grow with users, with its evidence."""

from __future__ import annotations

import math
from typing import Literal

from ..grades import Confidence
from ..readings import Reading
from .knee_verification import Verification

KneeKind = Literal["knee", "at_or_below", "bend", "latency_knee", "no_knee"]

Limit = Literal["generator", "queue_growth", "errors", "queueing", "unknown"]
"""What limits goodput at the knee (`analysis.knee.limit`)."""


class Peak(Reading, frozen=True, kw_only=True):
    """The highest goodput, if goodput falls significantly at more users."""

    users: float
    goodput_rps: float
    shape: Literal["retrograde", "collapse"]
    """`collapse`: goodput falls below half of the peak."""
    fall_ratio: float
    """Share of the peak that is lost at the worst level beyond it."""


class KneeEvidence(Reading, frozen=True, kw_only=True):
    """The evidence of a verdict; None: not measured, or not used for this kind of verdict."""

    low_load_rps_per_user: float | None = None
    """Slope of the low-load line."""
    baseline_levels: int | None = None
    """Number of levels that define the low-load line."""
    slower_levels: int | None = None
    """Number of levels with fewer users, left out of that line because the service was slower then; None: no such level."""
    top_efficiency: float | None = None
    """Goodput of the level with the most users, divided by that of the low-load line at its users."""
    top_slope: float | None = None
    """Slope of goodput at that level, divided by the slope of the low-load line."""
    levels_below: int | None = None
    levels_beyond: int | None = None
    """Number of levels clearly below, and clearly beyond the knee."""
    half_width_ratio: float | None = None
    """Half-width of the interval, divided by N*."""
    second_detector_users: float | None = None
    """Knee by a broken-line fit or by Kneedle, whichever is nearer to N*."""
    little_ratio: float | None = None
    """Beyond the knee: users divided by those that Little's law accounts for, by responses and the other part of a cycle at low
    load."""
    unaccounted_ratio: float | None = None
    """Set if it makes the confidence low: users divided by those that responses and pauses account for (Little's law), at the
    median level or beyond the knee."""
    work_lag_ratio: float | None = None
    """Share of accepted work that was not finished beyond the knee."""
    failure_ratio_more: float | None = None
    """Failure ratio beyond the knee minus that of the baseline levels."""
    failures_replied_ratio: float | None = None
    """Share of the failures beyond the knee that got a reply with an HTTP status."""
    failures_refused_ratio: float | None = None
    """Share of these failures with a status that refuses: 429, 503."""
    response_ratio: float | None = None
    """Response time beyond the knee divided by that at low load."""
    loop_lag_ms: float | None = None
    """Loop lag (p99) of the generator beyond the knee."""
    knee_not_below_users: float | None = None
    """For a bend: a knee cannot be at fewer users."""
    top_users: float | None = None
    """For "no knee": users of the top level, if it is below the low-load line; a knee may be between `users` and it."""
    latency_ms: float | None = None
    low_load_latency_ms: float | None = None
    ratio: float | None = None
    """For a latency knee: mean latency of its level, mean latency at low load, and the first divided by the second."""
    soak_agrees: bool | None = None
    beyond_agrees: bool | None = None
    return_agrees: bool | None = None
    """Whether the soak at about 70% of the knee, the level 20% beyond it and the return to the first level agree with the knee
    (see `Verification`)."""

    def figures(self) -> dict[str, float | int | bool]:
        """Figures by name, without those that are not known or not finite."""
        named = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: value for name, value in named if value is not None and math.isfinite(value)}


class KneeVerdict(Reading, frozen=True, kw_only=True):
    """A knee, or why there is none, in the levels of one epoch, by `kind`:

    - `knee`: `users` is N*, with its 90% interval.
    - `at_or_below`: N* is at most `users_high`, the lowest level (after `slower_levels`); `users_low` is None.
    - `bend`: goodput falls below the low-load line from `users` on, but its maximum was not reached. A knee is not below
      `users_low`. `limit` is "generator" if that may be the reason, else None.
    - `latency_knee`: latency is permanently higher from `users` on.
    - `no_knee`: there is no knee up to `users`.
    """

    kind: KneeKind
    epoch: int = 0
    users: float | None = None
    users_low: float | None = None
    users_high: float | None = None
    capacity_rps: float | None = None
    peak: Peak | None = None
    limit: Limit | None = None
    confidence: Confidence | None = None
    soft: bool = False
    """Whether goodput still rises slowly beyond the knee."""
    since_s: float | None = None
    until_s: float | None = None
    """Seconds of the session between which the service has this knee; None: the start or end of the epoch."""
    provisional: bool = True
    """Whether the knee is not verified."""
    verification: Verification | None = None
    """None for kinds other than `knee`, and if a log or table does not contain it."""
    evidence: KneeEvidence = KneeEvidence()
