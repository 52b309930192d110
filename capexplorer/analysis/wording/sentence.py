"""The verdict line: one sentence on what this session says about the service, composed from marks and the curve's verdict.

The generator is ruled out first: while a critical cause of its own stood, nothing is said about the service. Then the knee with
its bottleneck, the target's death, what it refuses or fails, a bottleneck without a knee, the users' waits, leaks; at last the
curve alone. Must not judge: what is not marked is not said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ...model.events import Mark
from ...model.timeline import Timeline
from ...model.verdicts import KneeVerdict
from . import numbers
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
from .knees import capacity
from .marks import title
from .names import limiter
from .seen import Seen, outgrown, since_s

Severity = Literal["critical", "error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The sentence, and how much it matters."""

    said: str
    severity: Severity = "info"
    marked: bool = False
    """It rests on a cause, a bottleneck or a leak, not on the curve alone."""
    spoiled: bool = False
    """By the generator, its host or the network between: nothing is said about the service beyond `clean_users`."""
    clean_users: float | None = None
    """The most users of a level that was not spoiled; None without one."""

    def stands(self, found: KneeVerdict) -> bool:
        """Whether what the curve says lies where nothing was spoiled."""
        most = found.users if found.users_high is None or found.kind == "no_knee" else found.users_high
        return not self.spoiled or (self.clean_users is not None and most is not None and most <= self.clean_users)


def verdict(timeline: Timeline, epoch: int | None = None) -> str:
    """One sentence about an epoch, the latest unless given."""
    return judgement(timeline, epoch).said


def judgement(timeline: Timeline, epoch: int | None = None) -> Judgement:
    """The same with its weight. Costs a pass over the marks; where the run was spoiled, one over journal and levels too."""
    chosen = _latest(timeline) if epoch is None else epoch
    seen = Seen(timeline, chosen)
    said, shared = next(_said(seen), Judgement(curve_alone(seen))), sharing(seen)
    return replace(said, said=f"{said.said.removesuffix('.')}; {shared}.") if shared and not said.spoiled else said


def _latest(timeline: Timeline) -> int | None:
    """The latest about which anything was found; None where no detector has looked."""
    marked = (mark.epoch for mark in timeline.marks.values() if mark.state != "retracted")
    return max((*timeline.verdicts, *marked), default=None)


def _said(seen: Seen) -> Iterator[Judgement]:
    """In order of precedence; the first one is the verdict."""
    yield from _spoiled(seen)
    yield from _knee(seen)
    yield from _failing(seen)
    yield from _bottleneck(seen)
    yield from _waits(seen)
    yield from _leaks(seen)


# -- the generator, its host, the network between: nothing is said about the service


def _spoiled(seen: Seen) -> Iterator[Judgement]:
    spoilers = [mark for mark in seen.causes("generator", "host", "network") if mark.severity == "critical"]
    if not spoilers:
        return
    clean = seen.clean(spoilers)
    standing = [mark for mark in spoilers if not outgrown(mark, clean)]
    if not standing:
        return
    first = min(standing, key=since_s)
    most = max((level.users for level in clean), default=None)
    beyond = "" if most is None else f" beyond {numbers.users(most)}"
    said = f"Limited by {limiter(first.id)} {since(first)}: nothing is said about the service{beyond}"
    found, judged = seen.knee, Judgement(said, "critical", marked=True, spoiled=True, clean_users=most)
    below = found is not None and found.kind == "knee" and found.limit != "generator" and judged.stands(found)
    yield replace(judged, said=f"{said}; up to there {knee_alone(found)}." if found is not None and below else f"{said}.")


# -- the service


def _knee(seen: Seen) -> Iterator[Judgement]:
    found = seen.knee
    if seen.capacity is None or found is None or found.kind not in ("knee", "at_or_below"):
        return
    blamed = _blamed_for(seen, found)
    failed = (said for mark, said in failing(seen) if mark not in blamed)
    more = next((f"; {clause}" for clause in (*deaths(seen), *failed, *leaking(seen))), "")
    said = capacity(seen.capacity, " and ".join(title(mark) for mark in blamed))
    yield Judgement(said.removesuffix(".") + more + ".", "warning" if blamed or more else "info", marked=bool(blamed or more))


def _blamed_for(seen: Seen, found: KneeVerdict) -> list[Mark]:
    """What limits at the knee: the bottlenecks, at most two; where failures make it, the gravest cause."""
    if found.limit == "generator":
        return []
    bottlenecks = [mark for mark in seen.bottlenecks() if (mark.users or 0) >= (found.users_low or 0)]
    if bottlenecks or found.limit != "errors":
        return bottlenecks[:2]
    return [mark for mark in seen.causes("target") if mark.severity in ("critical", "error") or mark.id in REFUSALS][:1]


def _failing(seen: Seen) -> Iterator[Judgement]:
    """The gravest cause that failed requests; beside it what limits, which failures need not have to do with."""
    for mark, said in failing(seen):
        beside = bottleneck(seen) or waits(seen, briefly=True) or curve(seen)
        yield Judgement(f"{capital(said)}{f'; {beside}' if beside else ''}{_and_leaks(seen)}.", mark.severity, marked=True)


def _bottleneck(seen: Seen) -> Iterator[Judgement]:
    said, beside = bottleneck(seen), curve(seen)
    if said:
        curved = f"; {beside}" if beside else ": no knee yet"
        yield Judgement(f"{capital(said)}{curved}{_and_leaks(seen)}.", "warning", marked=True)


def _waits(seen: Seen) -> Iterator[Judgement]:
    said = waits(seen)
    if said:
        most = numbers.users(max((mark.users or 0 for mark in seen.marks if mark.id == "think_time_limited"), default=0))
        leak = _and_leaks(seen)
        told = f"{said}; {curve(seen) or f'no knee up to {most} users'}{leak}."
        yield Judgement(told, "warning" if leak else "info", marked=True)


def _and_leaks(seen: Seen) -> str:
    """A leak is lost behind nothing: `; the target leaks ...`."""
    return next((f"; {said}" for said in leaking(seen)), "")


def _leaks(seen: Seen) -> Iterator[Judgement]:
    for said in leaking(seen):
        beside = curve(seen)
        yield Judgement(f"{capital(said)}{f'; {beside}' if beside else ''}.", "warning", marked=True)
