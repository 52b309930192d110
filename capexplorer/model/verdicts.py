"""Verdicts as frozen values: on a knee and its verification, on regimes, objectives and offered rates."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from .readings import Reading
from .stages import LimitName

Severity = Literal["critical", "error", "warning", "info"]
"""Highest first. A critical finding outside of the target means that the run does not describe the target."""

Confidence = Literal["high", "medium", "low"]
"""Highest first."""

SEVERITIES: tuple[Severity, ...] = ("critical", "error", "warning", "info")
CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")


VerificationStepName = Literal["soak", "beyond", "return_to_first"]

Disagreement = Literal["less_goodput", "more_goodput", "failures", "slower", "time_unexplained"]
"""How a level of a verification differs from the levels in which the knee was found. `time_unexplained`: neither responses nor
think time account for all of the users' time (Little's law)."""


class VerificationStep(Reading, frozen=True, kw_only=True):
    """One of the levels that verify a knee, measured or still to be measured."""

    name: VerificationStepName
    users: int
    """Users at which the level is to be measured."""
    least_s: float
    most_s: float
    """Settled seconds that the level takes: at least `least_s`, then until it is precise, but at most `most_s`."""
    measured_users: int | None = None
    """Users of the measured level; None: not measured yet, or too short or not precise enough."""
    measured_s: float | None = None
    """Settled seconds of that level."""
    disagreement: Disagreement | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether the level agrees with the knee; None: not measured."""
        return None if self.measured_users is None else self.disagreement is None


class Verification(Reading, frozen=True, kw_only=True):
    """Whether levels that were measured after a knee was found, by hand or not, show the same knee.

    `verified`: each step was measured and agrees. `contradicted`: one of them disagrees. `provisional`: anything else.
    """

    state: Literal["provisional", "verified", "contradicted"]
    steps: tuple[VerificationStep, ...]

    @property
    def open_steps(self) -> tuple[VerificationStep, ...]:
        """Steps that are still to be measured, in order: those that were not measured or disagree, and the return to the first
        level as long as the level beyond the knee is open, since it comes after that.
        """
        still_open = {step.name for step in self.steps if not step.agrees}
        if "beyond" in still_open:
            still_open.add("return_to_first")
        return tuple(step for step in self.steps if step.name in still_open)

    @property
    def disagreeing(self) -> tuple[VerificationStep, ...]:
        """Steps that were measured and disagree."""
        return tuple(step for step in self.steps if step.agrees is False)


# -- The verdict on the knee: the load beyond which goodput does not grow with users, with its evidence.

KneeKind = Literal["knee", "at_or_below", "bend", "latency_knee", "no_knee"]

Limit = LimitName | Literal["generator", "queue_growth", "errors", "queueing", "unknown"]
"""What limits goodput at the knee (`analysis.knee.limit`); the name of a limit on a single request: that one broke first."""


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
    top_efficiency: float | None = None
    """Goodput of the level with the most users, divided by that of the low-load line at its users."""
    top_slope: float | None = None
    """Slope of goodput from the knee on, divided by the slope of the low-load line; None with fewer than two levels there."""
    levels_below: int | None = None
    levels_beyond: int | None = None
    """Number of levels clearly below, and clearly beyond the knee."""
    half_width_ratio: float | None = None
    """Half-width of the interval, divided by N*."""
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
    beyond_limit_ratio: float | None = None
    beyond_limit_users: float | None = None
    """Under limits on a single request: the share beyond the one that most requests exceed, at the first level beyond the knee,
    and that level's users."""
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
    - `at_or_below`: N* is at most `users_high`, the lowest level; `users_low` is None.
    - `bend`: goodput falls below the low-load line from `users` on, but the levels do not show where its maximum begins.
      `limit` is "generator" if that may be the reason, else None.
    - `latency_knee`: latency is permanently higher from `users` on.
    - `no_knee`: there is no knee up to `users`.
    """

    kind: KneeKind
    epoch: int = 0
    users: float | None = None
    users_low: float | None = None
    users_high: float | None = None
    capacity_rps: float | None = None
    capacity_tokens_per_s: float | None = None
    """The same in tokens, or events, of streams; None: there are none."""
    within_limits: bool = False
    """Whether goodput is of the requests within limits on a single request. Then the knee is where it is greatest."""
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


Why = Literal["stacks", "experiment", "changed", "other_service", "recovery", "unsteady", "disturbed"]
"""Why a level is not counted; of several reasons the first here comes first.

- `stacks`: the target's stacks were sampled in it.
- `experiment`: something was changed beside the load (`model.experiments`).
- `changed`: the service changed during the level, so that its figures are means over two states.
- `other_service`: the service was in another state than the one that the verdict is about.
- `recovery`: the level followed overload with less load.
- `unsteady`: goodput at an offered rate varied too much for a mean, as while a backlog is worked off.
- `disturbed`: other processes used CPU that the level needed, or generator, host or network failed.
"""


# -- Changes of the service over time: regimes, changes within a level, and recovery from overload.


class RegimeVerdict(Reading, frozen=True, kw_only=True):
    """A regime: a part of an epoch in which the service did not change, and the change with which it began."""

    began_s: float
    """When it began, in seconds of the session."""
    until_s: float | None = None
    """When its last level ended, in seconds of the session; None if the epoch's latest level belongs to it, or in a log of an
    earlier version."""
    began: Literal["goodput", "failures", "latency"] | None = None
    """What changed; None for the first regime. Latency: of an offered rate that was measured before."""
    inside: bool = False
    """Whether no step of load explains the change, for example because it was in the middle of a level."""
    after_step_s: float | None = None
    """Seconds from the last step of load to the change."""
    at_rates: bool = False
    """Whether the loads of this verdict are offered rates (iterations a second), not users."""
    users: float
    """Load at the change."""
    before_rps: float | None = None
    """Goodput at the same load just before the change; None: not measured."""
    after_rps: float
    """Goodput of the regime's first level."""
    before_ms: float | None = None
    after_ms: float | None = None
    """Mean time from plan of the same offered rate before and after latency changed."""
    unchanged_until_s: float | None = None
    """If latency changed: end of the latest level of that rate before the change, in seconds of the session. The change came
    between then and `began_s`."""
    failure_ratio: float | None = None
    """Failure ratio of the regime's first level; None if no request ended there."""
    most_users: float
    most_rps: float
    """The highest load without failures, and its goodput; if all levels fail, the highest load."""
    most_since_s: float = 0.0
    """When the level of that load began, in seconds of the session."""
    return_users: float | None = None
    """If it began with a step up: the load to which a return would show whether load or a change of the service is the reason.
    None: the reason is known, or a return would not show it."""
    knee: KneeVerdict | None = None
    levels: tuple[int, ...] = ()
    """Indices of its levels. A level during which the service changed belongs to several regimes. Empty in older logs."""
    judged: bool = False
    """Whether the epoch's verdict on capacity is about this regime."""


class ChangePoint(Reading, frozen=True, kw_only=True):
    """A permanent change within a level, with the means before and after it: goodput in 1/s, or latency in ms."""

    at: int
    """Index of the first second after the change."""
    column: Literal["goodput", "latency"]
    before: float
    after: float


class Recovery(Reading, frozen=True, kw_only=True):
    """Whether the service recovered when users were reduced after overload: reached the earlier figures of that load again."""

    from_users: float
    to_users: float
    recovered: bool | None
    """None: not known, since no earlier level had this load, or it is too early."""
    after_s: float | None = None
    """Seconds after the last surplus user stopped until it had recovered."""
    goodput_ratio: float | None = None
    latency_ratio: float | None = None
    """Latest goodput and latency, divided by those that this load had before."""


# -- The verdict on all levels of an epoch: knees, the lines of the capacity curve, objectives, and which levels to measure next.


class UslFit(Reading, frozen=True, kw_only=True):
    """Gunther's Universal Scalability Law, X = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). It is drawn for
    comparison only; no verdict uses it."""

    lambda_rps: float
    sigma: float
    kappa: float
    peak_users: float | None
    """sqrt((1 - sigma) / kappa): users at the highest X, which is not a knee. None if X rises without bound."""
    peak_rps: float | None
    r_squared: float
    unreliable_why: Literal["few_levels", "no_bend", "poor_fit"] | None = msgspec.field(default=None, name="grey")
    """Why the fit is not reliable; None if it is. The log's key is `grey`: charts draw an unreliable fit in grey."""


class CurveFit(Reading, frozen=True, kw_only=True):
    """The lines of the capacity curve."""

    low_load_rps_per_user: float
    """lambda0: slope of the low-load line."""
    low_load_se: float
    """Its standard error."""
    baseline_users: tuple[float, ...]
    """Users of the levels that it was fitted to."""
    capacity_rps: float | None = None
    """Goodput of the capacity line; None without a knee."""
    capacity_se_rps: float | None = None
    """Its standard error."""
    usl: UslFit | None = None


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
    """Levels that would make the verdict more precise: `count` of this kind, with users in these bounds."""

    kind: MissingKind
    count: int = 1
    seconds: float | None = None
    """Least duration of each level; None: as long as other levels."""
    users_below: float | None = None
    users_above: float | None = None


class CapacityVerdict(Reading, frozen=True, kw_only=True):
    """The verdict on the levels of users of one epoch."""

    epoch: int = 0
    knee: KneeVerdict | None = None
    """Of the kind `knee`, `at_or_below`, `bend` or `no_knee`; None before three levels have settled."""
    latency_knee: KneeVerdict | None = None
    curve: CurveFit | None = None
    missing: tuple[Missing, ...] = ()


class EndpointDegradation(Reading, frozen=True, kw_only=True):
    """The endpoint whose latency or failures rise first, while those of the others do not."""

    method: str
    name: str
    """Data from a target or its users: escape before display."""
    users: float
    """Users of the lowest level at which they have risen; its offered rate if `at_rates`."""
    column: Literal["latency", "failures"]
    before: float
    """p95 in ms, or failure ratio, at low load."""
    after: float
    """p95 in ms, or failure ratio, at that level."""
    at_rates: bool = False
    """Whether it was found at levels of offered rates."""


class SloVerdict(Reading, frozen=True, kw_only=True):
    """The highest load at which an objective is met."""

    name: Literal["p95_ms", "p99_ms", "failure_ratio"]
    limit: float
    state: Literal["crossed", "kept", "broken"]
    """`crossed`: met at low load and not at high load. `kept`: met at all levels, so the highest load is at least `users`.
    `broken`: met at no level, so it is below `users_high`, and `users` is None."""
    users: float | None = None
    users_low: float | None = None
    users_high: float | None = None
    goodput_rps: float | None = None
    goodput_low_rps: float | None = None
    goodput_high_rps: float | None = None
    epoch: int = 0
    thin: bool = False
    """Whether the percentile at the limit rests on too few values (fewer than 1,000 for a p99, 200 for a p95)."""


# -- Verdicts on levels of offered rates and the capacity as a rate: frozen values for marks, screens, reports and the autopilot.
#
# Rates are iterations a second (an iteration is one task of a user, often one request). `None` means "not known", never zero.
# `wording` has the sentences.

LevelState = Literal["kept", "unsure", "queue_grows", "fails", "beyond_limits", "dropped", "generator"]
"""`kept`: the service completed the offered rate ("served in full"). `unsure`: not known, since there were too few arrivals or
the rate is too near to the capacity. The others are reasons why goodput is less than the offered rate: work in flight grows,
iterations fail, iterations have a request beyond a limit on a single one, arrivals are dropped, or the generator is at its own
limit."""

RateLimit = LimitName | Literal["queue_growth", "errors", "generator", "unknown"]
"""What limits the capacity: its queue grows, requests fail, the generator, or a limit on a single request, which broke first."""


class RateLevelVerdict(Reading, frozen=True, kw_only=True):
    """The verdict on one level of an offered rate; for a ramp, on its last bin."""

    level: int
    """Index of the level."""
    offered_per_s: float
    """Arrivals due per second."""
    goodput_per_s: float
    """Iterations per second that ended without failure, and within the limits on a single request."""
    goodput_se_per_s: float
    """Its standard error."""
    state: LevelState
    failure_ratio: float
    beyond_limits_ratio: float = 0.0
    """Share of the ended iterations with a request beyond a limit on a single one."""
    dropped_ratio: float
    growth_per_s: float
    """Growth per second of the iterations in flight, those that wait for a user included. If it is significantly above zero, the
    level is not stationary, and its latency depends on its length."""
    why: Why | None = None
    """Why the curve does not use it; None: it does."""
    is_part: bool = False
    """Whether its figures are those of a part of the level, since the service changed in it."""


OverloadKind = Literal["refuses", "times_out", "queues", "beyond_limits"]
"""`refuses`: requests beyond the capacity fail quickly. `times_out`: requests fail after a long time. `queues`: work in flight
grows as long as the rate is offered. `beyond_limits`: requests exceed a limit on a single request."""


class Overload(Reading, frozen=True, kw_only=True):
    """How the service behaves at the greatest rate that was offered beyond its capacity."""

    kind: OverloadKind
    offered_per_s: float
    goodput_per_s: float
    failure_ratio: float
    beyond_limits_ratio: float = 0.0
    """As of a level."""
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
      or, if `overload` is given, it falls and the service may have become slower there. If it `rises` all is served up to a rate
      between `kept_per_s` and `high_per_s`.
    - `at_or_below`: goodput is significantly less already at the lowest rate, `high_per_s`.
    - `keeps_up`: all rates up to `per_s` were served in full.
    """

    kind: Literal["capacity", "departs", "at_or_below", "keeps_up"]
    per_s: float
    low_per_s: float | None = None
    high_per_s: float | None = None
    kept_per_s: float | None = None
    """The greatest offered rate that was served in full."""
    limit: RateLimit | None = None
    overload: Overload | None = None
    confidence: Confidence | None = None
    slower_times: float | None = None
    """If all rates were served in full, but at `per_s` the mean time from plan was several times that at the lowest rate: that
    ratio. The queue there is long, and may be one that grows slowly."""
    contradicted: bool = False
    """Whether a level was served in full although one at a lower rate was not: the service was not always the same."""
    rises: bool = False
    """Whether goodput probably still rises with the rate beyond `per_s`: then a part of the requests is limited, such as those to
    one endpoint."""
    may_rise: bool = False
    """For a capacity: whether the rates so far leave that open."""
    tokens_per_s: float | None = None
    """For a capacity: the same in tokens, or events, of streams; None: there are none."""
    within_limits: bool = False
    """Whether goodput is of the iterations within limits on a single request."""


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

    @property
    def return_per_s(self) -> float | None:
        """The rate whose repetition would show whether load or a change of the service explains what was found; None: known."""
        undecided = [each.return_users for each in self.regimes if each.return_users is not None]
        found = self.capacity
        if undecided or found is None or found.kind != "departs" or found.overload is None or found.overload.fall_ratio is None:
            return undecided[-1] if undecided else None
        rates = [each for each in (found.kept_per_s, found.per_s) if each is not None]
        return min(rates, key=self._first_level_of)

    def _first_level_of(self, per_s: float) -> int:
        """Index of the level nearest to a rate: of one that was served and one that was not, the first is repeated."""
        return min(self.levels, key=lambda each: abs(each.offered_per_s - per_s)).level if self.levels else 0
