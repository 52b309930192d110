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
    """Whether the comparison calls the difference significant."""
    saturated: bool
    """Whether the user count is at or above the knee of either run."""
    disturbed: bool
    """Whether other processes used the machine, so that no difference of the row is significant."""
    beyond_noise: bool
    """Whether the difference would be significant without the check for other processes."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of one pair of sessions."""

    name: str
    claims: tuple[Claim, ...]
    """Rows whose noise is known."""
    goodput_or_capacity: float
    """Largest relative change of goodput or of the capacity in the headline; 0: none."""
    latency: float
    """Largest relative change of service time or latency in the headline; 0: none."""
    knee: float
    """Relative change of the knee in the headline; 0: none."""
    failed: bool
    """Whether `--fail-if "p95>5%"` or `"goodput<-5%"` ends with exit code 3."""
    disturbed_levels: tuple[bool, ...]
    """For each user count that both sessions have: whether other processes used the machine."""
    sentence: str
    detectable: float | None
    """Smallest relative change of service time that the comparison would have found, as it reports."""

    @property
    def headline(self) -> bool:
        """Whether the headline claims any difference."""
        return bool(self.goodput_or_capacity or self.latency or self.knee)


def outcome(name: str, before: Session, after: Session) -> Outcome:
    """Compare two sessions and count the claims."""
    comparison = compare([before, after])
    (pair,) = comparison.pairs
    failed = any(judge(parse(text), comparison).failed for text in ("p95>5%", "goodput<-5%"))
    goodput = [level["goodput"].ratio or 0.0 for level in pair.levels if level["goodput"].claimed]
    goodput += [one.ratio or 0.0 for one in pair.knee if one.claimed and one.figure == "capacity"]
    goodput += [one.ratio for one in pair.overall if one.claimed and one.figure == "goodput"]
    latency = [one.ratio for one in pair.overall if one.claimed and one.figure != "goodput"]
    latency += [one.ratio or 0.0 for level in pair.levels for one in level.differences if one.claimed and one.figure != "goodput"]
    knee = [one.ratio or 0.0 for one in pair.knee if one.claimed and one.figure == "knee"]
    return Outcome(
        name=name,
        claims=tuple(_claims(pair)),
        goodput_or_capacity=_largest(goodput),
        latency=_largest(latency),
        knee=_largest(knee),
        failed=failed,
        disturbed_levels=tuple(level.disturbed for level in pair.levels),
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
            disturbed=disturbed,
            beyond_noise=one.judgement in ("beyond", "neighbours"),
        )
        for users, disturbed, one in rows
        if one.p is not None
    ]


def _largest(ratios: Sequence[float]) -> float:
    return max(ratios, key=abs, default=0.0)
