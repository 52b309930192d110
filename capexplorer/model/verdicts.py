"""The results of capacity analysis: frozen values that marks, screens, reports and the autopilot share.

Users are N, rates are finished work per second. `None` means "not known", never zero. No sentences here: `wording` makes them.
"""

from __future__ import annotations

import math
from typing import Literal

from .grades import Confidence
from .readings import Reading

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


VerificationStepName = Literal["soak", "beyond", "return_to_first"]

Disagreement = Literal["less_goodput", "more_goodput", "failures", "slower", "time_unexplained"]
"""How a level of a verification differs from the levels in which the knee was found. `time_unexplained`: neither responses nor
think time account for all of the users' time (Little's law)."""


class VerificationStep(Reading, frozen=True, kw_only=True):
    """One of the levels that verify a knee, measured or still to be measured."""

    name: VerificationStepName
    users: int
    """User count at which the level is to be measured."""
    least_s: float
    most_s: float
    """Settled seconds that the level takes: at least `least_s`, longer until it is precise, but at most `most_s`."""
    measured_users: int | None = None
    """User count of the measured level; None: not measured yet, or still too short or too imprecise."""
    measured_s: float | None = None
    """Settled seconds of that level."""
    disagreement: Disagreement | None = None

    @property
    def agrees(self) -> bool | None:
        """None: not measured."""
        return None if self.measured_users is None else self.disagreement is None


class Verification(Reading, frozen=True, kw_only=True):
    """Whether levels that were measured after a knee was found show the same knee; it does not matter who made them.

    `verified`: each step was measured and agrees. `contradicted`: one of them disagrees. `provisional`: anything else.
    """

    state: Literal["provisional", "verified", "contradicted"]
    steps: tuple[VerificationStep, ...]

    @property
    def lacking(self) -> tuple[VerificationStep, ...]:
        """Steps that were not measured or disagree, the most useful first."""
        return tuple(step for step in self.steps if not step.agrees)

    @property
    def disagreeing(self) -> tuple[VerificationStep, ...]:
        """Steps that were measured and disagree."""
        return tuple(step for step in self.steps if step.agrees is False)


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


class UslFit(Reading, frozen=True, kw_only=True):
    """Gunther's Universal Scalability Law, X = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). It is drawn for
    comparison only; no verdict uses it."""

    lambda_rps: float
    sigma: float
    kappa: float
    peak_users: float | None
    """sqrt((1 - sigma) / kappa): the users at the highest X, not a knee. None if X rises without bound."""
    peak_rps: float | None
    r_squared: float
    grey: Literal["few_levels", "no_bend", "poor_fit"] | None = None
    """Why the fit is shown in grey; None if it is not."""


class CurveFit(Reading, frozen=True, kw_only=True):
    """Lines of the capacity curve."""

    low_load_rps_per_user: float
    """lambda0: slope of the low-load line."""
    low_load_se: float
    baseline_users: tuple[float, ...]
    """The levels that define it."""
    capacity_rps: float | None = None
    """Height of the capacity line; None while there is no knee."""
    capacity_se_rps: float | None = None
    usl: UslFit | None = None


class EndpointDegradation(Reading, frozen=True, kw_only=True):
    """The endpoint whose latency or failures rise first, while those of the others do not."""

    method: str
    name: str
    """Data from a target or its users: escape before display."""
    users: float
    """User count of the first level at which they have risen."""
    column: Literal["latency", "failures"]
    before: float
    """p95 in ms, or the failure ratio, at low load."""
    after: float
    """The same at that level."""


MissingKind = Literal[
    "levels",
    "lower_levels",
    "higher_levels",
    "between_levels",
    "longer_levels",
    "soak",
    "beyond",
    "return_to_first",
    "return_to_clean",
]


class Missing(Reading, frozen=True, kw_only=True):
    """Measurements that would make the verdict more precise: `count` levels of that kind, with these users."""

    kind: MissingKind
    count: int = 1
    seconds: float | None = None
    """Minimum duration of each level; None: as long as other levels."""
    users_below: float | None = None
    users_above: float | None = None


class CapacityVerdict(Reading, frozen=True, kw_only=True):
    """The verdict on one epoch's levels."""

    epoch: int = 0
    knee: KneeVerdict | None = None
    """knee, at_or_below, bend or no_knee; None before three levels have settled."""
    latency_knee: KneeVerdict | None = None
    curve: CurveFit | None = None
    missing: tuple[Missing, ...] = ()


class RegimeVerdict(Reading, frozen=True, kw_only=True):
    """A part of an epoch in which the service did not change, and the change with which it began."""

    began_s: float
    """Seconds of the session."""
    began: Literal["goodput", "failures"] | None = None
    """What changed; None: it is the first."""
    inside: bool = False
    """Whether it began in the middle of a level, so that no step of load explains the change."""
    after_step_s: float | None = None
    """Seconds from the last step of users to the change."""
    users: float
    """User count at the change."""
    before_rps: float | None = None
    """Goodput of the same user count just before the change; None: not measured."""
    after_rps: float
    failure_ratio: float | None = None
    """Failure ratio of the regime's first level."""
    most_users: float
    """The highest user count without failures, and its goodput; if all levels fail, the highest user count."""
    most_rps: float
    return_users: float | None = None
    """It began with a step up: a return to so many users, who were served well before, tells load from a change in time. None:
    that is known, or not to be known so."""
    knee: KneeVerdict | None = None
    judged: bool = False
    """Whether the epoch's verdict on capacity is about this regime."""


class SloVerdict(Reading, frozen=True, kw_only=True):
    """The highest load at which an objective is met."""

    name: Literal["p95_ms", "p99_ms", "failure_ratio"]
    limit: float
    state: Literal["crossed", "kept", "broken"]
    """`crossed`: kept at the low end, broken at the high end. `kept`: at all levels, so the answer is at least `users`.
    `broken`: at every level, so it is below `users_high`, and `users` is None."""
    users: float | None = None
    users_low: float | None = None
    users_high: float | None = None
    goodput_rps: float | None = None
    goodput_low_rps: float | None = None
    goodput_high_rps: float | None = None
    epoch: int = 0
    thin: bool = False
    """Whether the percentile at the limit rests on too few values (fewer than 1,000 for a p99, 200 for a p95)."""


class ChangePoint(Reading, frozen=True, kw_only=True):
    """A permanent change within a level: `at` is in seconds from the series' start; the means before and after it."""

    at: int
    column: Literal["goodput", "latency"]
    before: float
    after: float


class Recovery(Reading, frozen=True, kw_only=True):
    """Whether the service, when users were reduced after overload, reached the earlier figures of that load again."""

    from_users: float
    to_users: float
    recovered: bool | None
    """None: no earlier level to compare with."""
    after_s: float | None = None
    goodput_ratio: float | None = None
    latency_ratio: float | None = None
