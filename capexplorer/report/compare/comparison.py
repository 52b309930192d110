"""The types of a comparison: curves, and each curve against the first one, level by level. Formats show them and compute
nothing."""

from __future__ import annotations

import msgspec

from ... import wording
from ...model.events import ClientOverhead, Mark
from ...model.findings import Knee
from ...model.intervals import Z90
from ...model.load import Load, Rate, Users
from ...model.timeline import Timeline
from ...model.verdicts import KneeVerdict, RegimeVerdict
from ...wording.quantities import offered_rate
from .across_levels import OverallChange
from .difference import Difference
from .environment import Differing, RunConditions
from .estimates import DEGREES_MOST, MISSING, Estimate, SecondLatencies

CAPACITY_DEGREES = 2.0
"""Degrees of freedom that each level beyond the knee gives the capacity's error: its seconds are not independent."""


class Session(msgspec.Struct, frozen=True):
    """A session to compare. `epoch`: None selects each epoch that has a settled level."""

    timeline: Timeline
    epoch: int | None = None
    title: str | None = None
    damaged: int = 0
    """Number of lines of its log that were left out or are missing."""
    latencies: SecondLatencies = msgspec.field(default_factory=SecondLatencies)
    """Latencies of the timeline's seconds; without them the noise of percentiles is unknown."""


class CurvePoint(msgspec.Struct, frozen=True):
    """The settled levels of one load: all of a number of users, pooled, or the longest of an offered rate."""

    load: Load
    figures: dict[str, Estimate]
    """At an offered rate: goodput of iterations, percentiles of the time from plan, share of iterations that failed or were
    dropped."""
    levels: int = 1
    disturbed: bool = False
    """Whether other processes disturbed one of the levels."""


class Curve(msgspec.Struct, frozen=True):
    """One session, or one of its epochs."""

    letter: str
    id: str
    epoch: int | None
    """None: the session has only one."""
    title: str | None
    label: str | None
    started_at: str
    complete: bool
    damaged: int
    """Number of lines of its log that were left out or are missing."""
    points: tuple[CurvePoint, ...]
    """Points by users. Ramps have none, because their user count changes."""
    unsettled: tuple[int, ...]
    """User counts that were measured but never settled."""
    marked_knee: Knee | None
    """The finding of the knee; None: there is no mark of one."""
    verdict: KneeVerdict | None
    """The detector's verdict, with or without a knee; None if no detector ran."""
    judged: wording.Judgement
    """The verdict's sentence."""
    marks: tuple[Mark, ...]
    """Current causes, bottlenecks and leaks, without findings that nothing is wrong."""
    overheads: dict[str, ClientOverhead]
    run: RunConditions
    regimes: tuple[RegimeVerdict, ...] = ()
    """Periods in which the service did not change; empty if no level is left out because it changed."""
    rate_points: tuple[CurvePoint, ...] = ()
    """Points by offered rate. They are never compared with those of users."""
    rate_capacity: Estimate | None = None
    """The capacity as a rate; None if its maximum was not measured."""
    distinction: str = ""
    """What distinguishes it from the first curve (the first one from the second): `--pool 4`; empty if nothing does."""

    @property
    def knee(self) -> dict[str, Estimate]:
        """`knee` and `capacity` with their errors; empty without a marked knee."""
        if self.marked_knee is None:
            return {}
        found, users = self.marked_knee.verdict, self.knee_users
        levels = found.evidence.levels_beyond or DEGREES_MOST
        return {
            "knee": Estimate(found.users, None if users is None else (users[1] - users[0]) / (2 * Z90)),
            "capacity": Estimate(found.capacity_rps, self.marked_knee.capacity_se_rps, degrees=CAPACITY_DEGREES * levels),
        }

    @property
    def knee_users(self) -> tuple[float, float] | None:
        """The knee's 90% interval in users."""
        found = self.marked_knee.verdict if self.marked_knee is not None else None
        if found is None or found.users_low is None or found.users_high is None:
            return None
        return found.users_low, found.users_high

    @property
    def limit(self) -> tuple[float, float] | None:
        """(users from which it may be at its limit, users from which it is): the knee's interval, or where the curve bends before
        its maximum; None if it is not limited at any level.
        """
        if self.knee_users is not None:
            return self.knee_users
        users, verdict = self.knee["knee"].value if self.knee else None, self.verdict
        if users is None and verdict is not None and verdict.kind != "no_knee":
            users = verdict.users_high if verdict.kind == "at_or_below" else verdict.users
        return None if users is None else (users, users)

    @property
    def named(self) -> str:
        """`B (--pool 4)`: its letter with what distinguishes it."""
        return f"{self.letter} ({self.distinction})" if self.distinction else self.letter

    @property
    def name(self) -> str:
        """`ID` or `ID#1`."""
        return self.id if self.epoch is None else f"{self.id}#{self.epoch}"


class MatchedLoad(msgspec.Struct, frozen=True):
    """A load that both curves have."""

    load: Load
    differences: tuple[Difference, ...]
    disturbed: bool = False
    """Whether other processes disturbed one of the two."""
    at_limit: bool = True
    """Whether one of the two is at its limit there: from the low end of the lesser knee's interval on, or where a curve bends.
    True if neither is limited."""

    @property
    def name(self) -> str:
        """Its name in tables: `48`, `200/s`."""
        return str(self.load.users) if isinstance(self.load, Users) else offered_rate(self.load.per_s)

    def __getitem__(self, figure: str) -> Difference:
        """That of a figure; not measured for stages of sessions without streams."""
        missing = Difference(figure, MISSING, MISSING, "not_measured")
        return next((each for each in self.differences if each.figure == figure), missing)


class Pair(msgspec.Struct, frozen=True):
    """A curve against the first one."""

    before: Curve
    after: Curve
    levels: tuple[MatchedLoad, ...]
    """Of numbers of users."""
    knee: tuple[Difference, ...]
    """`knee` and `capacity`; not measured unless both have a knee."""
    overall: tuple[OverallChange, ...]
    """Changes of latencies over all common user counts; none if the client classes differ."""
    clients: tuple[str, str] | None
    """The two client classes, where they differ."""
    only_before: tuple[Load, ...] = ()
    only_after: tuple[Load, ...] = ()
    """Loads that settled only in one of the two: users, and if both have rates, rates."""
    rates: tuple[MatchedLoad, ...] = ()
    """Of offered rates."""
    rate_capacity: Difference | None = None
    """The difference of the capacities as rates; None if one of the curves has no level of a rate."""

    @property
    def loads(self) -> tuple[MatchedLoad, ...]:
        """User counts in common, then rates in common."""
        return (*self.levels, *self.rates)

    @property
    def capacities(self) -> tuple[Difference, ...]:
        """The measured differences of the knee, its capacity, and the capacity as a rate."""
        found = (*self.knee, *([self.rate_capacity] if self.rate_capacity is not None else ()))
        return tuple(one for one in found if one.judgement != "not_measured")

    @property
    def claimed(self) -> tuple[Difference | OverallChange, ...]:
        """The claimed differences that are for the better or for the worse. The knee is not among them: it moves with think time
        and latency, too.
        """
        at_loads = (one for load in self.loads for one in load.differences)
        capacities = (one for one in self.capacities if one.figure != "knee")
        compared: list[Difference | OverallChange] = [*at_loads, *capacities, *self.overall]
        return tuple(one for one in compared if one.claimed and one.better is not None)

    @property
    def directions(self) -> frozenset[bool]:
        """Whether the claimed differences are for the better (True), for the worse (False), or both; empty without any."""
        return frozenset(one.better for one in self.claimed if one.better is not None)

    @property
    def unmatched(self) -> tuple[tuple[str, str], ...]:
        """(letter, loads that settled only in this curve, in words)."""
        found = []
        for curve, loads in ((self.before, self.only_before), (self.after, self.only_after)):
            users = ", ".join(str(each.users) for each in loads if isinstance(each, Users))
            rates = ", ".join(offered_rate(each.per_s) for each in loads if isinstance(each, Rate))
            found += [(curve.letter, words) for words in (users and f"{users} users", rates) if words]
        return tuple(found)


class Comparison(msgspec.Struct, frozen=True):
    """Everything that a format shows; the sentences are in `sentences`."""

    curves: tuple[Curve, ...]
    pairs: tuple[Pair, ...]
    conditions: tuple[Differing, ...]
    """Conditions that differ although they should not."""
    subject: tuple[Differing, ...]
    """Properties whose effect is compared."""
