"""What a comparison of two runs claims, counted."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from capexplorer.report.compare import Session, compare, sentences
from capexplorer.report.compare.comparison import Pair
from capexplorer.report.compare.fail_if import judge, parse


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a comparison's table: a figure at a user count (0: of the whole curve)."""

    figure: str
    users: int
    ratio: float | None
    counts: bool
    saturated: bool
    """At or over the knee of either run."""
    held: bool
    """Other processes used the machine, so that the row does not count."""
    beyond_noise: bool
    """Whether it would count without the check for other processes."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One pair."""

    name: str
    claims: tuple[Claim, ...]
    """Rows whose noise is known."""
    goodput_or_capacity: float
    """What the headline claims of it, as a ratio; 0: nothing."""
    latency: float
    """What the headline claims of service time and latency, as a ratio; 0: nothing."""
    knee: float
    failed: bool
    """Whether `--fail-if "p95>5%"` or `"goodput<-5%"` ends with exit code 3."""
    held: tuple[bool, ...]
    """For each user count that both have: other processes used the machine."""
    sentence: str
    detectable: float | None
    """Smallest change of service time that the comparison says it would find."""

    @property
    def headline(self) -> bool:
        """Whether the headline claims any difference."""
        return bool(self.goodput_or_capacity or self.latency or self.knee)


def outcome(name: str, before: Session, after: Session) -> Outcome:
    """Compare two sessions and count the claims."""
    comparison = compare([before, after])
    (pair,) = comparison.pairs
    failed = any(judge(parse(text), comparison).failed for text in ("p95>5%", "goodput<-5%"))
    goodput = [level["goodput"].ratio or 0.0 for level in pair.levels if level["goodput"].sure]
    goodput += [one.ratio or 0.0 for one in pair.knee if one.sure and one.figure == "capacity"]
    goodput += [one.ratio for one in pair.overall if one.sure and one.figure == "goodput"]
    latency = [one.ratio for one in pair.overall if one.sure and one.figure != "goodput"]
    latency += [one.ratio or 0.0 for level in pair.levels for one in level.differences if one.sure and one.figure != "goodput"]
    knee = [one.ratio or 0.0 for one in pair.knee if one.sure and one.figure == "knee"]
    return Outcome(
        name=name,
        claims=tuple(_claims(pair)),
        goodput_or_capacity=_largest(goodput),
        latency=_largest(latency),
        knee=_largest(knee),
        failed=failed,
        held=tuple(level.disturbed for level in pair.levels),
        sentence=sentences.verdict(comparison),
        detectable=next((one.detectable for one in pair.overall if one.figure == "service_time"), None),
    )


def _claims(pair: Pair) -> list[Claim]:
    knees = [curve.knee["knee"].value for curve in (pair.before, pair.after) if curve.knee]
    least = min((users for users in knees if users is not None), default=float("inf"))
    rows = [(level.users, level.disturbed, one) for level in pair.levels for one in level.differences]
    rows += [(0, any(level.disturbed for level in pair.levels), one) for one in pair.knee]
    return [
        Claim(
            figure=one.figure,
            users=users,
            ratio=one.ratio,
            counts=one.counts,
            saturated=users >= least,
            held=held,
            beyond_noise=one.judgement in ("beyond", "neighbours"),
        )
        for users, held, one in rows
        if one.p is not None
    ]


def _largest(ratios: Sequence[float]) -> float:
    return max(ratios, key=abs, default=0.0)
