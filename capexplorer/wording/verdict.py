"""The verdict line: one sentence on what a session says about the service, composed from marks and the curve's verdict.

Order: critical causes of the generator, its host and the network (nothing is said about the service then); the knee with its
bottleneck; failures; a bottleneck without a knee; the users' waits; leaks; the curve alone. What is not marked is not said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..model.events import Mark
from ..model.grades import Severity
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict line and its severity."""

    said: str
    severity: Severity = "info"
    marked: bool = False
    """Whether it names a cause, a bottleneck or a leak, not the curve alone."""
    spoiled: bool = False
    """Whether generator, host or network failed: nothing is said about the service beyond the levels without such failures."""


def verdict(timeline: Timeline, epoch: int | None = None) -> str:
    """One sentence about an epoch, the latest unless given."""
    return judgement(timeline, epoch).said


def judgement(timeline: Timeline, epoch: int | None = None) -> Judgement:
    """The verdict line with its severity. Costs a pass over the marks, and one over journal and levels a cause that spoils."""
    chosen = _latest(timeline) if epoch is None else epoch
    view = EpochView(timeline, chosen)
    found, shared = next(_said(view), Judgement(curve_alone(view))), sharing(view)
    said = f"{found.said.removesuffix('.')}; {shared}." if shared and not found.spoiled else found.said
    named = "" if chosen is None else epoch_name(timeline, chosen)
    return replace(found, said=f"{capital(named)}: {said}" if named else said)


def judgements(timeline: Timeline) -> dict[int, Judgement]:
    """One for each epoch with findings, ascending; for a session without findings one, of epoch 0."""
    found = [epoch for epoch in epochs(timeline) if _is_found(timeline, epoch)]
    return {epoch: judgement(timeline, epoch) for epoch in found} or {0: judgement(timeline)}


def _latest(timeline: Timeline) -> int | None:
    """The latest epoch with findings; None without one."""
    return max((epoch for epoch in epochs(timeline) if _is_found(timeline, epoch)), default=None)


def _is_found(timeline: Timeline, epoch: int) -> bool:
    marked = (mark.epoch for mark in timeline.marks.values() if mark.state != "retracted")
    return epoch in timeline.verdicts or epoch in marked


def _said(view: EpochView) -> Iterator[Judgement]:
    """Candidates in order of precedence; the first is the verdict."""
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
    sentence = f"{said}; up to there {knee_alone(found)}." if found is not None and below else f"{said}."
    yield Judgement(sentence, "critical", marked=True, spoiled=True)


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
    """What limits at the knee: at most two bottlenecks; if errors are the limit, the gravest cause."""
    if found.limit == "generator":
        return []
    bottlenecks = [mark for mark in view.bottlenecks() if (mark.users or 0) >= (found.users_low or 0)]
    if bottlenecks or found.limit != "errors":
        return bottlenecks[:2]
    return [mark for mark in view.causes("target") if mark.severity in ("critical", "error") or mark.id in REFUSALS][:1]


def _failing(view: EpochView) -> Iterator[Judgement]:
    """The gravest cause of failed requests, then what limits the service, which may be unrelated."""
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
        sentence = f"{said}; {curve(view) or 'no knee yet'}{leak}."
        yield Judgement(sentence, "warning" if leak else "info", marked=True)


def _and_leaks(view: EpochView) -> str:
    """`; the target leaks ...`, added to every other verdict; empty without a leak."""
    return next((f"; {said}" for said in leaking(view)), "")


def _leaks(view: EpochView) -> Iterator[Judgement]:
    for said in leaking(view):
        beside = curve(view)
        yield Judgement(f"{capital(said)}{f'; {beside}' if beside else ''}.", "warning", marked=True)
