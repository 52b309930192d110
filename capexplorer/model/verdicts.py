"""What analysis concludes about capacity: frozen values that cross rooms (marks, screens, reports, the autopilot).

Users are N, rates are finished work a second. `None` means "not known", never zero. Nothing here is a
sentence: verdicts are worded in wording alone.
"""

from __future__ import annotations

import math
from typing import Literal

from .grades import Confidence
from .readings import Reading

KneeKind = Literal["knee", "at_or_below", "bend", "latency_knee", "no_knee"]

Limit = Literal["generator", "queue_growth", "errors", "queueing", "unknown"]


class Peak(Reading, frozen=True, kw_only=True):
    """The greatest goodput, where it falls significantly afterwards."""

    users: float
    goodput_rps: float
    shape: Literal["retrograde", "collapse"]
    """`collapse`: later goodput is less than half of it."""
    fall_ratio: float
    """Share of the peak that was lost at the worst later level."""


class KneeEvidence(Reading, frozen=True, kw_only=True):
    """What a verdict rests on; None: not measured, or not asked at this kind of verdict."""

    low_load_rps_per_user: float | None = None
    """Slope of the low-load line."""
    baseline_levels: int | None = None
    """Levels that define it."""
    top_efficiency: float | None = None
    """Goodput of the level with the most users over the low-load line there."""
    top_slope: float | None = None
    """Slope of goodput there, over that of the low-load line."""
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
    """By how much finished work fell behind accepted work."""
    failure_ratio_more: float | None = None
    """Points of failures above the baseline's."""
    failures_replied_ratio: float | None = None
    """Share of the failures beyond the knee that got a reply with an HTTP status."""
    failures_refused_ratio: float | None = None
    """Share with a status that refuses: 429, 503."""
    response_ratio: float | None = None
    loop_lag_ms: float | None = None
    knee_not_below_users: float | None = None
    """Of a bend: no knee is below."""
    latency_ms: float | None = None
    """Of a latency knee: its level's mean, and that of low load."""
    low_load_latency_ms: float | None = None
    ratio: float | None = None
    soak_agrees: bool | None = None
    """What a level at about 70% of the knee, one 20% beyond it and a return to the first level showed (see `Verification`)."""
    beyond_agrees: bool | None = None
    return_agrees: bool | None = None

    def figures(self) -> dict[str, float | int | bool]:
        """Those that are known and finite, by name."""
        named = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: value for name, value in named if value is not None and math.isfinite(value)}


VerificationStepName = Literal["soak", "beyond", "return_to_first"]

Disagreement = Literal["less_goodput", "more_goodput", "failures", "slower", "time_unexplained"]
"""What a level of a verification showed, against the levels that the knee was found in. `time_unexplained`: users spend time that
neither responses nor waits account for (Little's law)."""


class VerificationStep(Reading, frozen=True, kw_only=True):
    """One of the levels that verify a knee: measured, or wanted."""

    name: VerificationStepName
    users: int
    """Where the level is wanted."""
    least_s: float
    most_s: float
    """Settled seconds that it takes: from the least on if it is precise by then, and at most."""
    measured_users: int | None = None
    """Of the level that was measured; None: none was, or it is still too short or too imprecise."""
    measured_s: float | None = None
    """Settled seconds of that level."""
    disagreement: Disagreement | None = None

    @property
    def agrees(self) -> bool | None:
        """None: not measured."""
        return None if self.measured_users is None else self.disagreement is None


class Verification(Reading, frozen=True, kw_only=True):
    """Whether levels that were measured after a knee was found show the same knee, whoever made them.

    `verified`: each step was measured and agrees. `contradicted`: one of them disagrees. `provisional`: anything else.
    """

    state: Literal["provisional", "verified", "contradicted"]
    steps: tuple[VerificationStep, ...]

    @property
    def lacking(self) -> tuple[VerificationStep, ...]:
        """Steps that were not measured or disagree, in the order in which they help."""
        return tuple(step for step in self.steps if not step.agrees)

    @property
    def disagreeing(self) -> tuple[VerificationStep, ...]:
        """Steps that were measured and disagree."""
        return tuple(step for step in self.steps if step.agrees is False)


class KneeVerdict(Reading, frozen=True, kw_only=True):
    """One conclusion about one epoch's levels.

    `knee`: users is N*, with its 90% interval. `at_or_below`: N* is at most `users_high`, the lowest level; `users_low` is None.
    `bend`: goodput falls behind the low-load line from `users` on, but its ceiling was not seen; the knee, if there is one, is
    not below `users_low`; its `limit` is "generator" where that may have made it, else None. `latency_knee`: latency rises for
    good from `users` on. `no_knee`: none up to `users`.
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
    """Goodput still creeps up beyond the knee."""
    since_s: float | None = None
    until_s: float | None = None
    """It holds for the service between these moments, seconds of the session; None: from the epoch's start, to its end."""
    provisional: bool = True
    """It is not verified."""
    verification: Verification | None = None
    """Of a knee. None: of another kind, or from a log or a table that tells nothing of it."""
    evidence: KneeEvidence = KneeEvidence()


class UslFit(Reading, frozen=True, kw_only=True):
    """Gunther's Universal Scalability Law, X = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). It is drawn for comparison and
    is no verdict."""

    lambda_rps: float
    sigma: float
    kappa: float
    peak_users: float | None
    """sqrt((1 - sigma) / kappa): where it is greatest, not a knee. None when it rises for ever."""
    peak_rps: float | None
    r_squared: float
    grey: Literal["few_levels", "no_bend", "poor_fit"] | None = None
    """Why it must be shown greyed out; None: it need not."""


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


class EndpointDeparture(Reading, frozen=True, kw_only=True):
    """The endpoint that leaves the low-load line first, while the others stay."""

    method: str
    name: str
    """Data from a target or its users: escape before display."""
    users: float
    """Of the level from which on it has left."""
    column: Literal["latency", "failures"]
    before: float
    """p95 in ms, or the failure ratio, at low load."""
    after: float
    """The same at that level."""


MissingKind = Literal[
    "levels", "lower_levels", "higher_levels", "between_levels", "longer_levels", "soak", "beyond", "return_to_first"
]


class Missing(Reading, frozen=True, kw_only=True):
    """What more would sharpen the verdict: `count` levels of that kind, with these users."""

    kind: MissingKind
    count: int = 1
    seconds: float | None = None
    """Of each, at least; None: a level as long as others."""
    users_below: float | None = None
    users_above: float | None = None


class CapacityVerdict(Reading, frozen=True, kw_only=True):
    """All that one epoch's levels say."""

    epoch: int = 0
    knee: KneeVerdict | None = None
    """knee, at_or_below, bend or no_knee; None before three levels have settled."""
    latency_knee: KneeVerdict | None = None
    curve: CurveFit | None = None
    missing: tuple[Missing, ...] = ()


class RegimeVerdict(Reading, frozen=True, kw_only=True):
    """A stretch of an epoch in which the service was one and the same, and what changed at its beginning."""

    began_s: float
    """Seconds of the session."""
    began: Literal["goodput", "failures"] | None = None
    """What changed; None: it is the first."""
    inside: bool = False
    """It began in the middle of a level: no step of load explains it."""
    after_step_s: float | None = None
    """From the last step of users to its beginning."""
    users: float
    """At its beginning."""
    before_rps: float | None = None
    """Goodput of as many users just before; None: they were not measured."""
    after_rps: float
    failure_ratio: float | None = None
    """Of its first level."""
    most_users: float
    """The greatest load that it did not fail at, and its goodput; of one that fails everywhere the greatest load."""
    most_rps: float
    knee: KneeVerdict | None = None
    judged: bool = False
    """It is the one that the epoch's verdict on capacity is about."""


class SloVerdict(Reading, frozen=True, kw_only=True):
    """The greatest load that keeps an objective."""

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
    """The percentile at the edge rests on too few values (p99 under 1,000, p95 under 200)."""


class ChangePoint(Reading, frozen=True, kw_only=True):
    """A change for good inside a level: `at` seconds from the series' start, means before and after it."""

    at: int
    column: Literal["goodput", "latency"]
    before: float
    after: float


class Recovery(Reading, frozen=True, kw_only=True):
    """Whether a level on the way down from overload came back to what its load gave before."""

    from_users: float
    to_users: float
    recovered: bool | None
    """None: nothing to compare with."""
    after_s: float | None = None
    goodput_ratio: float | None = None
    latency_ratio: float | None = None
