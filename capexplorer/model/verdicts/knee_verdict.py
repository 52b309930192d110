"""The verdict on where throughput stops following the load, with its evidence."""

from __future__ import annotations

import math
from typing import Literal

from ..grades import Confidence
from ..readings import Reading
from .knee_verification import Verification

KneeKind = Literal["knee", "at_or_below", "bend", "latency_knee", "no_knee"]

Limit = Literal["generator", "queue_growth", "errors", "queueing", "unknown"]


class Peak(Reading, frozen=True, kw_only=True):
    """The highest goodput, if goodput falls significantly at more users."""

    users: float
    goodput_rps: float
    shape: Literal["retrograde", "collapse"]
    """`collapse`: later goodput is less than half of it."""
    fall_ratio: float
    """Share of the peak that was lost at the worst later level."""


class KneeEvidence(Reading, frozen=True, kw_only=True):
    """The evidence of a verdict; None: not measured, or not used for this kind of verdict."""

    low_load_rps_per_user: float | None = None
    """Slope of the low-load line."""
    baseline_levels: int | None = None
    """Number of levels that define the low-load line."""
    top_efficiency: float | None = None
    """Goodput of the level with the most users, divided by the low-load line at that count."""
    top_slope: float | None = None
    """Slope of goodput at the highest level, divided by the slope of the low-load line."""
    levels_below: int | None = None
    levels_beyond: int | None = None
    half_width_ratio: float | None = None
    """Half the interval over N*."""
    second_detector_users: float | None = None
    """Knee by a broken-stick fit or by Kneedle, whichever lies nearer."""
    little_ratio: float | None = None
    """Users divided by those that responses and the rest of a cycle at low load account for (Little's law), beyond the knee."""
    unaccounted_ratio: float | None = None
    """Where Little's law forbids confidence: users divided by those that responses and pauses account for, at the median level
    or beyond the knee."""
    work_lag_ratio: float | None = None
    """Share of accepted work that was not finished."""
    failure_ratio_more: float | None = None
    """Failure ratio above that of the baseline levels."""
    failures_replied_ratio: float | None = None
    """Share of the failures beyond the knee that got a reply with an HTTP status."""
    failures_refused_ratio: float | None = None
    """Share with a status that refuses: 429, 503."""
    response_ratio: float | None = None
    loop_lag_ms: float | None = None
    knee_not_below_users: float | None = None
    """For a bend: user count below which there is no knee."""
    latency_ms: float | None = None
    """For a latency knee: mean latency of its level, and at low load."""
    low_load_latency_ms: float | None = None
    ratio: float | None = None
    soak_agrees: bool | None = None
    """Whether the soak at about 70% of the knee, the level 20% beyond it and the return to the first level agree with the knee
    (see `Verification`)."""
    beyond_agrees: bool | None = None
    return_agrees: bool | None = None

    def figures(self) -> dict[str, float | int | bool]:
        """The known, finite figures by name."""
        named = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: value for name, value in named if value is not None and math.isfinite(value)}


class KneeVerdict(Reading, frozen=True, kw_only=True):
    """One conclusion about one epoch's levels.

    `knee`: users is N*, with its 90% interval. `at_or_below`: N* is at most `users_high`, the lowest level; `users_low` is None.
    `bend`: goodput falls below the low-load line from `users` on, but its maximum was not reached; the knee, if there is one, is
    not below `users_low`; its `limit` is "generator" where that may have made it, else None. `latency_knee`: latency rises
    permanently from `users` on. `no_knee`: none up to `users`.
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
    """Goodput still rises slowly beyond the knee."""
    since_s: float | None = None
    until_s: float | None = None
    """Seconds of the session between which the knee is valid for the service; None: the epoch's start or end."""
    provisional: bool = True
    """The knee is not verified."""
    verification: Verification | None = None
    """A knee's verification. None for other kinds, and if the log or table does not contain it."""
    evidence: KneeEvidence = KneeEvidence()
