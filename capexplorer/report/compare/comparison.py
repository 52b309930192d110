"""Timelines to a typed comparison: curves, each against the first one, level by level.

Rules: figures are compared at equal user counts, never between them; a difference counts when it is beyond its noise at 95%
(`difference`) and 2%; without both errors its noise is unknown and it never counts; what two client classes cost by themselves is
the client's. A headline looks at many figures at once and claims only those that are sure among all of them (`significance`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ... import wording
from ...errors import InputError
from ...model.clients import clients_of
from ...model.events import ClientFloor, Mark
from ...model.findings import Knee
from ...model.intervals import Z90
from ...model.level import Level
from ...model.timeline import Timeline
from ...model.verdicts import KneeVerdict
from ..rows import level_kinds, partial_levels
from .across_levels import OverallChange, Pairs, overall_change, with_scatter
from .difference import Difference, difference, floor_difference
from .environment import Differing, Made, conditions, subject
from .estimates import Estimate, level_estimates, pooled
from .figures import HEADLINE_FIGURES, HEADLINE_LATENCIES, LATENCIES, LEVEL_FIGURES
from .second_latencies import SecondLatencies
from .shared_machine import is_held_by_others
from .significance import FALSE_MOST, sure

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


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


def compare(sessions: Sequence[Session]) -> Comparison:
    """The others are held against the first curve. Raises InputError: less than two curves, or an epoch that is not there."""
    split = [(session, epoch) for session in sessions for epoch in _epochs(session)]
    if len(split) < 2:
        raise InputError("compare: expected two sessions or more, or one with two epochs or more that have settled levels")
    if len(split) > len(LETTERS):
        raise InputError(f"compare: expected at most {len(LETTERS)} sessions and epochs, got {len(split)}")
    curves = tuple(_curve(letter, session, epoch) for letter, (session, epoch) in zip(LETTERS, split, strict=False))
    made = [curve.made for curve in curves]
    return Comparison(
        curves=curves,
        pairs=tuple(_pair(curves[0], after) for after in curves[1:]),
        conditions=conditions(made),
        subject=subject(made),
    )


def _epochs(session: Session) -> list[int]:
    """Those asked for: one, or all that have a settled level; the first when none has."""
    timeline = session.timeline
    there = sorted({level.opened.epoch for level in timeline.levels})
    if session.epoch is not None:
        if session.epoch not in there:
            known = ", ".join(map(str, there)) or "none"
            name = timeline.header.id if timeline.header else ""
            raise InputError(f"{name}#{session.epoch}: no such epoch; it has: {known}")
        return [session.epoch]
    settled = sorted({level.opened.epoch for level in timeline.levels if level.users and level.figures.settled})
    return settled or there[:1] or [0]


def _curve(letter: str, session: Session, epoch: int) -> Curve:
    timeline = session.timeline
    header = timeline.header
    if header is None:
        raise ValueError("a session has a header")
    levels = [level for level in timeline.levels if level.opened.epoch == epoch and level.users]
    points = _points(levels, session)
    several = len({level.opened.epoch for level in timeline.levels}) > 1
    return Curve(
        letter=letter,
        id=header.id,
        epoch=epoch if several or session.epoch is not None else None,
        title=session.title,
        label=header.label,
        started_at=header.started_at,
        complete=timeline.ended is not None,
        damaged=session.damaged,
        points=points,
        unsettled=tuple(sorted({level.users for level in levels} - {point.users for point in points})),
        knee=_knee(timeline, epoch),
        knee_users=_knee_users(timeline, epoch),
        verdict=_verdict(timeline, epoch),
        judged=wording.judgement(timeline, epoch),
        marks=_marks(timeline, epoch),
        floors=dict(header.client_floor_ms),
        made=Made(header, _params(timeline, epoch)),
    )


def _points(levels: Sequence[Level], session: Session) -> tuple[CurvePoint, ...]:
    """Without levels on the way down from overload, held by other processes, or partial: they do not show that load."""
    found: dict[int, list[dict[str, Estimate]]] = {}
    held = set[int]()
    left_out = level_kinds(session.timeline).keys() | partial_levels(session.timeline)
    cpus = session.timeline.header.host.cpus if session.timeline.header is not None else None
    for level in levels:
        if level.figures.settled and not level.opened.ramp and level.opened.index not in left_out:
            found.setdefault(level.users, []).append(level_estimates(level, session.timeline, session.latencies))
            if is_held_by_others(level.figures, cpus):
                held.add(level.users)
    return tuple(
        CurvePoint(
            users=users,
            levels=len(each),
            figures={figure.name: pooled([one[figure.name] for one in each]) for figure in LEVEL_FIGURES},
            held_by_others=users in held,
        )
        for users, each in sorted(found.items())
    )


def _params(timeline: Timeline, epoch: int) -> dict[str, str | int | float | bool]:
    """The target's parameters in this epoch, as it was told when it was started."""
    found = dict(timeline.header.target.params) if timeline.header else {}
    for target in timeline.journal:
        if getattr(target, "state", None) == "starting" and getattr(target, "epoch", 0) == epoch:
            found = dict(getattr(target, "params", {})) or found
    return found


def _verdict(timeline: Timeline, epoch: int) -> KneeVerdict | None:
    found = wording.reported(timeline).get(epoch)
    return found.capacity.knee if found is not None else None


def _knee_mark(timeline: Timeline, epoch: int) -> Mark | None:
    """The newest mark of kind knee. Bends and knees at or below are none."""
    current = [mark for mark in wording.standing(timeline).values() if mark.epoch == epoch]
    return next((mark for mark in reversed(current) if mark.kind == "knee" and mark.users is not None), None)


def _knee(timeline: Timeline, epoch: int) -> dict[str, Estimate]:
    mark, interval = _knee_mark(timeline, epoch), _knee_users(timeline, epoch)
    if mark is None:
        return {}
    assert isinstance(mark.finding, Knee)
    return {
        "knee": Estimate(mark.users, None if interval is None else (interval[1] - interval[0]) / (2 * Z90)),
        "capacity": Estimate(mark.finding.verdict.capacity_rps, mark.finding.capacity_se_rps),
    }


def _knee_users(timeline: Timeline, epoch: int) -> tuple[float, float] | None:
    mark = _knee_mark(timeline, epoch)
    if mark is None or not isinstance(mark.finding, Knee):
        return None
    low, high = mark.finding.verdict.users_low, mark.finding.verdict.users_high
    return None if low is None or high is None else (low, high)


def _marks(timeline: Timeline, epoch: int) -> tuple[Mark, ...]:
    current = [mark for mark in wording.standing(timeline).values() if mark.epoch == epoch]
    return tuple(mark for mark in current if mark.kind in wording.BLAMES and mark.id != "not_saturated")


def _pair(before: Curve, after: Curve) -> Pair:
    ours, theirs = ({point.users: point for point in curve.points} for curve in (before, after))
    common = sorted(ours.keys() & theirs)
    figures = {
        figure.name: [(ours[users].figures[figure.name], theirs[users].figures[figure.name]) for users in common]
        for figure in LEVEL_FIGURES
    }
    held = [ours[users].held_by_others or theirs[users].held_by_others for users in common]
    figures["target_cpu"] = with_scatter(figures["target_cpu"])
    clients = _clients(before, after)

    def differences(index: int) -> tuple[Difference, ...]:
        found = (_difference(name, *pairs[index], before, after, clients) for name, pairs in figures.items())
        return tuple(map(_neighbours, found) if held[index] else found)

    beyond = [users >= _lesser_knee(before, after) for users in common]
    knee = tuple(difference(name, before.knee.get(name), after.knee.get(name)) for name in ("knee", "capacity"))
    pair = Pair(
        before=before,
        after=after,
        levels=tuple(MatchedLevel(users, differences(index), held[index]) for index, users in enumerate(common)),
        only_before=tuple(sorted(ours.keys() - theirs.keys())),
        only_after=tuple(sorted(theirs.keys() - ours.keys())),
        knee=tuple(map(_neighbours, knee))
        if any(is_held and is_beyond for is_held, is_beyond in zip(held, beyond, strict=True))
        else knee,
        overall=_overall(figures, held, [users >= _greater_knee(before, after) for users in common], clients is not None),
        clients=clients,
    )
    return _with_sure(pair)


def _neighbours(one: Difference) -> Difference:
    return replace(one, judgement="neighbours") if one.counts else one


def _overall(
    figures: Mapping[str, Pairs], held: Sequence[bool], beyond: Sequence[bool], other_clients: bool
) -> tuple[OverallChange, ...]:
    """Latencies over all user counts in common, goodput over those that saturate both, without those that others held."""
    found = [overall_change("goodput", _chosen(figures["goodput"], held, beyond))]
    if not other_clients:
        found += [overall_change(name, _chosen(figures[name], held, [True] * len(held))) for name in HEADLINE_LATENCIES]
    return tuple(each for each in found if each is not None)


def _chosen(pairs: Pairs, held: Sequence[bool], wanted: Sequence[bool]) -> Pairs:
    return [pair for pair, is_held, is_wanted in zip(pairs, held, wanted, strict=True) if is_wanted and not is_held]


def _lesser_knee(before: Curve, after: Curve) -> float:
    """In users; infinite unless both have one."""
    return min(_knee_counts(before, after), default=math.inf)


def _greater_knee(before: Curve, after: Curve) -> float:
    return max(_knee_counts(before, after), default=math.inf)


def _knee_counts(before: Curve, after: Curve) -> list[float]:
    found = [curve.knee["knee"].value for curve in (before, after) if curve.knee]
    known = [users for users in found if users is not None]
    return known if len(known) == 2 else []


def _with_sure(pair: Pair) -> Pair:
    """What a headline may claim: half of its chance of an error is for figures over many levels, half for single ones."""
    overall = sure({one.figure: one.p for one in pair.overall}, FALSE_MOST / 2)
    family: dict[tuple[int, str], Difference] = {(0, one.figure): one for one in pair.knee}
    family |= {(level.users, name): level[name] for level in pair.levels if not level.held_by_others for name in HEADLINE_FIGURES}
    single = sure({key: one.p for key, one in family.items() if one.p is not None}, FALSE_MOST / 2)

    def seen(users: int, one: Difference) -> Difference:
        return replace(one, sure=one.counts and (users, one.figure) in single)

    return replace(
        pair,
        levels=tuple(replace(each, differences=tuple(seen(each.users, one) for one in each.differences)) for each in pair.levels),
        knee=tuple(seen(0, one) for one in pair.knee),
        overall=tuple(replace(one, sure=one.counts and one.figure in overall) for one in pair.overall),
    )


def _clients(before: Curve, after: Curve) -> tuple[str, str] | None:
    """Where each used one class, and not the same. Unknown (no floors measured, nothing in the profile) is not different."""
    names = [_client(curve) for curve in (before, after)]
    return (names[0], names[1]) if all(names) and names[0] != names[1] else None


def _client(curve: Curve) -> str:
    return " + ".join(clients_of(curve.made.header))


def _difference(
    figure: str, ours: Estimate, theirs: Estimate, before: Curve, after: Curve, clients: tuple[str, str] | None
) -> Difference:
    if clients is not None and figure in LATENCIES:
        return floor_difference(figure, ours, theirs, _floor_change(figure, before, after))
    return difference(figure, ours, theirs)


def _floor_change(figure: str, before: Curve, after: Curve) -> float | None:
    """How much more the client itself costs, ms: at the median for the middle of latency, at p99 for its tail."""
    if any(len(each.floors) != 1 or len(clients_of(each.made.header)) != 1 for each in (before, after)):
        return None
    (ours,), (theirs,) = before.floors.values(), after.floors.values()
    return theirs.p99_ms - ours.p99_ms if figure in ("p95", "p99") else theirs.p50_ms - ours.p50_ms
