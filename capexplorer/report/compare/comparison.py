"""What a comparison holds: its curves, each against the first one, level by level. Every form shows this; none computes more."""

from __future__ import annotations

from dataclasses import dataclass, field

from ... import wording
from ...model.events import ClientFloor, Mark
from ...model.timeline import Timeline
from ...model.verdicts import KneeVerdict
from .across_levels import OverallChange
from .difference import Difference
from .environment import Differing, Made
from .estimates import Estimate
from .second_latencies import SecondLatencies


@dataclass(frozen=True, slots=True)
class Session:
    """What was asked for. `epoch` None: each epoch that has a settled level."""

    timeline: Timeline
    epoch: int | None = None
    title: str | None = None
    damaged: int = 0
    """Lines of its log that were left out, or are missing."""
    latencies: SecondLatencies = field(default_factory=SecondLatencies)
    """Of the same events as the timeline; without them the noise of percentiles is unknown."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """All settled levels of one user count, pooled."""

    users: int
    levels: int
    figures: dict[str, Estimate]
    held_by_others: bool = False
    """Other processes held the machine in one of the levels."""


@dataclass(frozen=True, slots=True)
class Curve:
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
    """Lines of its log that were left out, or are missing."""
    points: tuple[CurvePoint, ...]
    """By users. Ramps have none: their seconds are of no one count."""
    unsettled: tuple[int, ...]
    """Counts that were tried and never settled."""
    knee: dict[str, Estimate]
    """`knee` and `capacity` where a knee was marked."""
    knee_users: tuple[float, float] | None
    """Its 90% interval."""
    verdict: KneeVerdict | None
    """What the detector said, a knee or not; None where it never looked."""
    judged: wording.Judgement
    """The verdict's sentence."""
    marks: tuple[Mark, ...]
    """Causes, bottlenecks and leaks as they stand, those that say that nothing is wrong left out."""
    floors: dict[str, ClientFloor]
    made: Made

    @property
    def name(self) -> str:
        """`ID` or `ID#1`."""
        return self.id if self.epoch is None else f"{self.id}#{self.epoch}"


@dataclass(frozen=True, slots=True)
class MatchedLevel:
    """A user count that both have."""

    users: int
    differences: tuple[Difference, ...]
    held_by_others: bool = False
    """Other processes held the machine in one of the two."""

    def __getitem__(self, figure: str) -> Difference:
        return next(each for each in self.differences if each.figure == figure)


@dataclass(frozen=True, slots=True)
class Pair:
    """A curve against the first one."""

    before: Curve
    after: Curve
    levels: tuple[MatchedLevel, ...]
    only_before: tuple[int, ...]
    only_after: tuple[int, ...]
    knee: tuple[Difference, ...]
    """`knee` and `capacity`; not measured unless both have a knee."""
    overall: tuple[OverallChange, ...]
    """Latencies over all user counts in common; none where the client classes differ."""
    clients: tuple[str, str] | None
    """The two client classes, where they differ."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that a form shows; sentences are in `sentences.py`."""

    curves: tuple[Curve, ...]
    pairs: tuple[Pair, ...]
    conditions: tuple[Differing, ...]
    """What spoils the comparison."""
    subject: tuple[Differing, ...]
    """What it is about."""
