"""The verdict line: one sentence on what this session says about the service, composed from marks and the curve's verdict.

The generator is ruled out first: while a critical cause of its own stood, nothing is said about the service. Then the knee with
its bottleneck, the target's death, what it refuses or fails, a bottleneck without a knee, the users' waits, leaks; at last the
curve alone. Must not judge: what is not marked is not said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..model.events import Mark
from ..model.timeline import Timeline
from ..model.verdicts import KneeVerdict
from . import numbers
from .cause_names import limiter
from .clauses import (
    REFUSALS,
    bottleneck,
    capital,
    curve,
    curve_alone,
    deaths,
    failing,
    knee_alone,
    leaking,
    sharing,
    since,
    waits,
)
from .epoch_view import EpochView, epoch_name, epochs
from .knee_sentences import capacity
from .marks import title

Severity = Literal["critical", "error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The sentence, and how much it matters."""

    said: str
    severity: Severity = "info"
    marked: bool = False
    """It rests on a cause, a bottleneck or a leak, not on the curve alone."""
    spoiled: bool = False
    """By the generator, its host or the network between: nothing is said about the service beyond the levels that were clean."""


def verdict(timeline: Timeline, epoch: int | None = None) -> str:
    """One sentence about an epoch, the latest unless given."""
    return judgement(timeline, epoch).said


def judgement(timeline: Timeline, epoch: int | None = None) -> Judgement:
    """The same with its weight. Costs a pass over the marks; where the run was spoiled, one over journal and levels too."""
    chosen = _latest(timeline) if epoch is None else epoch
    view = EpochView(timeline, chosen)
    found, shared = next(_said(view), Judgement(curve_alone(view))), sharing(view)
    said = f"{found.said.removesuffix('.')}; {shared}." if shared and not found.spoiled else found.said
    named = "" if chosen is None else epoch_name(timeline, chosen)
    return replace(found, said=f"{capital(named)}: {said}" if named else said)


def judgements(timeline: Timeline) -> dict[int, Judgement]:
    """One an epoch about which anything was found, ascending; of a session without findings one, of epoch 0."""
    told = [epoch for epoch in epochs(timeline) if _is_found(timeline, epoch)]
    return {epoch: judgement(timeline, epoch) for epoch in told} or {0: judgement(timeline)}


def _latest(timeline: Timeline) -> int | None:
    """The latest about which anything was found; None where no detector has looked."""
    return max((epoch for epoch in epochs(timeline) if _is_found(timeline, epoch)), default=None)


def _is_found(timeline: Timeline, epoch: int) -> bool:
    marked = (mark.epoch for mark in timeline.marks.values() if mark.state != "retracted")
    return epoch in timeline.verdicts or epoch in marked


def _said(view: EpochView) -> Iterator[Judgement]:
    """In order of precedence; the first one is the verdict."""
    yield from _spoiled(view)
    yield from _knee(view)
    yield from _failing(view)
    yield from _bottleneck(view)
    yield from _waits(view)
    yield from _leaks(view)


# -- the generator, its host, the network between: nothing is said about the service


def _spoiled(view: EpochView) -> Iterator[Judgement]:
    spoiled, found = view.spoiled, view.knee
    if spoiled is None:
        return
    beyond = "" if spoiled.clean_users is None else f" beyond {numbers.users(spoiled.clean_users)}"
    said = f"Limited by {limiter(spoiled.first.id)} {since(spoiled.first)}: nothing is said about the service{beyond}"
    below = found is not None and found.kind == "knee" and found.limit != "generator"
    told = f"{said}; up to there {knee_alone(found)}." if found is not None and below else f"{said}."
    yield Judgement(told, "critical", marked=True, spoiled=True)


# -- the service


def _knee(view: EpochView) -> Iterator[Judgement]:
    found = view.knee
    if view.capacity is None or found is None or found.kind not in ("knee", "at_or_below"):
        return
    blamed = _blamed_for(view, found)
    failed = (said for mark, said in failing(view) if mark not in blamed)
    more = next((f"; {clause}" for clause in (*deaths(view), *failed, *leaking(view))), "")
    said = capacity(view.capacity, " and ".join(title(mark) for mark in blamed))
    yield Judgement(said.removesuffix(".") + more + ".", "warning" if blamed or more else "info", marked=bool(blamed or more))


def _blamed_for(view: EpochView, found: KneeVerdict) -> list[Mark]:
    """What limits at the knee: the bottlenecks, at most two; where failures make it, the gravest cause."""
    if found.limit == "generator":
        return []
    bottlenecks = [mark for mark in view.bottlenecks() if (mark.users or 0) >= (found.users_low or 0)]
    if bottlenecks or found.limit != "errors":
        return bottlenecks[:2]
    return [mark for mark in view.causes("target") if mark.severity in ("critical", "error") or mark.id in REFUSALS][:1]


def _failing(view: EpochView) -> Iterator[Judgement]:
    """The gravest cause that failed requests; beside it what limits, which failures need not have to do with."""
    for mark, said in failing(view):
        beside = bottleneck(view) or waits(view, briefly=True) or curve(view)
        yield Judgement(f"{capital(said)}{f'; {beside}' if beside else ''}{_and_leaks(view)}.", mark.severity, marked=True)


def _bottleneck(view: EpochView) -> Iterator[Judgement]:
    said, beside = bottleneck(view), curve(view)
    if said:
        curved = f"; {beside}" if beside else ": no knee yet"
        yield Judgement(f"{capital(said)}{curved}{_and_leaks(view)}.", "warning", marked=True)


def _waits(view: EpochView) -> Iterator[Judgement]:
    said = waits(view)
    if said:
        leak = _and_leaks(view)
        told = f"{said}; {curve(view) or 'no knee yet'}{leak}."
        yield Judgement(told, "warning" if leak else "info", marked=True)


def _and_leaks(view: EpochView) -> str:
    """A leak is lost behind nothing: `; the target leaks ...`."""
    return next((f"; {said}" for said in leaking(view)), "")


def _leaks(view: EpochView) -> Iterator[Judgement]:
    for said in leaking(view):
        beside = curve(view)
        yield Judgement(f"{capital(said)}{f'; {beside}' if beside else ''}.", "warning", marked=True)
