"""A/A trials of `compare` (`make aa`): pairs of equal runs, in which every claim is false, and pairs with a true change.

A claim is one row of a comparison: a figure at a user count that is called better, worse or different. A headline is one verdict
that claims any difference. Between equal runs both are false.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from capexplorer.commands.compare import opened
from capexplorer.report.compare import Session, compare
from capexplorer.report.compare.comparison import Pair
from capexplorer.report.compare.fail_if import judge, parse
from lab.kit.runs import headless
from lab.simulation.ladders import KINDS, Kind
from lab.trial import Judged, Result, SeedTrial

from .pairs import CHANGED_KINDS, CONSTRUCTIONS, LONGEST_S, SERVICES, Service, constructed, pair


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a comparison's table: a figure at a user count (0: of the whole curve)."""

    figure: str
    counts: bool
    """Whether the comparison calls the difference significant."""
    saturated: bool
    """Whether the user count is at or above the knee of either run."""
    disturbed: bool
    """Whether other processes used the machine, so that no difference of the row is significant."""
    beyond_noise: bool
    """Whether the difference would be significant without the check for other processes."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
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
    detectable: float | None
    """Smallest relative change of service time that the comparison would have found, as it reports."""

    @property
    def headline(self) -> bool:
        """Whether the headline claims any difference."""
        return bool(self.goodput_or_capacity or self.latency or self.knee)


def outcome(before: Session, after: Session) -> Outcome:
    comparison = compare([before, after])
    (compared_pair,) = comparison.pairs
    failed = any(judge(parse(text), comparison).failed for text in ("p95>5%", "goodput<-5%"))
    goodput = [level["goodput"].ratio or 0.0 for level in compared_pair.levels if level["goodput"].claimed]
    goodput += [one.ratio or 0.0 for one in compared_pair.knee if one.claimed and one.figure == "capacity"]
    goodput += [one.ratio for one in compared_pair.overall if one.claimed and one.figure == "goodput"]
    latency = [one.ratio for one in compared_pair.overall if one.claimed and one.figure != "goodput"]
    latency += [
        one.ratio or 0.0 for level in compared_pair.levels for one in level.differences if one.claimed and one.figure != "goodput"
    ]
    knee = [one.ratio or 0.0 for one in compared_pair.knee if one.claimed and one.figure == "knee"]
    return Outcome(
        claims=tuple(_claims(compared_pair)),
        goodput_or_capacity=_largest(goodput),
        latency=_largest(latency),
        knee=_largest(knee),
        failed=failed,
        disturbed_levels=tuple(level.disturbed for level in compared_pair.levels),
        detectable=next((one.detectable for one in compared_pair.overall if one.figure == "service_time"), None),
    )


def _claims(compared_pair: Pair) -> list[Claim]:
    knees = [curve.knee["knee"].value for curve in (compared_pair.before, compared_pair.after) if curve.knee]
    least = min((users for users in knees if users is not None), default=float("inf"))
    rows = [(level.load.users, level.disturbed, one) for level in compared_pair.levels for one in level.differences]
    rows += [(0, any(level.disturbed for level in compared_pair.levels), one) for one in compared_pair.knee]
    return [
        Claim(
            figure=one.figure,
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


SERVICE_LIMITED: tuple[Kind, ...] = ("queue", "usl")
"""Kinds in which the service is the limit, so that longer service times truly change both capacity and latency."""

TRUE_CHANGE = 0.1
"""Relative increase of service times in the second session of a pair."""

LEVELS_S = (20, 10)


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    claims = [claim for one in outcomes for claim in one.claims]
    figures = sorted({claim.figure for claim in claims})
    return {
        "pairs": len(outcomes),
        "claims": _share(claim.counts for claim in claims),
        "claims_where_others_held_nothing": _share(claim.counts for claim in claims if not claim.disturbed),
        "beyond_noise_where_others_held_the_machine": _share(claim.beyond_noise for claim in claims if claim.disturbed),
        "claims_saturated": _share(claim.counts for claim in claims if claim.saturated),
        "claims_by_figure": {name: _share(claim.counts for claim in claims if claim.figure == name) for name in figures},
        "headlines": _share(one.headline for one in outcomes),
        "fail_if_exit_3": _share(one.failed for one in outcomes),
    }


def found(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Shares of headlines, over pairs whose second service is slower."""
    less = [one.goodput_or_capacity < 0 or one.knee < 0 for one in outcomes]
    either = [lower or one.latency > 0 for lower, one in zip(less, outcomes, strict=True)]
    detectable = [one.detectable is not None and one.detectable <= TRUE_CHANGE for one in outcomes]
    return {
        "pairs": len(outcomes),
        "less_capacity": _share(less),
        "more_latency": _share(one.latency > 0 for one in outcomes),
        "either": _share(either),
        "either_where_10_per_cent_would_be_found": _share(each for each, due in zip(either, detectable, strict=True) if due),
        "wrong_direction": _share(one.goodput_or_capacity > 0 or one.knee > 0 or one.latency < 0 for one in outcomes),
    }


class Simulated(SeedTrial[tuple[Kind, int, int, float]]):
    """Equal pairs over all kinds, and pairs with 10% longer service times where the service is the limit.

    Thresholds were set on seeds from 700,000 to 819,999; 860,000 to 970,129 were reported before these.
    """

    name = "aa-simulated"
    about = "Compares simulated sessions, half of them equal, half with service times that are 10% longer."
    parallel, count, first_seed = 2, 120, 1_000_000

    def chosen(self, options: argparse.Namespace) -> Mapping[str, tuple[Kind, int, int, float]]:
        sides = ((KINDS, options.seed, 0.0), (SERVICE_LIMITED, options.seed + 10_000, TRUE_CHANGE))
        cases = [
            (kind, seed, level_s, slower)
            for level_s in LEVELS_S
            for kinds, first, slower in sides
            for seed in range(first, first - (-options.count // len(kinds)))
            for kind in kinds
        ]
        return {f"{kind} {seed}, levels of {level_s} s, {slower:.0%} slower": (kind, seed, level_s, slower)
                for kind, seed, level_s, slower in cases}  # fmt: skip

    def carry_out(self, case: tuple[Kind, int, int, float], variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        _, _, level_s, slower = case
        return Judged(figures={"level_s": level_s, "slower": slower, "outcome": self.in_a_process(_compared, *case)})

    def summary(self, results: Sequence[Result]) -> dict[str, Any]:
        by_kind: dict[tuple[int, bool], list[Outcome]] = defaultdict(list)
        for each in results:
            by_kind[each.figures["level_s"], bool(each.figures["slower"])].append(each.figures["outcome"])
        return {
            f"levels_of_{level_s}_s": {
                "equal": summary(by_kind[level_s, False]),
                "slower_by_10_per_cent": found(by_kind[level_s, True]),
            }
            for level_s in LEVELS_S
        }


def _compared(kind: Kind, seed: int, level_s: int, slower: float) -> Outcome:
    return outcome(*pair(kind, seed, level_s=level_s, slower=slower))


class Constructed(SeedTrial[tuple[str, Kind, int]]):
    """Thirty pairs whose difference is known, explored by the autopilot: what the headlines say.

    Sentences and claims were chosen on seeds from 1,200,000.
    """

    name = "aa-constructed"
    about = "Compares thirty pairs of explorations whose difference is known."
    parallel, count, first_seed = 2, 30, 1_300_000

    def chosen(self, options: argparse.Namespace) -> Mapping[str, tuple[str, Kind, int]]:
        found = {}
        for how in CONSTRUCTIONS:
            kinds = KINDS if how.truth == "equal" else CHANGED_KINDS
            for number in range(how.pairs):
                kind, seed = kinds[number % len(kinds)], options.seed + number
                found[f"{how.name}: {kind} {seed}"] = (how.name, kind, seed)
        return found

    def carry_out(self, case: tuple[str, Kind, int], variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        return Judged(figures=self.in_a_process(constructed, *case))

    def summary(self, results: Sequence[Result]) -> dict[str, Any]:
        by_construction: dict[str, list[bool]] = defaultdict(list)
        for each in results:
            by_construction[each.case.partition(":")[0]].append(each.figures["found"])
        pairs = {each.case: each.figures for each in results}
        return {"found": {name: _share(hits) for name, hits in by_construction.items()}, "pairs": pairs}


class Real(SeedTrial[Service]):
    """`count` runs of each service, in turn, so that a change of the machine affects all alike; every two runs are compared."""

    name = "aa-real"
    about = "Compares equal runs of five services with each other."
    count = 5

    def __init__(self) -> None:
        self._sessions: dict[str, list[Session]] = defaultdict(list)

    def chosen(self, options: argparse.Namespace) -> Mapping[str, Service]:
        return {f"{each.name} {number + 1}": each for number in range(options.count) for each in SERVICES}

    def carry_out(self, case: Service, variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        ran = headless(folder, case.profile, "--plan", case.plan, timeout_s=LONGEST_S)
        self._sessions[case.name].append(opened(str(ran.path), [folder]))
        return Judged(figures={"load_average_1m": ran.median("load_average_1m")})

    def summary(self, results: Sequence[Result]) -> dict[str, Any]:
        of_service = {name: [outcome(*both) for both in combinations(sessions, 2)] for name, sessions in self._sessions.items()}
        of_service["all"] = [each for outcomes in of_service.values() for each in outcomes]
        return {
            name: summary(outcomes)
            | {"levels_held_by_others": _share(level for one in outcomes for level in one.disturbed_levels)}
            for name, outcomes in of_service.items()
        }


def _share(hits: Iterable[bool]) -> dict[str, float | int | None]:
    known = list(hits)
    return {"hits": sum(known), "of": len(known), "share": round(sum(known) / len(known), 4) if known else None}
